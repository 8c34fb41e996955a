"""Violations of the properties by Kafka: the model has them, and brokers answer as described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.temporal.safety import violations_of
from groupcheck.properties.temporal.step import CheckedStep
from support.found_in_kafka import (
    FOUND,
    Found,
    errors_shown,
    played_on,
    sequence_of,
    shown,
    source_of,
)
from support.needs import needs_broker

PAGE = Path(__file__).parents[3] / "docs" / "found-in-kafka.md"
CASES = [(found, profile) for found in FOUND for profile in found.seen]


def _name(case: tuple[Found, str]) -> str:
    return f"{case[0].property} {case[1]}"


def _ways(
    before: Coordinator, steps: tuple[Input, ...], profile: Profile, config: Config
) -> Iterator[list[CheckedStep]]:
    """Every outcome of the sequence."""
    if not steps:
        yield []
        return
    given, *rest = steps
    for after, responses, applied, _ in successors(before, given, profile, config):
        step = CheckedStep(0, before, given, after, responses, applied, profile, config)
        for later in _ways(after, tuple(rest), profile, config):
            yield [step, *later]


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_the_sequence_violates_its_property_and_the_version_is_known_for_it(
    case: tuple[Found, str],
) -> None:
    found, name = case
    profile, config = PROFILES[name], Config.of(found.needs)
    steps = sequence_of(found, name, found.needs).steps
    ways = [*_ways(Coordinator(), steps, profile, config)]
    assert ways
    for way in ways:
        broken = {prop.name: known for step in way for prop, known in violations_of(step)}
        assert broken[found.property] is not None
        assert all(broken.values())
        assert errors_shown(way[-1].responses, len(steps)) == [found.shows]


class _OneBroker:
    """The broker of a case; the one that runs is kept for the next case that needs the same."""

    def __init__(self) -> None:
        self._source: PortSource | None = None

    def of(self, case: tuple[Found, str]) -> PortSource:
        found, profile = case
        if self._source is None or self._source.spec != found.broker(profile):
            self.stop()
            self._source = source_of(found.broker(profile))
        return self._source

    def stop(self) -> None:
        if self._source is not None:
            self._source.stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[_OneBroker]:
    one = _OneBroker()
    yield one
    one.stop()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[needs_broker(f"kafka:{case[1]}"), pytest.mark.slow])
        for case in sorted(CASES, key=lambda case: case[0].broker(case[1]))
    ],
    ids=_name,
)
def test_a_broker_of_that_version_does_so_and_users_see_it(
    broker: _OneBroker, case: tuple[Found, str]
) -> None:
    found, profile = case
    replayed = played_on(broker.of(case), found, profile)
    assert replayed.finding is None
    assert shown(replayed) == [found.shows]


def test_the_page_has_every_violation_in_its_words() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for found in FOUND:
        words = (found.title, found.happens, found.since, found.costs, found.lines, found.issue)
        assert all(each in page for each in words)
