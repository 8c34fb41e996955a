"""The built-in coordinator as a port: its faults and versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.model.vocabulary import (
    ErrorCode,
    HeartbeatRequest,
    Request,
    Response,
    SyncGroupResponse,
)
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification

Change = Callable[[list[Response]], list[Any]]
CHANGES: dict[str, Change] = {
    "port crashed": lambda answers: [answers[0], answers[len(answers)]],
    "protocol error": lambda answers: [Response(number, None) for number, _ in answers],  # type: ignore[arg-type]
    "protocol error of another API": lambda answers: [
        each._replace(body=SyncGroupResponse(ErrorCode.NONE)) for each in answers
    ],
    "protocol error of another request": lambda answers: [
        each._replace(request_id=each.request_id + 1) for each in answers
    ],
}


def _changed(change: Change) -> type[Coordinator]:
    """A coordinator with other responses to heartbeats."""

    class Changed(Coordinator):
        def receive(self, request: Request) -> list[Response]:
            answers = super().receive(request)
            return change(answers) if isinstance(request.body, HeartbeatRequest) else answers

    return Changed


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


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_a_changed_coordinator_does_is_a_finding(name: str) -> None:
    source = PortSource("changed", lambda: BuiltinPort(make=_changed(CHANGES[name])))
    result = Verification(source, Settings(members=1, examples=5, walks=5)).run()
    kinds = {finding.key[1] for finding in result.findings}
    assert kinds == {" ".join(name.split()[:2])}
    assert all(len(finding.sequence.steps) == 1 for finding in result.findings)
