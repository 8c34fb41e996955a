"""The options of the pytest plugin, each with an ini key of the same name for its default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupcheck.numeric_options import NUMBERS, PROFILE_HELP

if TYPE_CHECKING:
    import pytest

_SEED = NUMBERS["seed"]._replace(
    says="seed of all random choices", usual="--hypothesis-seed, or else 0"
)
_MOST = NUMBERS["max_findings"]._replace(says="end a test after N findings")

# The numeric options of `verify`, without --jobs: pytest-xdist distributes the tests.
NUMERIC: Final = {name: row for name, row in NUMBERS.items() if name != "jobs"} | {
    row.name: row for row in (_SEED, _MOST)
}

# Name, metavar, default and help.
_OPTIONS: Final = (
    ("port", "PORT", "", "the coordinator under test: PORT as in `groupcheck verify PORT`"),
    ("profile", "VERSION", "", PROFILE_HELP),
    *((name, "N", str(row.default), row.help) for name, row in NUMERIC.items()),
    ("report", "DIR", "", "write each finding to DIR; replaces an earlier report"),
    ("coverage", "FILE", "", "add the covered transitions to FILE (groupcheck coverage)"),
)


def add_options(parser: pytest.Parser) -> None:
    """Add the options and ini keys."""
    group = parser.getgroup("groupcheck", "checking a Kafka group coordinator")
    group.addoption(
        "--groupcheck",
        action="store_true",
        help="collect groupcheck's suite for the port of the fixture groupcheck_port",
    )
    for name, metavar, default, what in _OPTIONS:
        group.addoption(_flag(name), metavar=metavar, default=None, help=what)
        parser.addini(f"groupcheck_{name}", what, default=default)
    what = "cover every model instance of the version"
    group.addoption("--groupcheck-every-instance", action="store_true", help=what)
    parser.addini("groupcheck_every_instance", what, type="bool", default=False)
    what = "a feature that the port does not have; may be repeated"
    group.addoption("--groupcheck-skip", metavar="FEATURE[ REASON]", action="append", help=what)
    what = "features that the port does not have, one per line: the name and an optional reason"
    parser.addini("groupcheck_skip", what, type="linelist", default=[])
    what = "expected findings, one per line: the id and a reason"
    parser.addini("groupcheck_expected", what, type="linelist", default=[])


def option(config: pytest.Config, name: str) -> str:
    """The value of an option on the command line, or else in the ini file."""
    value = config.getoption(_flag(name))
    return str(config.getini(f"groupcheck_{name}") if value is None else value)


def _flag(name: str) -> str:
    return f"--groupcheck-{name.replace('_', '-')}"
