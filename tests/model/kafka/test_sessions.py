"""Heartbeats, and how long a member lives without them."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.vocabulary import ErrorCode
from support.marked_tests import holds
from support.play import SESSION_MS, Play

NEW_MEMBER_MS = 300_000  # GroupCoordinator.NewMemberJoinTimeoutMs


@holds("testHeartbeatRebalanceInProgress", "testHeartbeatDuringRebalanceCausesRebalanceInProgress")
def test_heartbeat_is_accepted_before_the_assignments_and_fails_in_the_next_rebalance() -> None:
    play = Play()
    member = play.first_member()
    assert play.state == "CompletingRebalance"
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE
    play.join()
    assert play.heartbeat(member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


@holds("testHeartbeatIllegalGeneration", "testValidHeartbeat")
def test_heartbeat_names_the_current_generation() -> None:
    play = Play()
    member = play.stable_member()
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE
    for other in (-1, 0, 2):
        assert play.heartbeat(member.member_id, other) is ErrorCode.ILLEGAL_GENERATION


@holds("testSessionTimeout")
def test_a_member_that_is_silent_for_its_session_timeout_is_removed() -> None:
    play = Play()
    member = play.stable_member()
    play.wait(SESSION_MS - 1)
    assert play.member_ids == {member.member_id}
    play.wait(1)
    assert play.member_ids == set()
    assert play.heartbeat(member.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testHeartbeatMaintainsSession", "testCommitMaintainsSession")
@pytest.mark.parametrize("request_name", ["heartbeat", "commit"])
def test_the_session_timer_restarts_with_each_heartbeat_and_commit(request_name: str) -> None:
    play = Play()
    member = play.stable_member()
    send = play.heartbeat if request_name == "heartbeat" else play.commit
    for _ in range(3):
        play.wait(SESSION_MS - 1)
        assert send(member.member_id, 1) is ErrorCode.NONE
    play.wait(SESSION_MS - 1)
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testSessionTimeoutDuringRebalance")
def test_a_rebalance_does_not_wait_for_a_member_that_expires() -> None:
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
    member = play.stable_member(session_ms=session_ms)
    assert not play.group.members[0].is_new
    play.wait(session_ms - 1)
    assert play.member_ids == {member.member_id}
    play.wait(1)
    assert play.member_ids == set()


@holds("testNewMemberJoinExpiration")
def test_a_new_member_waits_five_minutes_for_its_first_generation() -> None:
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
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_an_admitted_new_member_expires_like_any_other(state: str) -> None:
    play = Play()
    leader, follower = play.pair()
    if state == "Stable":
        waiting = play.sync(follower.member_id, 2)
        assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
        assert play.sync(leader.member_id, 2, assignments).answer.error_code is ErrorCode.NONE
        assert waiting.answer.error_code is ErrorCode.NONE
    play.wait(SESSION_MS - 1)
    assert play.member_ids == {leader.member_id, follower.member_id}
    play.wait(1)
    assert (play.member_ids, play.state) == (set(), "Empty")


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
    play.wait(SESSION_MS - 1)  # past the end of the leader's session
    assert play.heartbeat(follower.member_id, 3) is ErrorCode.NONE
    assert play.generation_id == 3
