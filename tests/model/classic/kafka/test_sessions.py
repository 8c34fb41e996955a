"""Heartbeats, and session timeouts without them."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.vocabulary import ErrorCode
from support.marked_tests import holds
from support.requests import SESSION_MS
from support.scenario import Broker

NEW_MEMBER_MS = 300_000  # GroupCoordinator.NewMemberJoinTimeoutMs


@holds("testHeartbeatRebalanceInProgress", "testHeartbeatDuringRebalanceCausesRebalanceInProgress")
def test_heartbeat_is_accepted_before_the_assignments_and_fails_in_the_next_rebalance() -> None:
    broker = Broker()
    member = broker.first_member()
    assert broker.state == "CompletingRebalance"
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.NONE
    broker.join()
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


@holds("testHeartbeatIllegalGeneration", "testValidHeartbeat")
def test_heartbeat_names_the_current_generation() -> None:
    broker = Broker()
    member = broker.stable_member()
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.NONE
    for other in (-1, 0, 2):
        assert broker.heartbeat(member.member_id, other) is ErrorCode.ILLEGAL_GENERATION


@holds("testSessionTimeout")
def test_a_member_that_is_silent_for_its_session_timeout_is_removed() -> None:
    broker = Broker()
    member = broker.stable_member()
    broker.wait(SESSION_MS - 1)
    assert broker.member_ids == {member.member_id}
    broker.wait(1)
    assert broker.member_ids == set()
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testHeartbeatMaintainsSession", "testCommitMaintainsSession")
@pytest.mark.parametrize("request_name", ["heartbeat", "commit"])
def test_the_session_timer_restarts_with_each_heartbeat_and_commit(request_name: str) -> None:
    broker = Broker()
    member = broker.stable_member()
    send = broker.heartbeat if request_name == "heartbeat" else broker.commit
    for _ in range(3):
        broker.wait(SESSION_MS - 1)
        assert send(member.member_id, 1) is ErrorCode.NONE
    broker.wait(SESSION_MS - 1)
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testSessionTimeoutDuringRebalance")
def test_a_rebalance_does_not_wait_for_a_member_that_expires() -> None:
    broker = Broker()
    silent = broker.stable_member()
    coming = broker.join()
    broker.wait(SESSION_MS - 1)
    assert broker.heartbeat(silent.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    broker.wait(SESSION_MS - 1)
    assert not coming.answered
    broker.wait(1)
    assert broker.heartbeat(silent.member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert coming.answer.error_code is ErrorCode.NONE
    assert broker.member_ids == {coming.answer.member_id}


@holds("testNewMemberTimeoutCompletion")
def test_the_timeout_of_new_members_ends_with_their_first_generation() -> None:
    session_ms = 4 * NEW_MEMBER_MS
    broker = Broker()
    member = broker.stable_member(session_ms=session_ms)
    assert not broker.group.members[0].is_new
    broker.wait(session_ms - 1)
    assert broker.member_ids == {member.member_id}
    broker.wait(1)
    assert broker.member_ids == set()


@holds("testNewMemberJoinExpiration")
def test_a_new_member_waits_five_minutes_for_its_first_generation() -> None:
    long_ms: dict[str, Any] = {"session_ms": 2 * NEW_MEMBER_MS, "rebalance_ms": 2 * NEW_MEMBER_MS}
    broker = Broker()
    first = broker.first_member(**long_ms)
    late = broker.join(**long_ms)
    assert {m.is_new for m in broker.group.members if m.member_id != first.member_id} == {True}
    broker.wait(NEW_MEMBER_MS - 1)
    assert not late.answered
    assert len(broker.member_ids) == 2
    broker.wait(1)
    assert late.answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.member_ids == {first.member_id}
    assert not broker.group.members[0].is_new


@holds(
    "testNewMemberFailureAfterJoinGroupCompletion", "testNewMemberFailureAfterSyncGroupCompletion"
)
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_an_admitted_new_member_expires_like_any_other(state: str) -> None:
    broker = Broker()
    leader, follower = broker.pair()
    if state == "Stable":
        waiting = broker.sync(follower.member_id, 2)
        assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
        assert broker.sync(leader.member_id, 2, assignments).answer.error_code is ErrorCode.NONE
        assert waiting.answer.error_code is ErrorCode.NONE
    broker.wait(SESSION_MS - 1)
    assert broker.member_ids == {leader.member_id, follower.member_id}
    broker.wait(1)
    assert (broker.member_ids, broker.state) == (set(), "Empty")


@holds("testCompleteHeartbeatWithMemberAlreadyRemoved")
def test_the_session_timer_of_a_member_that_has_left_does_nothing() -> None:
    broker = Broker()
    leader, follower = broker.pair()
    broker.sync(leader.member_id, 2)
    assert broker.leave(leader.member_id) == [ErrorCode.NONE]
    again = broker.join(follower.member_id).answer
    assert again.generation_id == 3
    broker.sync(follower.member_id, 3)
    broker.wait(SESSION_MS // 2)
    assert broker.heartbeat(follower.member_id, 3) is ErrorCode.NONE
    broker.wait(SESSION_MS - 1)  # past the end of the leader's session
    assert broker.heartbeat(follower.member_id, 3) is ErrorCode.NONE
    assert broker.generation_id == 3
