"""Static members that restart: they rejoin without their member id and get a new one."""

from __future__ import annotations

from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse
from support.marked_tests import holds
from support.requests import SESSION_MS
from support.scenario import COOPERATIVE, SEVERAL, Broker

REBALANCE_MS = Broker.rebalance_ms
FENCED = ErrorCode.FENCED_INSTANCE_ID
NONE = ErrorCode.NONE
OTHER = SEVERAL[1:]  # what all support, and the group has not chosen


def _listed(answer: JoinGroupResponse) -> list[str | None]:
    return sorted((m.group_instance_id for m in answer.members), key=str)


def _rejoined(broker: Broker, answer: JoinGroupResponse, old: JoinGroupResponse) -> None:
    """The restarted member is in the same generation, under a new id and without a member list."""
    assert (answer.error_code, answer.generation_id) == (NONE, 1)
    assert (answer.protocol_type, answer.members) == ("consumer", ())
    assert answer.member_id not in {"", old.member_id}
    assert (broker.state, broker.generation_id) == ("Stable", 1)


@holds("staticMemberRejoinWithLeaderIdAndUnknownMemberId")
def test_restarted_leader_gets_its_old_id_as_the_leader_and_assigns_nothing() -> None:
    broker = Broker()
    leader, _ = broker.static_pair()
    back = broker.join(instance="A", protocols=SEVERAL).answer
    _rejoined(broker, back, leader)
    assert back.leader == leader.member_id
    again = broker.join(leader.member_id, instance="A", protocols=SEVERAL).answer
    assert again.error_code is FENCED
    assert broker.sync(leader.member_id, 1, instance="A").answer.error_code is FENCED
    assert broker.sync(back.leader, 1).answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID


@holds("staticMemberRejoinAsFollowerWithUnknownMemberId")
def test_restarted_follower_gets_its_assignment_of_before() -> None:
    broker = Broker()
    leader, follower = broker.static_pair()
    back = broker.join(instance="B", protocols=SEVERAL).answer
    _rejoined(broker, back, follower)
    assert broker.member_ids == {leader.member_id, back.member_id}
    synced = broker.sync(back.member_id, 1).answer
    assert (synced.error_code, synced.assignment) == (NONE, b"odd")


@holds("staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchanged")
def test_restarted_follower_may_drop_protocols_that_the_group_does_not_choose() -> None:
    broker = Broker()
    _, follower = broker.static_pair()
    back = broker.join(instance="B", protocols=COOPERATIVE).answer
    _rejoined(broker, back, follower)
    again = broker.join(follower.member_id, instance="B", protocols=COOPERATIVE).answer
    assert again.error_code is FENCED
    assert broker.sync(follower.member_id, 1, instance="B").answer.error_code is FENCED
    synced = broker.sync(back.member_id, 1, instance="B").answer
    assert (synced.error_code, synced.assignment) == (NONE, b"odd")


@holds("staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged")
def test_restarted_follower_that_changes_the_chosen_protocol_starts_a_rebalance() -> None:
    broker = Broker()
    leader, follower = broker.static_pair(session_ms=2 * REBALANCE_MS)
    call = broker.join(instance="B", protocols=OTHER)
    assert (call.answered, broker.state) == (False, "PreparingRebalance")
    broker.wait(REBALANCE_MS)
    back = call.answer
    assert (back.error_code, back.generation_id) == (NONE, 2)
    assert (back.protocol_type, back.protocol_name) == ("consumer", OTHER[0].name)
    assert back.member_id != follower.member_id
    # The leader has not rejoined: it stays, but is no longer the leader.
    assert back.leader == back.member_id
    assert _listed(back) == ["A", "B"]
    assert broker.member_ids == {leader.member_id, back.member_id}
    assert broker.state == "CompletingRebalance"


@holds("shouldGetDifferentStaticMemberIdAfterEachRejoin")
def test_static_member_gets_another_id_with_every_restart() -> None:
    broker = Broker()
    leader, _ = broker.static_pair()
    ids = [leader.member_id]
    for _ in range(4):
        back = broker.join(instance="A").answer
        assert back.error_code is NONE
        assert back.leader == ids[-1]
        ids.append(back.member_id)
    assert len(set(ids)) == len(ids)


@holds("staticMemberFenceDuplicateRejoinedFollower")
def test_parked_join_is_fenced_when_another_member_joins_with_its_instance_id() -> None:
    broker = Broker()
    _, follower = broker.static_pair()
    broker.join(protocols=SEVERAL)
    assert broker.state == "PreparingRebalance"
    old = broker.join(follower.member_id, instance="B", protocols=SEVERAL)
    assert not old.answered
    duplicate = broker.join(instance="B", protocols=SEVERAL)
    assert old.answer == JoinGroupResponse(FENCED, member_id=follower.member_id)
    assert not duplicate.answered
    assert broker.state == "PreparingRebalance"


@holds("staticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged")
def test_parked_sync_is_fenced_when_another_member_joins_with_its_instance_id() -> None:
    broker = Broker()
    leader, follower = broker.static_pair()
    led = broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    assert broker.state == "PreparingRebalance"
    followed = broker.join(follower.member_id, instance="B", protocols=SEVERAL).answer
    assert (led.answer.generation_id, followed.generation_id) == (2, 2)
    assert (led.answer.leader, followed.leader) == (leader.member_id, leader.member_id)
    assert (_listed(led.answer), _listed(followed)) == (["A", "B"], [])
    assert broker.state == "CompletingRebalance"
    old = broker.sync(
        follower.member_id,
        2,
        protocol_type="consumer",
        protocol_name=COOPERATIVE[0].name,
        instance="B",
    )
    assert not old.answered
    duplicate = broker.join(instance="B", protocols=SEVERAL)
    assert old.answer.error_code is FENCED
    assert (duplicate.answered, broker.state) == (False, "PreparingRebalance")
    broker.wait(SESSION_MS)  # the leader sends nothing meanwhile
    back = duplicate.answer
    assert (back.error_code, back.generation_id) == (NONE, 3)
    assert (back.leader, _listed(back)) == (back.member_id, ["B"])
    assert broker.state == "CompletingRebalance"


@holds("staticMemberFenceDuplicateRejoiningFollowerAfterMemberIdChanged")
def test_join_with_the_old_id_of_a_replaced_member_is_fenced() -> None:
    broker = Broker()
    leader, follower = broker.static_pair()
    led = broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    assert broker.state == "PreparingRebalance"
    duplicate = broker.join(instance="B", protocols=SEVERAL).answer
    old = broker.join(follower.member_id, instance="B", protocols=SEVERAL).answer
    assert (led.answer.error_code, led.answer.generation_id) == (NONE, 2)
    assert (duplicate.error_code, duplicate.generation_id) == (NONE, 2)
    assert (_listed(led.answer), _listed(duplicate)) == (["A", "B"], [])
    assert duplicate.member_id != follower.member_id
    assert old == JoinGroupResponse(FENCED, member_id=follower.member_id)
    assert broker.state == "CompletingRebalance"
