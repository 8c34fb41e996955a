"""The tests of the suite: one for each rule of the profile, and tests of random sequences.

`suite` collects them under the name "groupcheck".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupcheck.properties.rule_checks import RANDOM_PARTS, Parts
from groupcheck.pytest_plugin.suite import Suite, check

if TYPE_CHECKING:
    import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests with the parts of the verification."""
    suite = Suite.of(metafunc.config)
    if "rule" in metafunc.fixturenames:
        metafunc.parametrize("rule", suite.rules)
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", range(RANDOM_PARTS))


def test_rule(rule: str, groupcheck_parts: Parts, request: pytest.FixtureRequest) -> None:
    """The port answers as Kafka would wherever the rule applies."""
    check(request, groupcheck_parts, lambda parts: parts.rule(rule))


def test_random_sequences(
    number: int, groupcheck_parts: Parts, request: pytest.FixtureRequest
) -> None:
    """The port answers as Kafka would in random sequences beyond the explored graph."""
    check(request, groupcheck_parts, lambda parts: parts.random(number))


def test_on_a_real_clock(groupcheck_parts: Parts, request: pytest.FixtureRequest) -> None:
    """A live broker answers as Kafka would."""
    check(request, groupcheck_parts, Parts.whole)
