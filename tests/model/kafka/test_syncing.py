"""SyncGroup: assignments, who waits for them, and who is refused."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, SyncGroupResponse
from support.kafka_tests import holds
from support.play import COOPERATIVE, SESSION_MS, Play

PROTOCOL = COOPERATIVE[0].name


@holds("testSyncGroupEmptyAssignment")
def test_a_member_that_the_leader_assigns_nothing_gets_nothing_and_stays() -> None:
    play = Play()
    member = play.first_member()
    synced = play.sync(member.member_id, 1, {}).answer
    assert synced.error_code is ErrorCode.NONE
    assert synced.assignment == b""
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testSyncGroupFromUnknownGroup")
def test_a_group_that_is_not_there_knows_no_member_to_sync() -> None:
    play = Play()
    assert play.sync("somebody", 1).answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert not play.exists


@holds("testSyncGroupFromUnknownMember")
def test_unknown_member_id_cannot_sync() -> None:
    play = Play()
    play.stable_member()
    assert play.sync("made-up", 1).answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testSyncGroupFromIllegalGeneration")
@pytest.mark.parametrize("generation_id", [-1, 0, 2])
def test_the_leader_of_another_generation_assigns_nothing(generation_id: int) -> None:
    play = Play()
    member = play.first_member()
    refused = play.sync(member.member_id, generation_id, {member.member_id: b"all"}).answer
    assert refused.error_code is ErrorCode.ILLEGAL_GENERATION
    assert play.state == "CompletingRebalance"


@holds("testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent")
@pytest.mark.parametrize("protocol_name", [PROTOCOL, None])
def test_a_sync_that_names_another_protocol_type_is_refused(protocol_name: str | None) -> None:
    play = Play()
    for member in play.pair():
        call = play.sync(member.member_id, 2, protocol_type="connect", protocol_name=protocol_name)
        assert call.answer == SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@holds("testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent")
@pytest.mark.parametrize("protocol_type", ["consumer", None])
def test_a_sync_that_names_another_protocol_is_refused(protocol_type: str | None) -> None:
    play = Play()
    for member in play.pair():
        call = play.sync(member.member_id, 2, protocol_type=protocol_type, protocol_name="sticky")
        assert call.answer == SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@holds(
    "testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided",
    "testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent",
)
@pytest.mark.parametrize("named", [("consumer", PROTOCOL), (None, None)])
def test_a_sync_is_answered_with_type_and_protocol_whether_it_names_them_or_not(
    named: tuple[str | None, str | None],
) -> None:
    play = Play()
    protocol_type, protocol_name = named
    for member in play.pair():
        synced = play.sync(
            member.member_id, 2, protocol_type=protocol_type, protocol_name=protocol_name
        ).answer
        assert synced == SyncGroupResponse(ErrorCode.NONE, "consumer", PROTOCOL)


@holds("testLeaderFailureInSyncGroup")
def test_a_follower_whose_leader_expires_before_assigning_is_sent_to_join_again() -> None:
    play = Play()
    leader, follower = play.pair()
    waiting = play.sync(follower.member_id, 2)
    play.wait(SESSION_MS - 1)
    assert not waiting.answered
    play.wait(1)
    assert waiting.answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert leader.member_id not in play.member_ids


@holds("testSyncGroupFollowerAfterLeader")
def test_a_follower_that_comes_after_the_leader_gets_its_assignment_at_once() -> None:
    play = Play()
    leader, follower = play.pair()
    assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
    led = play.sync(leader.member_id, 2, assignments).answer
    assert (led.error_code, led.assignment) == (ErrorCode.NONE, b"even")
    followed = play.sync(follower.member_id, 2).answer
    assert (followed.error_code, followed.assignment) == (ErrorCode.NONE, b"odd")


@holds("testSyncGroupLeaderAfterFollower")
def test_a_follower_that_comes_before_the_leader_waits_for_its_assignment() -> None:
    play = Play()
    leader, follower = play.pair()
    followed = play.sync(follower.member_id, 2)
    assert not followed.answered
    assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
    led = play.sync(leader.member_id, 2, assignments).answer
    assert (led.error_code, led.assignment) == (ErrorCode.NONE, b"even")
    assert (followed.answer.error_code, followed.answer.assignment) == (ErrorCode.NONE, b"odd")
