"""Ids that were given out with MEMBER_ID_REQUIRED, and what the group makes of them."""

from __future__ import annotations

from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from support.kafka_tests import holds
from support.play import SESSION_MS, Play

SHORT_MS = 7_000


def _rebalance_that_waits_for_a_pending_member() -> tuple[Play, str]:
    """Both members of a group have joined again, and the id given out meanwhile is waited for."""
    play = Play()
    leader, follower = play.pair()
    play.sync(leader.member_id, 2)
    play.sync(follower.member_id, 2)
    play.join(leader.member_id)
    pending = play.join(session_ms=SHORT_MS, id_required=True).answer
    assert pending.error_code is ErrorCode.MEMBER_ID_REQUIRED
    play.join(follower.member_id)
    assert play.pending_ids == {pending.member_id}
    assert play.state == "PreparingRebalance"
    return play, pending.member_id


@holds("testSecondMemberPartiallyJoinAndTimeout")
def test_an_id_that_is_not_used_in_time_is_forgotten_and_a_stable_group_stays_stable() -> None:
    play = Play()
    member = play.stable_member(session_ms=SESSION_MS)
    pending = play.join(session_ms=SHORT_MS, id_required=True).answer
    assert pending.error_code is ErrorCode.MEMBER_ID_REQUIRED
    play.wait(SHORT_MS - 1)
    assert play.heartbeat(member.member_id, 1) is ErrorCode.NONE
    assert (play.state, play.pending_ids) == ("Stable", {pending.member_id})
    play.wait(1)
    assert (play.state, play.pending_ids) == ("Stable", set())
    assert play.member_ids == {member.member_id}


@holds("testJoinGroupCompletionWhenPendingMemberJoins")
def test_the_join_phase_ends_when_the_pending_member_joins() -> None:
    play, pending_id = _rebalance_that_waits_for_a_pending_member()
    joined = play.join(pending_id, session_ms=SHORT_MS).answer
    assert joined.error_code is ErrorCode.NONE
    assert play.state == "CompletingRebalance"
    assert len(play.member_ids) == 3
    assert play.pending_ids == set()


@holds("testJoinGroupCompletionWhenPendingMemberTimesOut")
def test_the_join_phase_ends_when_the_pending_member_does_not_come_in_time() -> None:
    play, pending_id = _rebalance_that_waits_for_a_pending_member()
    play.wait(SHORT_MS - 1)
    assert play.state == "PreparingRebalance"
    play.wait(1)
    assert play.state == "CompletingRebalance"
    assert len(play.member_ids) == 2
    assert pending_id not in play.member_ids | play.pending_ids


@holds("testPendingMembersLeavesGroup")
def test_the_join_phase_ends_when_the_pending_member_leaves() -> None:
    play, pending_id = _rebalance_that_waits_for_a_pending_member()
    assert play.leave(pending_id) == [ErrorCode.NONE]
    assert play.state == "CompletingRebalance"
    assert len(play.member_ids) == 2
    assert play.pending_ids == set()


@holds("testPendingMemberBatchLeaveGroup")
def test_pending_member_leaves_in_a_batch_with_an_unknown_member() -> None:
    play, pending_id = _rebalance_that_waits_for_a_pending_member()
    left = play.leave(MemberIdentity("", "no such instance"), pending_id)
    assert left == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert play.pending_ids == set()
