"""A broker that does not own the partition of the group, or is loading it."""

from __future__ import annotations

from groupcheck.model.instances.inputs import GROUP_ID
from groupcheck.model.state import Load, Loading, Unload
from groupcheck.model.vocabulary import (
    ErrorCode,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberIdentity,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from support.marked_tests import holds
from support.offsets import delete_group
from support.play import SESSION_MS, Play

INSTANCES = (MemberIdentity("", "A"), MemberIdentity("", "B"))


def _join(play: Play, member_id: str = "", instance: str | None = None) -> ErrorCode:
    return play.join(member_id, instance=instance).answer.error_code


@holds(
    "testJoinGroupWrongCoordinator",
    "testSyncGroupNotCoordinator",
    "testHeartbeatWrongCoordinator",
    "testLeaveGroupWrongCoordinator",
    "testStaticMembersWrongCoordinatorBatchLeaveGroup",
    "testFetchOffsetNotCoordinatorForGroup",
    "testDescribeGroupWrongCoordinator",
    "testDeleteGroupWithWrongCoordinator",
)
def test_every_request_to_another_coordinator_returns_not_coordinator() -> None:
    play = Play()
    play.do(Unload())
    expected = ErrorCode.NOT_COORDINATOR
    assert _join(play) is expected
    assert _join(play, instance="A") is expected
    assert play.sync("somebody", 1).answer.error_code is expected
    assert play.heartbeat("somebody", -1) is expected
    for members in ((MemberIdentity("somebody"),), INSTANCES):
        left = play.send(4, LeaveGroupRequest(GROUP_ID, members)).answer
        assert left == LeaveGroupResponse(expected)
    fetched = play.send(7, OffsetFetchRequest(GROUP_ID)).answer
    assert fetched == OffsetFetchResponse(expected)
    assert play.describe().error_code is expected
    assert delete_group(play) is expected


@holds("testRequestHandlingWhileLoadingInProgress")
def test_requests_fail_while_the_group_is_loading_and_succeed_afterwards() -> None:
    play = Play()
    play.do(Loading())
    expected = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert _join(play, "somebody") is expected
    assert _join(play, "somebody", "A") is expected
    assert play.sync("somebody", 1).answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert play.commit("somebody", 1) is expected
    assert play.heartbeat("somebody", 1) is ErrorCode.NONE
    assert play.describe().error_code is expected
    listed = play.send(4, ListGroupsRequest()).answer
    assert listed == ListGroupsResponse(expected)
    assert delete_group(play) is expected
    play.do(Load())
    assert play.describe().error_code is ErrorCode.NONE


@holds("testCompleteHeartbeatWithGroupDead")
def test_no_timer_of_an_unloaded_group_fires() -> None:
    play = Play()
    play.static_pair()
    play.do(Unload())
    before = play.worlds
    play.wait(SESSION_MS)
    assert play.worlds == before
