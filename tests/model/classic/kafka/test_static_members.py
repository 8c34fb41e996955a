"""Static members: the effect of their group.instance.id on each request (KIP-345)."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from support.marked_tests import holds
from support.requests import PARTITION
from support.scenario import COOPERATIVE, Broker

FENCED = ErrorCode.FENCED_INSTANCE_ID
NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@holds("staticMemberJoinAsFirstMember")
def test_a_static_member_gets_no_pending_id() -> None:
    member = Broker().first_member(instance="A")
    assert (member.generation_id, member.leader) == (1, member.member_id)
    assert [listed.group_instance_id for listed in member.members] == ["A"]


@holds("staticMemberRejoinWithKnownMemberId")
def test_a_static_member_that_rejoins_before_the_assignments_is_answered_at_once() -> None:
    broker = Broker()
    member = broker.first_member(instance="A")
    again = broker.join(member.member_id, instance="A").answer
    assert (again.error_code, again.member_id) == (NONE, member.member_id)
    assert broker.state == "CompletingRebalance"
    synced = broker.sync(
        member.member_id,
        again.generation_id,
        {member.member_id: b"all"},
        protocol_type="consumer",
        protocol_name=COOPERATIVE[0].name,
        instance="A",
    )
    assert (synced.answer.error_code, synced.answer.assignment) == (NONE, b"all")
    assert broker.state == "Stable"


@holds(
    "staticMemberReJoinWithExplicitUnknownMemberId",
    "staticMemberRejoinAsFollowerWithMismatchedMemberId",
    "staticMemberRejoinAsLeaderWithMismatchedMemberId",
    "staticMemberJoinWithUnknownInstanceIdAndKnownMemberId",
)
def test_join_with_the_instance_id_of_one_member_and_the_member_id_of_another_fails() -> None:
    broker = Broker()
    leader, follower = (member.member_id for member in broker.static_pair())
    for member_id, instance, error in (
        ("made-up", "A", FENCED),
        (follower, "A", FENCED),
        (leader, "B", FENCED),
        (leader, "C", UNKNOWN),
    ):
        assert broker.join(member_id, instance=instance).answer.error_code is error
    assert (broker.state, broker.member_ids) == ("Stable", {leader, follower})


@holds("staticMemberRejoinWithLeaderIdAndUnexpectedEmptyGroup")
def test_a_static_member_is_unknown_after_it_left() -> None:
    broker = Broker()
    leader, _ = broker.static_pair()
    assert broker.leave(MemberIdentity("", "A"), MemberIdentity("", "B")) == [NONE] * 2
    assert broker.join(leader.member_id, instance="A").answer.error_code is UNKNOWN
    assert broker.state == "Empty"


@holds(
    "staticMemberSyncAsLeaderWithInvalidMemberId",
    "staticMemberHeartbeatLeaderWithInvalidMemberId",
    "staticMemberCommitOffsetWithInvalidMemberId",
    "testTxnCommitOffsetWithFencedInstanceId",
    "testLeaveGroupWithFencedInstanceId",
)
def test_every_request_with_an_instance_id_and_another_member_id_is_fenced() -> None:
    broker = Broker()
    leader, follower = (member.member_id for member in broker.static_pair())
    assert broker.sync("made-up", 1, instance="A").answer.error_code is FENCED
    assert broker.heartbeat("made-up", 1, "A") is FENCED
    assert broker.commit("made-up", 1, {PARTITION: 8}, instance="A") is FENCED
    assert broker.txn_commit(member_id="", instance="A") is FENCED
    assert broker.txn_commit(member_id="made-up", instance="A") is FENCED
    assert broker.leave(MemberIdentity("made-up", "A")) == [FENCED]
    # The member itself may leave its instance id out.
    assert broker.sync(leader, 1).answer.error_code is NONE
    assert broker.heartbeat(leader, 1) is NONE
    assert broker.commit(leader, 1, {PARTITION: 7}) is NONE
    assert broker.readable() == 7
    assert broker.txn_commit(member_id=leader, instance="A") is NONE
    assert broker.member_ids == {leader, follower}


@holds(
    "testLeaveGroupStaticMemberWithUnknownMemberId",
    "testStaticMembersValidBatchLeaveGroup",
    "testStaticMembersFencedInstanceBatchLeaveGroup",
    "testStaticMembersUnknownInstanceBatchLeaveGroup",
)
@pytest.mark.parametrize(
    ("batch", "errors", "left"),
    [
        ([("", "A")], [NONE], ["B"]),
        ([("", "A"), ("", "B")], [NONE, NONE], []),
        ([("", "A"), ("made-up", "B")], [NONE, FENCED], ["B"]),
        ([("", "C"), ("", "B")], [UNKNOWN, NONE], ["A"]),
    ],
    ids=["one", "all", "fenced", "unknown"],
)
def test_static_members_leave_by_their_instance_ids_alone(
    batch: list[tuple[str, str]], errors: list[ErrorCode], left: list[str]
) -> None:
    broker = Broker()
    broker.static_pair()
    assert broker.leave(*(MemberIdentity(*member) for member in batch)) == errors
    assert [member.group_instance_id for member in broker.group.members] == left
    assert (broker.state == "Empty") == (not left)


@holds("testDescribeGroupStableForStaticMember")
def test_a_static_member_is_described_with_its_instance_id() -> None:
    broker = Broker()
    member = broker.stable_member(instance="A")
    shown = broker.describe()
    assert (shown.error_code, shown.group_state) == (NONE, "Stable")
    assert (shown.protocol_type, shown.protocol_data) == ("consumer", COOPERATIVE[0].name)
    assert [(m.member_id, m.group_instance_id) for m in shown.members] == [(member.member_id, "A")]
