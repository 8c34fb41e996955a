"""Requests of a group that does not exist, of unknown members, and of members that leave."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import DescribedGroup, ErrorCode, MemberIdentity
from support.marked_tests import holds
from support.scenario import Broker

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@holds(
    "testJoinGroupUnknownConsumerNewGroup",
    "testSyncGroupFromUnknownGroup",
    "testHeartbeatUnknownGroup",
    "testLeaveGroupUnknownGroup",
    "testStaticMembersUnknownGroupBatchLeaveGroup",
    "testCommitOffsetFromUnknownGroup",
    "testDescribeGroupInactiveGroup",
)
@pytest.mark.parametrize("instance", [None, "A"])
def test_no_request_with_a_member_id_creates_a_group(instance: str | None) -> None:
    broker = Broker()
    assert broker.join("made-up", instance=instance).answer.error_code is UNKNOWN
    assert broker.sync("made-up", 1).answer.error_code is UNKNOWN
    assert broker.heartbeat("made-up", -1) is UNKNOWN
    assert broker.leave("made-up") == [UNKNOWN]
    assert broker.leave(MemberIdentity("", "A"), MemberIdentity("", "B")) == [UNKNOWN] * 2
    assert broker.commit("made-up", 7) is ErrorCode.ILLEGAL_GENERATION
    assert broker.describe() == DescribedGroup(ErrorCode.NONE, GROUP_ID, "Dead")
    assert not broker.exists


@holds(
    "testSyncGroupFromUnknownMember",
    "testHeartbeatUnknownConsumerExistingGroup",
    "testLeaveGroupUnknownConsumerExistingGroup",
    "testTxnCommitOffsetWithInvalidMemberId",
)
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_every_request_with_an_unknown_member_id_fails(state: str) -> None:
    broker = Broker()
    member = broker.stable_member() if state == "Stable" else broker.first_member()
    assert broker.sync("made-up", 1).answer.error_code is UNKNOWN
    assert broker.heartbeat("made-up", 1) is UNKNOWN
    assert broker.leave("made-up") == [UNKNOWN]
    assert broker.txn_commit(member_id="made-up") is UNKNOWN
    assert (broker.state, broker.member_ids) == (state, {member.member_id})


@holds("testValidLeaveGroup", "testheartbeatEmptyGroup")
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_the_group_is_empty_when_its_last_member_leaves(state: str) -> None:
    broker = Broker()
    member = broker.stable_member() if state == "Stable" else broker.first_member()
    assert broker.leave(member.member_id) == [ErrorCode.NONE]
    assert (broker.state, broker.member_ids) == ("Empty", set())
    for generation_id in (0, 1, 2):
        assert broker.heartbeat(member.member_id, generation_id) is UNKNOWN
