"""The door for pytest: options, the suite that they bring in, and what is told at the end.

pytest imports this at start-up, before coverage is measured, so none of the rooms is imported here
until it is needed; the tests are in `pytest_suite`, and what they have in common in `pytest_run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupcheck.numbers import NUMBERS, PROFILE_HELP

if TYPE_CHECKING:
    from collections.abc import Generator

    from groupcheck.properties.parts import Parts

_SEED = NUMBERS["seed"]._replace(
    says="what random choices are drawn from", usual="--hypothesis-seed, or else 0"
)
_MOST = NUMBERS["max_findings"]._replace(says="end a test when so many findings are found")

# The numbers that can be asked for: those of a verification, but that xdist spreads the tests.
ASKED = {name: row for name, row in NUMBERS.items() if name != "jobs"} | {
    row.name: row for row in (_SEED, _MOST)
}

# Option and ini key, with metavar, default and help.
OPTIONS = (
    ("port", "PORT", "", "the coordinator under test: PORT as `groupcheck verify` takes it"),
    ("profile", "VERSION", "", PROFILE_HELP),
    *((name, "N", str(row.default), row.help) for name, row in ASKED.items()),
    (
        "report",
        "DIR",
        "",
        "write each finding to that directory, in the place of an earlier report",
    ),
    ("coverage", "FILE", "", "add to that file what was shown (groupcheck coverage)"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each with an ini key that gives its default."""
    group = parser.getgroup("groupcheck", "verifying a Kafka consumer-group coordinator")
    group.addoption(
        "--groupcheck",
        action="store_true",
        help="collect groupcheck's suite for the port of the fixture groupcheck_port",
    )
    for name, metavar, default, says in OPTIONS:
        group.addoption(_flag(name), metavar=metavar, default=None, help=says)
        parser.addini(f"groupcheck_{name}", says, default=default)
    says = "walk the spaces of all that a version has, too"
    group.addoption("--groupcheck-every-space", action="store_true", help=says)
    parser.addini("groupcheck_every_space", says, type="bool", default=False)
    says = "a feature that the port lacks, not to be tried; may be given more than once"
    group.addoption("--groupcheck-skip", metavar="FEATURE[ REASON]", action="append", help=says)
    says = "features that the port lacks, a line each: its name, and a reason if you like"
    parser.addini("groupcheck_skip", says, type="linelist", default=[])
    says = "findings that are known, a line each: the id, and why it is let stand"
    parser.addini("groupcheck_expected", says, type="linelist", default=[])


def _flag(name: str) -> str:
    return f"--groupcheck-{name.replace('_', '-')}"


def option(config: pytest.Config, name: str) -> str:
    """What was said of an option on the command line, or else in the ini file."""
    said = config.getoption(_flag(name))
    return str(config.getini(f"groupcheck_{name}") if said is None else said)


def pytest_configure(config: pytest.Config) -> None:
    """Find out whether what was asked for can be done, and who does it.

    Raises:
        pytest.UsageError: it cannot be done.
    """
    asked = config.getoption("--groupcheck") or option(config, "port")
    if asked or config.getoption("markers", default=False):
        from groupcheck.pytest_settings import markers

        for line in markers():
            config.addinivalue_line("markers", line)
    if asked:
        from groupcheck.pytest_run import Suite

        config.pluginmanager.register(Suite(config), "groupcheck-suite")


@pytest.fixture(scope="session")
def groupcheck_port(request: pytest.FixtureRequest) -> object:
    """The coordinator under test; override it to return a port of your own.

    It is a PORT as on the command line, or a class or function that makes an object with the
    methods of a Python port.
    """
    return option(request.config, "port")


@pytest.fixture(scope="session")
def groupcheck_parts(groupcheck_port: object, request: pytest.FixtureRequest) -> Generator[Parts]:
    """The verification of that port, in parts."""
    from groupcheck.pytest_run import Suite

    parts = Suite.of(request.config).parts(groupcheck_port)
    yield parts
    parts.source.stop()
