"""Requests on which Kafka throws: clients get an unknown server error."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import GROUP_ID
from groupcheck.model.state import FailAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from support.marked_tests import holds
from support.play import COOPERATIVE, SEVERAL, Play


@holds("staticMemberJoinWithIllegalStateAsPendingMember")
def test_kafka_fails_when_a_pending_id_joins_with_an_instance() -> None:
    play = Play()
    pending = play.join(id_required=True).answer
    failed = play.join(pending.member_id, instance="A").answer
    assert failed == JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert play.pending_ids == {pending.member_id}


@holds(
    "staticMemberLeaveWithIllegalStateAsPendingMember",
    "testPendingMemberWithUnexpectedInstanceIdBatchLeaveGroup",
)
@pytest.mark.parametrize("others", [(), (MemberIdentity("", "nobody's"),)], ids=["alone", "batch"])
def test_kafka_fails_when_a_pending_id_leaves_with_an_instance(
    others: tuple[MemberIdentity, ...],
) -> None:
    play = Play()
    pending = play.join(id_required=True).answer
    batch = (*others, MemberIdentity(pending.member_id, "A"))
    failed = play.send(4, LeaveGroupRequest(GROUP_ID, batch)).answer
    assert failed == LeaveGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert play.pending_ids == {pending.member_id}


@holds("staticMemberReJoinWithIllegalArgumentAsMissingOldMember")
def test_kafka_fails_when_an_instance_id_rejoins_whose_member_was_rejected_without_it() -> None:
    play = Play(group_max_size=2)
    leader, follower = play.static_pair()
    play.join(leader.member_id, instance="A", protocols=SEVERAL)
    third = play.join()
    assert play.state == "PreparingRebalance"
    rejected = play.join(follower.member_id).answer  # two others wait already
    assert rejected.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert play.member_ids == {leader.member_id, third.answer.member_id}
    assert play.leave(third.answer.member_id) == [ErrorCode.NONE]
    failed = play.join(instance="B").answer
    assert failed == JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)


@holds(
    "staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchangedPersistenceFailure"
)
def test_restart_whose_new_id_fails_to_append_fails_and_the_old_id_stays_valid() -> None:
    play = Play()
    leader, follower = play.static_pair()
    play.do(FailAppends(1, ErrorCode.MESSAGE_TOO_LARGE))
    failed = play.join(instance="B", protocols=COOPERATIVE).answer
    assert failed == JoinGroupResponse(
        ErrorCode.UNKNOWN_SERVER_ERROR, 1, "consumer", "cooperative", leader.member_id
    )
    assert play.state == "Stable"
    old = play.join(follower.member_id, instance="B", protocols=COOPERATIVE).answer
    assert (old.error_code, old.generation_id) == (ErrorCode.NONE, 1)
    synced = play.sync(follower.member_id, 1, instance="B").answer
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"odd")
