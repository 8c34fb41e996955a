"""The tests of the suite: one for each rule of the profile, and one of random sequences.

`suite` collects them under the name "groupcheck". One verification serves them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupcheck.pytest_plugin.suite import Suite

if TYPE_CHECKING:
    import pytest

    from groupcheck.properties.ports.source import PortSource


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the test of a rule with the rules."""
    if "rule" in metafunc.fixturenames:
        metafunc.parametrize("rule", Suite.of(metafunc.config).rules)


def test_rule(
    rule: str,  # noqa: ARG001 - the suite reads it from the request
    groupcheck_source: PortSource,
    request: pytest.FixtureRequest,
) -> None:
    """The port answers as Kafka would wherever the rule applies."""
    Suite.of(request.config).check(request, groupcheck_source)


def test_random_sequences(groupcheck_source: PortSource, request: pytest.FixtureRequest) -> None:
    """The port answers as Kafka would in random sequences beyond the explored graph."""
    Suite.of(request.config).check(request, groupcheck_source)


def test_on_a_real_clock(groupcheck_source: PortSource, request: pytest.FixtureRequest) -> None:
    """A live broker answers as Kafka would."""
    Suite.of(request.config).check(request, groupcheck_source)
