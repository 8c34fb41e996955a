"""The built-in coordinator as a port: its faults and versions."""

from __future__ import annotations

import pytest

from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, PortUnavailableError


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["holdAppends", "releaseAppends"])
def test_appends_can_be_held_and_released_in_every_version(profile: str, name: str) -> None:
    port = BuiltinPort()
    port.open(profile, {})
    assert port.fault(Fault(name), ()).unsupported is None


def test_unknown_fault_is_unsupported() -> None:
    port = BuiltinPort()
    port.open("2.7", {})
    assert port.fault(Fault("earthquake"), ()).unsupported == "earthquake"


def test_version_that_it_does_not_implement_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match=r"2\.7 and 4\.1, not 0\.10\.2"):
        BuiltinPort().open("0.10.2", {})
