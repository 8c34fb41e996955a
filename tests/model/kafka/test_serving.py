"""Kafka's tests of a coordinator that does not serve the group."""

from __future__ import annotations

from typing import Any

from groupcheck.model.state import Load, Loading, Unload
from groupcheck.model.vocabulary import (
    DescribeGroupsRequest,
    ErrorCode,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from support.kafka_tests import holds
from support.play import GROUP_ID, PARTITION, Call, Play

FETCH = OffsetFetchRequest(GROUP_ID, (OffsetFetchRequestTopic(PARTITION[0], (PARTITION[1],)),))


def _leave(*members: MemberIdentity) -> LeaveGroupRequest:
    return LeaveGroupRequest(GROUP_ID, members)


@holds("testRequestHandlingWhileLoadingInProgress")
def test_while_the_group_is_loaded_heartbeats_are_answered_blindly_and_after_it_all_as_ever() -> (
    None
):
    play = Play()
    play.do(Loading())
    assert play.join().answer.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert play.sync("nobody", 1).answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert play.commit() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert play.heartbeat("nobody", 1) is ErrorCode.NONE
    describe: Call[Any] = play.send(5, DescribeGroupsRequest((GROUP_ID,)))
    assert describe.answer.groups[0].error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    play.do(Load())
    assert play.heartbeat("nobody", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.describe().group_state == "Dead"


@holds(
    "testJoinGroupWrongCoordinator",
    "testHeartbeatWrongCoordinator",
    "testSyncGroupNotCoordinator",
    "testFetchOffsetNotCoordinatorForGroup",
    "testLeaveGroupWrongCoordinator",
    "testDescribeGroupWrongCoordinator",
)
def test_every_request_is_sent_elsewhere_by_a_broker_that_does_not_own_the_group() -> None:
    play = Play()
    play.do(Unload())
    assert play.join().answer.error_code is ErrorCode.NOT_COORDINATOR
    assert play.heartbeat("nobody", 1) is ErrorCode.NOT_COORDINATOR
    assert play.sync("nobody", 1).answer.error_code is ErrorCode.NOT_COORDINATOR
    fetched: Call[Any] = play.send(7, FETCH)
    assert fetched.answer.error_code is ErrorCode.NOT_COORDINATOR
    assert fetched.answer.topics == ()
    left: Call[Any] = play.send(4, _leave(MemberIdentity("nobody")))
    assert left.answer.error_code is ErrorCode.NOT_COORDINATOR
    described: Call[Any] = play.send(5, DescribeGroupsRequest((GROUP_ID,)))
    assert described.answer.groups[0].error_code is ErrorCode.NOT_COORDINATOR


@holds("testStaticMembersWrongCoordinatorBatchLeaveGroup")
def test_a_batch_of_static_members_is_sent_elsewhere_as_a_whole() -> None:
    play = Play()
    play.do(Unload())
    batch = _leave(MemberIdentity("nobody", "A"), MemberIdentity("", "B"))
    left: Call[Any] = play.send(4, batch)
    assert (left.answer.error_code, left.answer.members) == (ErrorCode.NOT_COORDINATOR, ())


@holds("testCompleteHeartbeatWithGroupDead")
def test_a_session_timer_of_a_group_that_was_unloaded_comes_to_nothing() -> None:
    play = Play()
    play.stable_member()
    play.do(Unload())
    play.wait(10_000_000)
    assert not play.exists
