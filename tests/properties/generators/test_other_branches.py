"""Conforming ports with other choices than the built-in one have no findings."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import (
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    Request,
)
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.sequence import Sequence
from support.economy import slow_if
from support.other_branches import (
    ANSWERS,
    CHOICES,
    LEADERS,
    MEMBERS,
    TIMERS,
    TOPICS,
    VOTES,
    OtherBranches,
)
from support.requests import REBALANCE_MS, join
from support.spaces import explored_once
from support.walks import everything, fuzzed, fuzzed_far, toured

STEPS = 600
WALKS = 100


def _sequence_of(finding: Finding | None) -> Sequence | None:
    return finding and finding.sequence


@pytest.mark.parametrize("choice", slow_if(lambda choice: choice != "by chance", CHOICES))
@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_every_choice_that_kafka_leaves_open_is_accepted(profile: str, choice: str) -> None:
    port = OtherBranches(3, (choice,))
    crowded = explored_once(instances(PROFILES[profile], 1)["crowded"])
    assert _sequence_of(toured(crowded, 3, port).finding) is None
    for seed, instance in enumerate(everything(PROFILES[profile], 3)):
        assert _sequence_of(fuzzed(instance, seed, STEPS, port).finding) is None
    assert _sequence_of(fuzzed_far(PROFILES[profile], 4, WALKS, port).finding) is None
    assert (+port.chosen).keys() >= {LEADERS, VOTES, TIMERS, MEMBERS, ANSWERS, TOPICS}


def _leader_after_the_first(port: OtherBranches) -> str | None:
    port.open("2.7", {})
    leaders: list[str] = []
    for number in range(3):
        port.request(Request(number, 3, join()), ())
    for response in port.advance(REBALANCE_MS, ()).responses:
        assert isinstance(response.body, JoinGroupResponse)
        leaders.append(response.body.leader)
    gone = LeaveGroupRequest(GROUP_ID, (MemberIdentity(leaders[0]),))
    groups = port.request(Request(3, 3, gone), ()).groups
    assert groups is not None
    return groups[0].leader


def test_it_does_choose_otherwise() -> None:
    one, other = (OtherBranches(choices=(name,)) for name in ("the last", "in turn"))
    assert _leader_after_the_first(one) != _leader_after_the_first(other)
