"""Heartbeats, and how long a member lives without them."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.vocabulary import ErrorCode
from support.kafka_tests import holds
from support.play import SESSION_MS, Play

NEW_MEMBER_MS = 300_000  # GroupCoordinator.NewMemberJoinTimeoutMs


@holds("testHeartbeatUnknownGroup")
def test_a_group_that_is_not_there_knows_no_member_to_be_alive() -> None:
    assert Play().heartbeat("somebody", -1) is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testheartbeatEmptyGroup")
def test_an_empty_group_knows_no_member_to_be_alive() -> None:
    play = Play()
    member = play.stable_member()
    play.leave(member.member_id)
    assert play.state == "Empty"
    for generation_id in (0, 1, 2):
        answer = play.heartbeat(member.member_id, generation_id)
        assert answer is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testHeartbeatUnknownConsumerExistingGroup")
def test_heartbeat_of_an_unknown_member_id_fails() -> None:
    play = Play()
    play.stable_member()
    assert play.heartbeat("made-up", 1) is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testHeartbeatRebalanceInProgress")
def test_a_member_that_has_no_assignment_yet_may_say_that_it_is_alive() -> None:
    play = Play()
    member = play.first_member()
    assert play.state == "CompletingRebalance"
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testHeartbeatIllegalGeneration", "testValidHeartbeat")
def test_a_member_is_alive_in_its_own_generation_only() -> None:
    play = Play()
    member = play.stable_member()
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE
    for other in (-1, 0, 2):
        assert play.heartbeat(member.member_id, other) is ErrorCode.ILLEGAL_GENERATION


@holds("testHeartbeatDuringRebalanceCausesRebalanceInProgress")
def test_a_member_learns_from_its_heartbeat_that_it_has_to_join_again() -> None:
    play = Play()
    member = play.first_member()
    play.join()
    assert play.heartbeat(member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


@holds("testSessionTimeout")
def test_a_member_that_is_silent_for_its_session_timeout_is_gone() -> None:
    play = Play()
    member = play.stable_member()
    play.wait(SESSION_MS - 1)
    assert play.member_ids == {member.member_id}
    play.wait(1)
    assert play.member_ids == set()
    assert play.heartbeat(member.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testHeartbeatMaintainsSession")
def test_a_heartbeat_keeps_a_member_alive_for_another_session_timeout() -> None:
    play = Play()
    member = play.stable_member()
    for _ in range(3):
        play.wait(SESSION_MS - 1)
        assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testCommitMaintainsSession")
def test_a_commit_keeps_a_member_alive_for_another_session_timeout() -> None:
    play = Play()
    member = play.stable_member()
    for _ in range(3):
        play.wait(SESSION_MS - 1)
        assert play.commit(member.member_id, 1) is ErrorCode.NONE
    play.wait(SESSION_MS - 1)
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testSessionTimeoutDuringRebalance")
def test_a_member_that_expires_during_a_rebalance_is_not_waited_for() -> None:
    play = Play()
    silent = play.stable_member()
    coming = play.join()
    play.wait(SESSION_MS - 1)
    assert play.heartbeat(silent.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    play.wait(SESSION_MS - 1)
    assert not coming.answered
    play.wait(1)
    assert play.heartbeat(silent.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert coming.answer.error_code is ErrorCode.NONE
    assert play.member_ids == {coming.answer.member_id}


@holds("testNewMemberTimeoutCompletion")
def test_the_timeout_of_new_members_ends_with_their_first_generation() -> None:
    session_ms = 4 * NEW_MEMBER_MS
    play = Play()
    member = play.first_member(session_ms=session_ms)
    assert not play.group.members[0].is_new
    synced = play.sync(member.member_id, 1, {member.member_id: b"all"})
    assert synced.answer.error_code is ErrorCode.NONE
    play.wait(session_ms - 1)
    assert play.member_ids == {member.member_id}
    play.wait(1)
    assert play.member_ids == set()


@holds("testNewMemberJoinExpiration")
def test_a_new_member_does_not_wait_for_ever_for_its_first_generation() -> None:
    long_ms: dict[str, Any] = {"session_ms": 2 * NEW_MEMBER_MS, "rebalance_ms": 2 * NEW_MEMBER_MS}
    play = Play()
    first = play.first_member(**long_ms)
    late = play.join(**long_ms)
    assert {m.is_new for m in play.group.members if m.member_id != first.member_id} == {True}
    play.wait(NEW_MEMBER_MS - 1)
    assert not late.answered
    assert len(play.member_ids) == 2
    play.wait(1)
    assert late.answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.member_ids == {first.member_id}
    assert not play.group.members[0].is_new


@holds(
    "testNewMemberFailureAfterJoinGroupCompletion", "testNewMemberFailureAfterSyncGroupCompletion"
)
@pytest.mark.parametrize("synced", [False, True], ids=["joined", "synced"])
def test_once_admitted_a_new_member_expires_as_any_other(
    synced: bool,  # noqa: FBT001 - a parameter of pytest's
) -> None:
    play = Play()
    leader, follower = play.pair()
    if synced:
        waiting = play.sync(follower.member_id, 2)
        assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
        assert play.sync(leader.member_id, 2, assignments).answer.error_code is ErrorCode.NONE
        assert waiting.answer.error_code is ErrorCode.NONE
    play.wait(SESSION_MS - 1)
    assert play.member_ids == {leader.member_id, follower.member_id}
    play.wait(1)
    assert play.member_ids == set()
    assert play.state == "Empty"


@holds("testCompleteHeartbeatWithMemberAlreadyRemoved")
def test_the_session_timer_of_a_member_that_has_left_does_nothing() -> None:
    play = Play()
    leader, follower = play.pair()
    play.sync(leader.member_id, 2)
    assert play.leave(leader.member_id) == [ErrorCode.NONE]
    again = play.join(follower.member_id).answer
    assert again.generation_id == 3
    play.sync(follower.member_id, 3)
    play.wait(SESSION_MS // 2)
    assert play.heartbeat(follower.member_id, 3) is ErrorCode.NONE
    play.wait(SESSION_MS - 1)  # by now the leader's would have come to its end
    assert play.heartbeat(follower.member_id, 3) is ErrorCode.NONE
    assert play.generation_id == 3
