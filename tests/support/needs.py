"""The requirements of tests besides the packages of `pip install -e '.[test]'`.

Where it is missing the test is skipped, or with GROUPCHECK_REQUIRE_ALL set runs and fails.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

from groupcheck.properties.assignors.source import assignor_source
from groupcheck.properties.brokers.catalogue import listing
from groupcheck.properties.clients.source import client_source

REQUIRE_ALL = "GROUPCHECK_REQUIRE_ALL" in os.environ
_MISSING = {broker.name: broker.missing for broker in listing()}


def needs(program: str) -> pytest.MarkDecorator:
    """Mark a test that needs a program."""
    there = shutil.which(program) is not None
    return pytest.mark.external("" if there else f"{program} is not on this machine")


def needs_broker(name: str) -> pytest.MarkDecorator:
    """Mark a test that needs a broker, which is started by name."""
    why = _MISSING[name]
    return pytest.mark.external(f"{name} cannot run here: {why}" if why else "")


def needs_assignors(name: str) -> pytest.MarkDecorator:
    """Mark a test that needs the assignors of a library that Python does not install."""
    why = assignor_source(name).missing()
    return pytest.mark.external(f"{name} cannot run here: {why}" if why else "")


def needs_client(name: str) -> pytest.MarkDecorator:
    """Mark a test that needs a client that Python does not install."""
    why = client_source(name).missing()
    return pytest.mark.external(f"{name} cannot run here: {why}" if why else "")


def broker(name: str) -> object:
    """The name of a broker as a parameter of a test that needs it."""
    return pytest.param(name, marks=needs_broker(name))


def skip_what_cannot_run(item: pytest.Item) -> None:
    """Skip a test whose mark says why it cannot run here."""
    why = [mark.args[0] for mark in item.iter_markers("external") if mark.args[0]]
    if why and not REQUIRE_ALL:
        pytest.skip("; ".join(why))


def needs_packages(*packages: str) -> None:
    """Skip the module that is being imported where a package is missing."""
    missing = [each for each in packages if find_spec(each) is None]
    if missing and not REQUIRE_ALL:
        reason = f"{', '.join(missing)} not installed: pip install 'groupcheck[spark]'"
        pytest.skip(reason, allow_module_level=True)
