"""The pytest plugin: its options, its fixtures, and the suite that it adds to a run.

pytest imports this at start-up, before coverage is measured. So the plugin imports its other
modules, and with them the rest of groupcheck, only in a run that has the suite.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest

from groupcheck.pytest_plugin.options import add_options, option

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from groupcheck.properties.ports.source import PortSource


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each with an ini key for its default."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the suite if the run asks for it.

    Raises:
        pytest.UsageError: a setting is invalid, or the port is not available.
    """
    asked = config.getoption("--groupcheck") or option(config, "port")
    if asked or config.getoption("markers", default=False):
        from groupcheck.pytest_plugin.settings import markers

        for line in markers():
            config.addinivalue_line("markers", line)
    if asked:
        from groupcheck.pytest_plugin.suite import Suite

        config.pluginmanager.register(Suite(config), "groupcheck-suite")


@pytest.fixture(scope="session")
def groupcheck_port(request: pytest.FixtureRequest) -> object:
    """The coordinator under test; override it to return a port of your own.

    It returns a PORT as on the command line, or a class or function that returns an object with
    the methods of a Python port.
    """
    return option(request.config, "port")


@pytest.fixture(scope="session")
def groupcheck_source(
    groupcheck_port: object, request: pytest.FixtureRequest
) -> Generator[PortSource]:
    """Makes the ports of the verification."""
    from groupcheck.pytest_plugin.suite import Suite

    source = Suite.of(request.config).source(groupcheck_port)
    yield source
    source.stop()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the tests of findings in a report, unless the report is an argument.

    They fail until the port is fixed, and a later report replaces them.
    """
    folder = collection_path.parent
    is_finding = fnmatch(collection_path.name, "test_finding_????????.py")
    if not is_finding or not (folder / "result.json").exists():
        return None
    here = config.invocation_params.dir
    named = any((here / each.partition("::")[0]).resolve() == folder for each in config.args)
    return None if named else True
