"""The suite that pytest runs on a port: a test for each rule of the profile, and random sequences.

It is collected by `pytest_run`, under the name "groupcheck".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupcheck.properties.parts import RANDOM_PARTS, Parts
from groupcheck.pytest_run import Suite, judge

if TYPE_CHECKING:
    import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The parts, by name."""
    suite = Suite.of(metafunc.config)
    if "rule" in metafunc.fixturenames:
        metafunc.parametrize("rule", suite.rules)
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", range(RANDOM_PARTS))


def test_rule(rule: str, groupcheck_parts: Parts, request: pytest.FixtureRequest) -> None:
    """Wherever the rule applies, the port answers as Kafka would."""
    judge(request, groupcheck_parts, lambda parts: parts.rule(rule))


def test_random_sequences(
    number: int, groupcheck_parts: Parts, request: pytest.FixtureRequest
) -> None:
    """Beyond the explored spaces too the port answers as Kafka would."""
    judge(request, groupcheck_parts, lambda parts: parts.random(number))


def test_on_a_real_clock(groupcheck_parts: Parts, request: pytest.FixtureRequest) -> None:
    """A coordinator on a real clock answers as Kafka would."""
    judge(request, groupcheck_parts, Parts.whole)
