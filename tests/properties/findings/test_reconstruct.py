"""Reconstructed findings: one trace of the model that explains the observations."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import successors
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request, Response
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.reconstruct import reconstruct
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from support import requests

PROFILE = PROFILES["2.7"]
OFFER = kafka.JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
STEPS = (
    Request(1, 3, OFFER),
    Request(2, 3, OFFER),
    Request(3, 3, OFFER),
    Advance(9_000),
    # The leader leaves, and any of the others may lead: the answers reveal it a step later.
    Request(4, 3, requests.leave("#1")),
    Request(5, 3, OFFER._replace(member_id="#2")),
    Request(6, 3, OFFER._replace(member_id="#3")),
    Request(7, 3, requests.heartbeat("#2", 1)),
)


class Hidden(BuiltinPort):
    """Accepts heartbeats of any generation, and reports no inner state."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        if isinstance(request.body, kafka.HeartbeatRequest):
            well = Response(request.request_id, kafka.HeartbeatResponse(ErrorCode.NONE))
            return Observation((well,))
        return super().request(request, expected)._replace(groups=None)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        return super().advance(ms, expected)._replace(groups=None)


@pytest.mark.parametrize("seed", range(4))
def test_each_outcome_follows_from_the_state_before_and_gives_the_observed_answers(
    seed: int,
) -> None:
    finding = replay(Sequence("2.7", {}, STEPS), Hidden(seed))
    assert finding is not None
    assert len(finding.exchanges) == len(STEPS)
    state, outcomes = reconstruct(finding)
    assert len(outcomes) == len(STEPS)
    for exchange, outcome in zip(finding.exchanges, outcomes, strict=True):
        assert outcome in successors(state, exchange.given, PROFILE, Config())
        if exchange is not finding.exchanges[-1]:
            seen = {response.request_id for response in exchange.seen.responses}
            assert {response.request_id for response in outcome.responses} == seen
        state = outcome.coordinator
    leader = next(m for m in finding.exchanges[-2].seen.responses).body.leader  # type: ignore[union-attr]
    assert state.group is not None
    assert state.group.leader == finding.names[leader]


def test_a_port_that_fails_at_once_leaves_the_initial_state() -> None:
    failure = PortFailedError("port crashed", "it fell")
    state, outcomes = reconstruct(Finding(Sequence("2.7", {}, ()), (), {}, failure=failure))
    assert state.group is None
    assert outcomes == ()
