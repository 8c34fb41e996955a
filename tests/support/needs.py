"""What a test needs beyond PyPI: it is skipped where that is missing, unless all is required."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

from groupcheck.properties.brokers.catalogue import listing

_MISSING = {broker.name: broker.missing for broker in listing()}


def needs(program: str) -> pytest.MarkDecorator:
    """Skip where the program is missing; with GROUPCHECK_REQUIRE_ALL set, run and fail instead."""
    return _unless(f"{program} is not on this machine" if shutil.which(program) is None else None)


def needs_broker(name: str) -> pytest.MarkDecorator:
    """The same of a broker that is started by name."""
    why = _MISSING[name]
    return _unless(f"{name} cannot run here: {why}" if why else None)


def broker(name: str) -> object:
    """The name of a broker as a parameter of a test that needs it."""
    return pytest.param(name, marks=needs_broker(name))


def _unless(missing: str | None) -> pytest.MarkDecorator:
    skipped = missing is not None and "GROUPCHECK_REQUIRE_ALL" not in os.environ
    return pytest.mark.skipif(skipped, reason=missing or "nothing is missing")


def needs_packages(*packages: str) -> None:
    """Skip the module that is being imported where a package is missing, unless all is required."""
    missing = [each for each in packages if find_spec(each) is None]
    if missing and "GROUPCHECK_REQUIRE_ALL" not in os.environ:
        reason = f"{', '.join(missing)} not installed: pip install 'groupcheck[spark]'"
        pytest.skip(reason, allow_module_level=True)
