"""A broker that does not own the partition of the group, or is loading it."""

from __future__ import annotations

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import Load, Loading, Unload
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from support.marked_tests import holds
from support.requests import SESSION_MS
from support.scenario import Broker

INSTANCES = (MemberIdentity("", "A"), MemberIdentity("", "B"))


def _join(broker: Broker, member_id: str = "", instance: str | None = None) -> ErrorCode:
    return broker.join(member_id, instance=instance).answer.error_code


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
    broker = Broker()
    broker.do(Unload())
    expected = ErrorCode.NOT_COORDINATOR
    assert _join(broker) is expected
    assert _join(broker, instance="A") is expected
    assert broker.sync("somebody", 1).answer.error_code is expected
    assert broker.heartbeat("somebody", -1) is expected
    for members in ((MemberIdentity("somebody"),), INSTANCES):
        left = broker.send(kafka.LeaveGroupRequest(GROUP_ID, members), 4).answer
        assert left == kafka.LeaveGroupResponse(expected)
    fetched = broker.send(kafka.OffsetFetchRequest(GROUP_ID), 7).answer
    assert fetched == kafka.OffsetFetchResponse(expected)
    assert broker.describe().error_code is expected
    assert broker.delete_group() is expected


@holds("testRequestHandlingWhileLoadingInProgress")
def test_requests_fail_while_the_group_is_loading_and_succeed_afterwards() -> None:
    broker = Broker()
    broker.do(Loading())
    expected = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert _join(broker, "somebody") is expected
    assert _join(broker, "somebody", "A") is expected
    assert broker.sync("somebody", 1).answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.commit("somebody", 1) is expected
    assert broker.heartbeat("somebody", 1) is ErrorCode.NONE
    assert broker.describe().error_code is expected
    listed = broker.send(kafka.ListGroupsRequest(), 4).answer
    assert listed == kafka.ListGroupsResponse(expected)
    assert broker.delete_group() is expected
    broker.do(Load())
    assert broker.describe().error_code is ErrorCode.NONE


@holds("testCompleteHeartbeatWithGroupDead")
def test_no_timer_of_an_unloaded_group_fires() -> None:
    broker = Broker()
    broker.static_pair()
    broker.do(Unload())
    before = broker.branches
    broker.wait(SESSION_MS)
    assert broker.branches == before
