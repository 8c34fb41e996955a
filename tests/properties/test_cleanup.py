"""Cleanups: the offsets that a port expires are checked."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

import pytest

from groupcheck.model.classic.instances.inputs import commit, fetch
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Cleanup
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import OffsetCommitRequest, Request
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.tour import stepper, tour
from groupcheck.properties.ports.port import Fault, Observation, Port
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence, dump, parse
from support.model_port import ModelPort
from support.spaces import explored_once

LIMIT = 60
DATED = ("0.10.0", "0.10.2", "2.7")  # with OffsetCommit version 1
FETCH = fetch(require_stable=False)


@pytest.fixture(scope="module", params=PROFILES)
def space(request: pytest.FixtureRequest) -> StateSpace:
    return explored_once(instances(PROFILES[request.param], 2)["expiry"])


def _findings(space: StateSpace, port: Port, seed: int = 0) -> list[Finding]:
    coverage = Coverage(space, Random(seed))
    walks = tour(coverage, stepper(coverage, port), LIMIT)
    return [finding for _, finding, *_ in walks if finding is not None]


class KeepsAll(ModelPort):
    """Expires no offset, and does not report that."""

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        return Observation() if fault.name == "cleanup" else super().fault(fault, expected)


class CommitsNow(ModelPort):
    """Ignores the time that a commit says."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        body = request.body
        if isinstance(body, OffsetCommitRequest):
            body = trim(body, 2)  # has no time of a commit
        return super().request(request._replace(body=body), expected)


def test_tour_of_a_conforming_port_with_cleanups_has_no_findings(space: StateSpace) -> None:
    assert _findings(space, ModelPort()) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_port_without_expiry_diverges(profile: str) -> None:
    broker = {"offsets.retention.minutes": 1}
    kept = (Request(1, 2, commit(-1, "")), Advance(60_000), Request(2, 1, FETCH), Cleanup())
    steps = (*kept, Advance(1), Cleanup(), Request(3, 1, FETCH))
    assert replay(Sequence(profile, broker, steps), ModelPort()) is None
    assert replay(Sequence(profile, broker, kept), KeepsAll()) is None
    assert replay(Sequence(profile, broker, steps), KeepsAll()) is not None


@pytest.mark.slow
def test_tours_find_a_port_that_ignores_the_time_of_a_commit() -> None:
    space = explored_once(instances(PROFILES["2.7"], 2)["expiry"])
    assert any(_findings(space, CommitsNow(), seed) for seed in range(4))


@pytest.mark.parametrize("profile", DATED)
def test_port_that_ignores_the_time_of_a_commit_diverges(profile: str) -> None:
    broker = {"offsets.retention.minutes": 1}
    kept = (Request(1, 1, commit(-1, "", age_ms=30_000)), Advance(30_000), Request(2, 1, FETCH))
    steps = (*kept, Advance(1), Cleanup(), Request(3, 1, FETCH))
    assert replay(Sequence(profile, broker, steps), ModelPort()) is None
    assert replay(Sequence(profile, broker, kept), CommitsNow()) is None
    assert replay(Sequence(profile, broker, steps), CommitsNow()) is not None


@pytest.mark.parametrize("profile", DATED)
def test_trace_contains_the_times_of_commits(profile: str) -> None:
    steps = tuple(
        Request(n, 1, commit(-1, "", age_ms=age)) for n, age in enumerate((0, 9, -9, 2**62), 1)
    )
    sequence = Sequence(profile, {}, steps)
    assert parse(dump(sequence), "trace") == sequence


@pytest.mark.parametrize("profile", PROFILES)
def test_trace_contains_cleanups_retention_times_and_the_broker_retention(profile: str) -> None:
    said = commit(-1, "")._replace(retention_time_ms=2**40)
    steps = (Request(1, 2, said), Advance(60_000), Cleanup())
    sequence = Sequence(profile, {"offsets.retention.minutes": 1}, steps)
    assert parse(dump(sequence), "trace") == sequence
