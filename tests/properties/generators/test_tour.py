"""Tours try every transition, let the port choose at forks, and continue after findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random

import msgspec
import pytest

from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import HoldAppends
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest, HeartbeatResponse, Request
from groupcheck.properties.coverage.transition_coverage import MAX_DIVERGENCES, Coverage
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.tour import stepper, tour
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo
from support.model_port import ModelPort
from support.spaces import explored_once

LIMIT = 60


@pytest.fixture(scope="module")
def space() -> StateSpace:
    return explored_once(virtual_time_instances(PROFILES["2.7"], 2)["storing"])


def _tour(space: StateSpace, port: Port) -> tuple[Coverage, list[int], list[Finding]]:
    coverage = Coverage(space, Random(0))
    walks = list(tour(coverage, stepper(coverage, port), LIMIT))
    return (
        coverage,
        [each.steps for each in walks],
        [each.finding for each in walks if each.finding is not None],
    )


@pytest.mark.slow
def test_tour_of_a_conforming_port_finds_nothing_and_tries_every_transition(
    space: StateSpace,
) -> None:
    coverage, _, findings = _tour(space, ModelPort())
    counts = coverage.counts()
    assert findings == []
    assert counts.diverged == counts.unsupported == 0
    # This port does not show its inner state: two branches with the same answers do not count.
    assert counts.covered >= 0.99 * counts.total
    assert all(not todo for todo in coverage.todo)


def test_no_walk_of_a_tour_is_longer_than_its_limit(space: StateSpace) -> None:
    _, steps, _ = _tour(space, ModelPort())
    assert max(steps) <= LIMIT


@pytest.mark.slow
def test_the_shares_of_a_tour_add_up_to_the_edges_of_the_space(space: StateSpace) -> None:
    coverage, _, _ = _tour(space, ModelPort())
    counts = msgspec.structs.asdict(coverage.counts())
    edges, requests = counts.pop("total"), counts.pop("requests_covered")
    assert edges == sum(counts.values()) == space.transition_count
    assert 0 < requests < counts["covered"]


class NoHolding(ModelPort):
    """Does not support held appends."""

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        del expected
        return Observation(unsupported=fault.name)


def test_what_a_port_does_not_support_is_left_out_and_named(space: StateSpace) -> None:
    coverage, _, findings = _tour(space, NoHolding())
    counts = coverage.counts()
    assert findings == []
    assert coverage.unsupported == ["holdAppends"]
    holds = [isinstance(edge.given, HoldAppends) for edges in space.edges for edge in edges]
    assert counts.unsupported == sum(holds)
    # Transitions that need held appends cannot be tried.
    assert counts.untried == coverage.unreachable() > 0


def _heartbeats(space: StateSpace) -> int:
    return sum(
        isinstance(edge.given, Request) and edge.given.api == "Heartbeat"
        for edges in space.edges
        for edge in edges
    )


class NoHeartbeats(ModelPort):
    """Lists its APIs, without Heartbeat."""

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        newest = PROFILES[profile].max_versions
        self.max_versions = {api: newest[api] for api in newest if api != "Heartbeat"}
        return super().open(profile, config)


def test_an_api_that_a_port_does_not_list_is_left_out_before_it_is_reached(
    space: StateSpace,
) -> None:
    coverage = Coverage(space, Random(0))
    next(tour(coverage, stepper(coverage, NoHeartbeats()), 1))
    by_other_rules = Coverage(space, Random(0))
    by_other_rules.leave_out_as(coverage)
    for each in (coverage, by_other_rules):
        assert each.unsupported == ["Heartbeat"]
        assert each.counts().unsupported == _heartbeats(space)


class DeafToHeartbeats(ModelPort):
    """Answers every heartbeat with an error that Kafka never returns."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        seen = super().request(request, expected)
        if isinstance(request.body, HeartbeatRequest):
            wrong = HeartbeatResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
            return seen._replace(
                responses=tuple(
                    r._replace(body=wrong) if r.request_id == request.request_id else r
                    for r in seen.responses
                )
            )
        return seen


@pytest.mark.slow
def test_tour_continues_past_answers_that_are_not_allowed(space: StateSpace) -> None:
    coverage, _, findings = _tour(space, DeafToHeartbeats())
    counts = coverage.counts()
    assert {step.api for f in findings if isinstance(step := f.sequence.steps[-1], Request)} == {
        "Heartbeat"
    }
    assert counts.covered >= 0.9 * (counts.total - _heartbeats(space))


def test_tour_does_not_try_the_same_disallowed_answer_in_every_state(space: StateSpace) -> None:
    _, _, findings = _tour(space, DeafToHeartbeats())
    assert len({finding.key for finding in findings}) <= len(findings) <= 2 * MAX_DIVERGENCES * 8
