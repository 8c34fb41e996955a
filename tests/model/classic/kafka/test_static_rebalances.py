"""Rebalances of static members: which start one, and which stay without joining."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse
from support.marked_tests import holds
from support.requests import SESSION_MS
from support.scenario import COOPERATIVE, SEVERAL, Broker

REBALANCE_MS = Broker.rebalance_ms
NONE = ErrorCode.NONE
LONG_MS = 2 * REBALANCE_MS  # a session that outlasts a rebalance
OTHER = SEVERAL[1:]  # which all support, and the group has not chosen


def _instances(answer: JoinGroupResponse) -> set[str | None]:
    return {listed.group_instance_id for listed in answer.members}


def _leads(answer: JoinGroupResponse, generation_id: int, instances: set[str | None]) -> None:
    assert (answer.error_code, answer.generation_id) == (NONE, generation_id)
    assert answer.leader == answer.member_id
    assert _instances(answer) == instances
    assert answer.protocol_type == "consumer"


@holds("staticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange")
def test_static_follower_that_rejoins_unchanged_starts_no_rebalance() -> None:
    broker = Broker()
    leader, follower = broker.static_pair()
    again = broker.join(follower.member_id, instance="B", protocols=SEVERAL).answer
    assert (again.error_code, again.generation_id, again.members) == (NONE, 1, ())
    assert (again.leader, again.member_id) == (leader.member_id, follower.member_id)
    assert broker.member_ids == {leader.member_id, follower.member_id}
    assert broker.state == "Stable"


@holds("staticMemberRejoinWithLeaderIdAndKnownMemberId")
def test_rebalance_of_a_static_leader_waits_until_a_silent_follower_expires() -> None:
    broker = Broker()
    leader, follower = broker.static_pair(session_ms=REBALANCE_MS // 2)
    call = broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    broker.wait(REBALANCE_MS // 2 - 1)
    assert not call.answered
    assert broker.group.static("B") == follower.member_id
    broker.wait(1)
    assert broker.group.static("B") is None
    _leads(call.answer, 2, {"A"})
    assert call.answer.member_id == leader.member_id
    assert broker.state == "CompletingRebalance"


@holds("staticMemberRejoinWithFollowerIdAndChangeOfProtocol")
def test_static_follower_with_other_protocols_leads_if_the_leader_does_not_rejoin() -> None:
    broker = Broker()
    leader, follower = broker.static_pair(session_ms=LONG_MS)
    call = broker.join(follower.member_id, instance="B", protocols=OTHER)
    broker.wait(REBALANCE_MS)
    _leads(call.answer, 2, {"A", "B"})
    assert call.answer.member_id == follower.member_id
    assert broker.group.static("A") == leader.member_id
    assert broker.group.leader == follower.member_id
    assert broker.state == "CompletingRebalance"


@holds("staticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeofProtocol")
def test_static_leader_starts_one_rebalance_and_a_follower_with_fewer_protocols_another() -> None:
    broker = Broker()
    leader, follower = broker.static_pair()
    led = broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    followed = broker.join(follower.member_id, instance="B", protocols=SEVERAL).answer
    _leads(led.answer, 2, {"A", "B"})
    assert led.answer.member_id == leader.member_id
    assert (followed.error_code, followed.generation_id, followed.members) == (NONE, 2, ())
    assert (followed.leader, followed.member_id) == (leader.member_id, follower.member_id)
    assert broker.state == "CompletingRebalance"
    changed = broker.join(follower.member_id, instance="B", protocols=COOPERATIVE)
    assert (changed.answered, broker.state) == (False, "PreparingRebalance")
    broker.wait(SESSION_MS)  # in which the leader expires
    _leads(changed.answer, 3, {"B"})
    assert changed.answer.member_id == follower.member_id
    assert broker.state == "CompletingRebalance"


@holds("testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout")
def test_static_follower_that_does_not_rejoin_in_time_stays() -> None:
    broker = Broker()
    leader, follower = broker.static_pair(session_ms=LONG_MS)
    new = broker.join(instance="C", protocols=SEVERAL)
    assert broker.state == "PreparingRebalance"
    led = broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    broker.wait(REBALANCE_MS)
    _leads(led.answer, 2, {"A", "B", "C"})
    assert led.answer.member_id == leader.member_id
    assert (new.answer.error_code, new.answer.generation_id) == (NONE, 2)
    assert (new.answer.leader, new.answer.members) == (leader.member_id, ())
    assert follower.member_id in broker.member_ids
    assert broker.state == "CompletingRebalance"


@holds("testStaticMemberLeaderFailToRejoinBeforeRebalanceTimeout")
@pytest.mark.parametrize("leads", ["the follower", "the new member"])
def test_static_leader_that_does_not_rejoin_in_time_stays_but_is_not_leader(leads: str) -> None:
    broker = Broker()
    leader, follower = broker.static_pair(session_ms=LONG_MS)
    new = broker.join(instance="C", protocols=SEVERAL)
    assert broker.state == "PreparingRebalance"
    again = broker.join(follower.member_id, instance="B", protocols=SEVERAL)
    broker.wait(REBALANCE_MS)
    # Kafka may choose any joined member as the leader.
    as_follower = leads == "the follower"
    broker.assume(lambda group: (group.leader == follower.member_id) is as_follower)
    led, followed = (again.answer, new.answer) if as_follower else (new.answer, again.answer)
    _leads(led, 2, {"A", "B", "C"})
    assert (followed.error_code, followed.generation_id) == (NONE, 2)
    assert (followed.leader, followed.members) == (led.member_id, ())
    assert leader.member_id in broker.member_ids
    assert broker.state == "CompletingRebalance"


def _only_the_static_leader_is_left() -> tuple[Broker, JoinGroupResponse]:
    """A rebalance that no member has joined; the session of the static leader continues."""
    broker = Broker()
    leader, follower = broker.static_pair(session_ms=LONG_MS)
    dynamic = broker.join(session_ms=LONG_MS, protocols=SEVERAL)
    broker.wait(REBALANCE_MS)
    _leads(dynamic.answer, 2, {"A", "B", None})
    assert broker.state == "CompletingRebalance"
    ids = {leader.member_id, follower.member_id, dynamic.answer.member_id}
    assert broker.member_ids == ids
    assert {instance for instance, _ in broker.group.statics} == {"A", "B"}
    # A static member may leave by its id alone.
    assert broker.leave(follower.member_id) == [NONE]
    assert broker.state == "PreparingRebalance"
    broker.wait(REBALANCE_MS)
    assert broker.member_ids == {leader.member_id}
    assert (broker.state, broker.generation_id) == ("PreparingRebalance", 2)
    return broker, leader


@holds("testLeaderFailToRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout")
def test_rebalance_without_joined_members_lasts_until_the_last_static_member_expires() -> None:
    broker, leader = _only_the_static_leader_is_left()
    broker.wait(REBALANCE_MS - 1)
    assert broker.member_ids == {leader.member_id}
    assert (broker.state, broker.generation_id) == ("PreparingRebalance", 2)
    broker.wait(1)
    assert (broker.member_ids, broker.group.leader) == (set(), None)
    assert (broker.state, broker.generation_id) == ("Empty", 3)


@holds("testLeaderRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout")
def test_rebalance_without_joined_members_ends_when_the_last_static_member_rejoins() -> None:
    broker, _ = _only_the_static_leader_is_left()
    back = broker.join(instance="A", protocols=SEVERAL).answer
    _leads(back, 3, {"A"})
    assert (broker.member_ids, broker.group.leader) == ({back.member_id}, back.member_id)
    assert (broker.state, broker.generation_id) == ("CompletingRebalance", 3)


@holds("testRebalanceCompletesBeforeMemberJoins")
def test_static_member_that_misses_a_rebalance_stays_until_its_session_ends() -> None:
    broker = Broker()
    absent = broker.stable_member(instance="A", session_ms=20_000, rebalance_ms=24_000)
    call = broker.join(session_ms=10_000, rebalance_ms=10_000)
    for _ in range(2):
        broker.wait(10_000)
        assert broker.heartbeat(absent.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    broker.wait(4_000)
    other = call.answer.member_id
    _leads(call.answer, 2, {"A", None})
    assert broker.sync(other, 2, {other: b"all"}).answer.error_code is NONE
    assert broker.heartbeat(absent.member_id, 1) is ErrorCode.ILLEGAL_GENERATION
    # Its session restarted with the generation.
    for ms, answer in ((9_999, NONE), (9_999, NONE), (2, ErrorCode.REBALANCE_IN_PROGRESS)):
        broker.wait(ms)
        assert broker.heartbeat(other, 2) is answer
    assert broker.member_ids == {other}
    again = broker.join(other).answer
    _leads(again, 3, {None})
    assert broker.sync(other, 3, {other: b"all"}).answer.error_code is NONE
    for _ in range(5):
        broker.wait(9_999)
        assert broker.heartbeat(other, 3) is NONE
    assert (broker.state, broker.generation_id) == ("Stable", 3)
