"""Article 002: a JoinGroup whose answer was lost, SyncGroup and LeaveGroup in each state.

The states are those of Kafka 0.10.0; the article's AwaitingSync is called CompletingRebalance here.
"""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse, SyncGroupResponse
from support.consumers import Consumers
from support.requests import Call

SHARES = {"C1": b"0", "C2": b"1", "C3": b"2"}
NAMES = tuple(SHARES)
BEGINNING = ("Stable", "PreparingRebalance", "CompletingRebalance")
REBALANCE = ("PreparingRebalance", "CompletingRebalance")


def _errors(*calls: Call[JoinGroupResponse] | Call[SyncGroupResponse]) -> list[ErrorCode]:
    return [call.answer.error_code for call in calls]


def _joined(*names: str) -> Consumers:
    """All have joined, the first member leads, and the assignments have not arrived yet."""
    group = Consumers("0.10.0")
    for name in (*names, names[0]):  # the first is in generation 1 alone, and joins again
        group.join(name)
    assert (group.broker.state, group.broker.generation_id) == ("CompletingRebalance", 2)
    return group


def _stable(*names: str) -> Consumers:
    """The same, and they have their assignments."""
    group = _joined(*names)
    for name in names:
        group.sync(name, {each: SHARES[each] for each in names} if name == names[0] else {})
    assert group.broker.state == "Stable"
    return group


def _joined_again(lost: str) -> Consumers:
    """Three stable members have rejoined; one did not get the response."""
    group = _stable(*NAMES)
    for name in NAMES:  # the leader begins the rebalance
        group.join(name, lost=name == lost)
    assert (group.broker.state, group.broker.generation_id) == ("CompletingRebalance", 3)
    assert group.generation(lost) == 2
    return group


def test_a_follower_whose_response_was_lost_gets_it_again_from_a_stable_group() -> None:
    group = _joined_again(lost="C3")
    second = group.sync("C2")
    assert not second.answered
    first = group.sync("C1", SHARES)
    assert _errors(first, second) == [ErrorCode.NONE, ErrorCode.NONE]
    assert group.broker.state == "Stable"
    again = group.join("C3")
    assert again.answer.error_code is ErrorCode.NONE
    assert (again.answer.generation_id, again.answer.members) == (3, ())
    third = group.sync("C3")
    assert third.answer.assignment == b"2"
    # The other members have not noticed.
    assert group.broker.state == "Stable"
    assert [group.heartbeat(name) for name in NAMES] == [ErrorCode.NONE] * 3


def test_follower_that_never_got_its_id_joins_as_a_new_member() -> None:
    # The article does not distinguish it from the one above. Its JoinGroup has no member id.
    group = Consumers("0.10.0")
    group.join("C1")
    group.join("C2", lost=True)
    group.join("C1")
    group.sync("C1")
    assert group.broker.state == "Stable"
    again = group.join("C2")
    assert not again.answered
    assert group.broker.state == "PreparingRebalance"
    assert group.members == ["C1", "C2", "C2"]


def test_a_leader_whose_response_was_lost_gets_it_again_while_the_others_wait() -> None:
    group = _joined_again(lost="C1")
    followers = [group.sync("C2"), group.sync("C3")]
    again = group.join("C1")
    assert again.answer.error_code is ErrorCode.NONE
    assert again.answer.generation_id == 3
    assert again.answer.leader == again.answer.member_id
    assert len(again.answer.members) == 3
    assert not any(call.answered for call in followers)
    assert group.broker.state == "CompletingRebalance"
    first = group.sync("C1", SHARES)
    assert [call.answer.assignment for call in (first, *followers)] == [b"0", b"1", b"2"]
    assert group.broker.state == "Stable"


def test_a_leader_that_syncs_after_a_new_member_joined_has_to_rejoin() -> None:
    group = Consumers("0.10.0")
    group.join("C1")
    assert group.broker.state == "CompletingRebalance"
    second = group.join("C2")
    assert group.broker.state == "PreparingRebalance"
    early = group.sync("C1", {"C1": b"01"})
    assert early.answer == SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    assert group.broker.state == "PreparingRebalance"
    first = group.join("C1")
    assert [call.answer.generation_id for call in (first, second)] == [2, 2]


def test_a_sync_before_that_of_the_leader_waits_for_it() -> None:
    group = _joined(*NAMES)
    second = group.sync("C2")
    assert not second.answered
    first = group.sync("C1", SHARES)
    # The leader's SyncGroup answers the parked ones, and the group is Stable.
    assert [call.answer.assignment for call in (first, second)] == [b"0", b"1"]
    assert group.broker.state == "Stable"
    assert group.received("C3") == []
    third = group.sync("C3")
    assert third.answer.assignment == b"2"
    assert [len(group.received(name)) for name in NAMES] == [1, 1, 1]


def test_the_join_phase_ends_when_the_missing_member_leaves() -> None:
    group = _stable("C1", "C2")
    third, first = group.join("C3"), group.join("C1")
    assert [call.answered for call in (third, first)] == [False, False]
    group.leave("C2")
    assert [call.answer.generation_id for call in (third, first)] == [3, 3]
    assert group.broker.trail[-2:] == REBALANCE
    assert group.members == ["C1", "C3"]


def test_the_join_phase_goes_on_when_a_member_leaves_and_another_is_missing() -> None:
    group = _stable("C1", "C2")
    third = group.join("C3")
    group.leave("C2")
    assert not third.answered
    assert group.broker.state == "PreparingRebalance"
    assert group.join("C1").answered
    assert third.answered


def test_members_that_wait_for_assignments_rejoin_when_another_leaves() -> None:
    group = _joined(*NAMES)
    second = group.sync("C2")
    group.leave("C3")
    assert second.answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.broker.state == "PreparingRebalance"
    calls = [group.join("C1"), group.join("C2")]
    assert [call.answer.generation_id for call in calls] == [3, 3]
    # The assignment of the leaving member goes to others.
    group.sync("C2")
    group.sync("C1", {"C1": b"02", "C2": b"1"})
    assert (group.received("C1"), group.received("C2")) == ([b"02"], [b"1"])


def test_a_member_that_leaves_a_stable_group_starts_a_rebalance() -> None:
    group = _stable(*NAMES)
    group.leave("C3")
    assert group.broker.state == "PreparingRebalance"
    assert group.heartbeat("C1") is ErrorCode.REBALANCE_IN_PROGRESS
    calls = [group.join("C1"), group.join("C2")]
    assert [call.answer.generation_id for call in calls] == [3, 3]
    assert group.members == ["C1", "C2"]


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Stable"])
def test_a_group_is_removed_in_any_state_when_its_last_member_leaves(state: str) -> None:
    group = Consumers("0.10.0")
    group.join("C1")
    if state != "CompletingRebalance":
        group.sync("C1")
    if state == "PreparingRebalance":  # another member has joined and left
        group.join("C2")
        group.join("C1")
        group.leave("C2")
    assert group.broker.state == state
    group.leave("C1")
    assert group.broker.trail[-2:] == ("PreparingRebalance", "Dead")
    assert group.broker.heartbeat("C1", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    # The next member is the first of a new group.
    assert group.join("C3").answer.generation_id == 1
    assert group.broker.trail[-3:] == BEGINNING
