"""Requests of a group that does not exist, of unknown members, and of members that leave."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import DescribedGroup, ErrorCode, MemberIdentity
from support.marked_tests import holds
from support.offsets import txn_commit
from support.play import Play

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
    play = Play()
    assert play.join("made-up", instance=instance).answer.error_code is UNKNOWN
    assert play.sync("made-up", 1).answer.error_code is UNKNOWN
    assert play.heartbeat("made-up", -1) is UNKNOWN
    assert play.leave("made-up") == [UNKNOWN]
    assert play.leave(MemberIdentity("", "A"), MemberIdentity("", "B")) == [UNKNOWN] * 2
    assert play.commit("made-up", 7) is ErrorCode.ILLEGAL_GENERATION
    assert play.describe() == DescribedGroup(ErrorCode.NONE, GROUP_ID, "Dead")
    assert not play.exists


@holds(
    "testSyncGroupFromUnknownMember",
    "testHeartbeatUnknownConsumerExistingGroup",
    "testLeaveGroupUnknownConsumerExistingGroup",
    "testTxnCommitOffsetWithInvalidMemberId",
)
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_every_request_with_an_unknown_member_id_fails(state: str) -> None:
    play = Play()
    member = play.stable_member() if state == "Stable" else play.first_member()
    assert play.sync("made-up", 1).answer.error_code is UNKNOWN
    assert play.heartbeat("made-up", 1) is UNKNOWN
    assert play.leave("made-up") == [UNKNOWN]
    assert txn_commit(play, member_id="made-up") is UNKNOWN
    assert (play.state, play.member_ids) == (state, {member.member_id})


@holds("testValidLeaveGroup", "testheartbeatEmptyGroup")
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_the_group_is_empty_when_its_last_member_leaves(state: str) -> None:
    play = Play()
    member = play.stable_member() if state == "Stable" else play.first_member()
    assert play.leave(member.member_id) == [ErrorCode.NONE]
    assert (play.state, play.member_ids) == ("Empty", set())
    for generation_id in (0, 1, 2):
        assert play.heartbeat(member.member_id, generation_id) is UNKNOWN
