"""The tests of the suite as items of pytest: their module, their ids and their rules."""

from __future__ import annotations

from typing import Final

import pytest

from groupcheck.pytest_plugin.results import NO_RULE
from groupcheck.pytest_plugin.settings import refuse

# The name of the tests in node ids, instead of the path of this package.
NAME: Final = "groupcheck"

# A live broker is verified by one test, as all sequences run side by side.
REAL_TIME_TEST: Final = "test_on_a_real_clock"


class Module(pytest.Module):
    """The module of the tests; the user's setting `python_functions` does not apply to it."""

    real_time = False

    def funcnamefilter(self, name: str) -> bool:
        """Whether to collect a function: some tests are for real time, some for virtual time."""
        return name.startswith("test_") and (name == REAL_TIME_TEST) is self.real_time


def rule_of(item: pytest.Item) -> str:
    """The rule that a test checks, or `NO_RULE`."""
    rule: str = item.callspec.params.get("rule", NO_RULE) if hasattr(item, "callspec") else NO_RULE
    return rule


def port_of(item: pytest.Item) -> list[tuple[str, int]]:
    """The fixture parameters of a test: tests with equal ones have the same port."""
    indices: dict[str, int] = item.callspec.indices if hasattr(item, "callspec") else {}
    return sorted((name, index) for name, index in indices.items() if name != "rule")


def take_ids(config: pytest.Config) -> list[str]:
    """Take the ids of the suite's tests from the arguments, which pytest expects to be paths."""
    start, here = config.rootpath / NAME, config.invocation_params.dir
    chosen: dict[str, str] = {}
    for argument in config.args:
        path, separator, name = argument.partition("::")
        if separator and (path == NAME or (here / path).resolve() == start):
            chosen[argument] = f"{NAME}::{name}"
    config.args[:] = [argument for argument in config.args if argument not in chosen]
    return list(chosen.values())


def selected(
    suite: list[pytest.Item], ids: list[str]
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests with these ids, and the others; the id of a function selects all its tests."""
    named = {item: {item.nodeid, item.nodeid.partition("[")[0]} for item in suite}
    known = set[str]().union(*named.values())
    for each in ids:
        if each not in known:
            refuse(f"the suite has no test {each}")
    chosen = [item for item in suite if not named[item].isdisjoint(ids)]
    return chosen, [item for item in suite if named[item].isdisjoint(ids)]
