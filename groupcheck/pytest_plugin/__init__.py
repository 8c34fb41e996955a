"""The pytest plugin: its options, its fixtures, and the suite that it adds to a run.

pytest imports this at start-up, before coverage is measured. So the plugin imports its other
modules, and with them the rest of groupcheck, only in a run that has the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupcheck.pytest_plugin.options import add_options, option

if TYPE_CHECKING:
    from collections.abc import Generator

    from groupcheck.properties.rule_checks import Parts


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
def groupcheck_parts(groupcheck_port: object, request: pytest.FixtureRequest) -> Generator[Parts]:
    """The verification of the port, divided into parts."""
    from groupcheck.pytest_plugin.suite import Suite

    parts = Suite.of(request.config).parts(groupcheck_port)
    yield parts
    parts.source.stop()
