"""Static members: what their group.instance.id does to each request (KIP-345)."""

from __future__ import annotations

from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from support.kafka_tests import holds
from support.play import COOPERATIVE, Play

FENCED = ErrorCode.FENCED_INSTANCE_ID
NONE = ErrorCode.NONE


@holds("staticMemberJoinAsFirstMember")
def test_a_static_member_may_be_the_first_and_is_not_asked_to_come_back_with_an_id() -> None:
    play = Play()
    member = play.first_member(instance="A")
    assert (member.generation_id, member.leader) == (1, member.member_id)
    assert [listed.group_instance_id for listed in member.members] == ["A"]


@holds("staticMemberReJoinWithExplicitUnknownMemberId")
def test_who_joins_under_another_members_instance_id_with_a_made_up_id_is_fenced() -> None:
    play = Play()
    member = play.first_member(instance="A")
    assert play.join("made-up", instance="A").answer.error_code is FENCED
    assert play.member_ids == {member.member_id}


@holds("staticMemberRejoinWithKnownMemberId")
def test_a_static_member_that_joins_again_before_the_assignments_is_answered_at_once() -> None:
    play = Play()
    member = play.first_member(instance="A")
    again = play.join(member.member_id, instance="A").answer
    assert (again.error_code, again.member_id) == (NONE, member.member_id)
    assert play.state == "CompletingRebalance"
    synced = play.sync(
        member.member_id,
        again.generation_id,
        {member.member_id: b"all"},
        protocol_type="consumer",
        protocol_name=COOPERATIVE[0].name,
        instance="A",
    )
    assert (synced.answer.error_code, synced.answer.assignment) == (NONE, b"all")
    assert play.state == "Stable"


@holds(
    "staticMemberRejoinAsFollowerWithMismatchedMemberId",
    "staticMemberRejoinAsLeaderWithMismatchedMemberId",
)
def test_who_joins_with_one_members_instance_id_and_the_id_of_another_is_fenced() -> None:
    play = Play()
    leader, follower = play.static_pair()
    assert play.join(follower.member_id, instance="A").answer.error_code is FENCED
    assert play.join(leader.member_id, instance="B").answer.error_code is FENCED
    assert play.state == "Stable"


@holds("staticMemberJoinWithUnknownInstanceIdAndKnownMemberId")
def test_join_with_a_member_id_and_an_unknown_instance_id_is_unknown_member_id() -> None:
    play = Play()
    leader, _ = play.static_pair()
    refused = play.join(leader.member_id, instance="C").answer
    assert refused.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.state == "Stable"


@holds("staticMemberRejoinWithLeaderIdAndUnexpectedEmptyGroup")
def test_an_empty_group_knows_a_static_member_neither_by_its_id_nor_by_its_instance_id() -> None:
    play = Play()
    leader, _ = play.static_pair()
    assert play.leave(MemberIdentity("", "A"), MemberIdentity("", "B")) == [NONE] * 2
    assert play.state == "Empty"
    refused = play.join(leader.member_id, instance="A").answer
    assert refused.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.state == "Empty"


@holds("staticMemberSyncAsLeaderWithInvalidMemberId")
def test_who_syncs_under_anothers_instance_id_is_fenced() -> None:
    play = Play()
    play.static_pair()
    assert play.sync("made-up", 1, instance="A").answer.error_code is FENCED


@holds("staticMemberHeartbeatLeaderWithInvalidMemberId")
def test_heartbeat_may_omit_the_instance_id_but_not_use_another_members() -> None:
    play = Play()
    leader, _ = play.static_pair()
    assert play.sync(leader.member_id, 1).answer.error_code is NONE
    assert play.heartbeat(leader.member_id, 1) is NONE
    assert play.heartbeat("made-up", 1, "A") is FENCED


@holds("staticMemberCommitOffsetWithInvalidMemberId")
def test_commit_may_omit_the_instance_id_but_not_use_another_members() -> None:
    play = Play()
    leader, _ = play.static_pair()
    partition = ("payments", 0)
    assert play.commit(leader.member_id, 1, {partition: 7}) is NONE
    assert play.commit("made-up", 1, {partition: 8}, instance="A") is FENCED
    assert play.fetch(partition)[partition].committed_offset == 7


@holds("testLeaveGroupWithFencedInstanceId")
def test_who_names_anothers_instance_id_does_not_make_it_leave() -> None:
    play = Play()
    member = play.first_member(instance="A")
    assert play.leave(MemberIdentity("made-up", "A")) == [FENCED]
    assert play.member_ids == {member.member_id}


@holds("testLeaveGroupStaticMemberWithUnknownMemberId")
def test_a_static_member_is_made_to_leave_by_its_instance_id_alone() -> None:
    play = Play()
    play.first_member(instance="A")
    assert play.leave(MemberIdentity("", "A")) == [NONE]
    assert play.member_ids == set()


@holds("testStaticMembersValidBatchLeaveGroup")
def test_all_static_members_leave_in_one_batch() -> None:
    play = Play()
    play.static_pair()
    assert play.leave(MemberIdentity("", "A"), MemberIdentity("", "B")) == [NONE, NONE]
    assert (play.member_ids, play.state) == (set(), "Empty")


@holds("testStaticMembersFencedInstanceBatchLeaveGroup")
def test_of_a_batch_one_may_be_fenced_and_the_others_leave() -> None:
    play = Play()
    _, follower = play.static_pair()
    left = play.leave(MemberIdentity("", "A"), MemberIdentity("made-up", "B"))
    assert left == [NONE, FENCED]
    assert play.member_ids == {follower.member_id}


@holds("testStaticMembersUnknownInstanceBatchLeaveGroup")
def test_of_a_batch_one_may_be_unknown_and_the_others_leave() -> None:
    play = Play()
    leader, _ = play.static_pair()
    left = play.leave(MemberIdentity("", "C"), MemberIdentity("", "B"))
    assert left == [ErrorCode.UNKNOWN_MEMBER_ID, NONE]
    assert play.member_ids == {leader.member_id}


@holds("testDescribeGroupStableForStaticMember")
def test_a_static_member_is_shown_with_its_instance_id() -> None:
    play = Play()
    member = play.stable_member(instance="A")
    shown = play.describe()
    assert (shown.error_code, shown.group_state) == (NONE, "Stable")
    assert (shown.protocol_type, shown.protocol_data) == ("consumer", COOPERATIVE[0].name)
    assert [(m.member_id, m.group_instance_id) for m in shown.members] == [(member.member_id, "A")]
