"""Requests on which Kafka throws: clients get an unknown server error."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import FailAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from support.marked_tests import holds
from support.scenario import COOPERATIVE, SEVERAL, Broker


@holds("staticMemberJoinWithIllegalStateAsPendingMember")
def test_kafka_fails_when_a_pending_id_joins_with_an_instance() -> None:
    broker = Broker()
    pending = broker.join(id_required=True).answer
    failed = broker.join(pending.member_id, instance="A").answer
    assert failed == JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert broker.pending_ids == {pending.member_id}


@holds(
    "staticMemberLeaveWithIllegalStateAsPendingMember",
    "testPendingMemberWithUnexpectedInstanceIdBatchLeaveGroup",
)
@pytest.mark.parametrize("others", [(), (MemberIdentity("", "nobody's"),)], ids=["alone", "batch"])
def test_kafka_fails_when_a_pending_id_leaves_with_an_instance(
    others: tuple[MemberIdentity, ...],
) -> None:
    broker = Broker()
    pending = broker.join(id_required=True).answer
    batch = (*others, MemberIdentity(pending.member_id, "A"))
    failed = broker.send(LeaveGroupRequest(GROUP_ID, batch), 4).answer
    assert failed == LeaveGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert broker.pending_ids == {pending.member_id}


@holds("staticMemberReJoinWithIllegalArgumentAsMissingOldMember")
def test_kafka_fails_when_an_instance_id_rejoins_whose_member_was_rejected_without_it() -> None:
    broker = Broker(group_max_size=2)
    leader, follower = broker.static_pair()
    broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    third = broker.join()
    assert broker.state == "PreparingRebalance"
    rejected = broker.join(follower.member_id).answer  # two others wait already
    assert rejected.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert broker.member_ids == {leader.member_id, third.answer.member_id}
    assert broker.leave(third.answer.member_id) == [ErrorCode.NONE]
    failed = broker.join(instance="B").answer
    assert failed == JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)


@holds(
    "staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchangedPersistenceFailure"
)
def test_restart_whose_new_id_fails_to_append_fails_and_the_old_id_stays_valid() -> None:
    broker = Broker()
    leader, follower = broker.static_pair()
    broker.do(FailAppends(1, ErrorCode.MESSAGE_TOO_LARGE))
    failed = broker.join(instance="B", protocols=COOPERATIVE).answer
    assert failed == JoinGroupResponse(
        ErrorCode.UNKNOWN_SERVER_ERROR, 1, "consumer", "cooperative", leader.member_id
    )
    assert broker.state == "Stable"
    old = broker.join(follower.member_id, instance="B", protocols=COOPERATIVE).answer
    assert (old.error_code, old.generation_id) == (ErrorCode.NONE, 1)
    synced = broker.sync(follower.member_id, 1, instance="B").answer
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"odd")
