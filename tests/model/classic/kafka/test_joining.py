"""JoinGroup: which members are admitted or rejected, and what starts a rebalance."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, Protocol
from support.marked_tests import holds
from support.requests import SESSION_MS
from support.scenario import COOPERATIVE, DELAY_MS, SEVERAL, Broker

OTHER = (Protocol("sticky", b"topics"),)
LIMITS = {"group_min_session_timeout_ms": 7_000, "group_max_session_timeout_ms": 90_000}
SHORT_MS = 7_000
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@holds("testJoinGroupSessionTimeoutTooSmall", "testJoinGroupSessionTimeoutTooLarge")
def test_the_session_timeout_is_within_the_limits_of_the_broker() -> None:
    broker = Broker(**LIMITS)
    for rejected_ms in (6_999, 90_001):
        rejected = broker.join(session_ms=rejected_ms).answer
        assert rejected.error_code is ErrorCode.INVALID_SESSION_TIMEOUT
    assert not broker.exists
    for allowed_ms in (7_000, 90_000):
        assert not broker.join(session_ms=allowed_ms).answered


@holds("testInvalidGroupId")
def test_join_without_a_group_id_fails() -> None:
    assert Broker().join(group_id="").answer.error_code is ErrorCode.INVALID_GROUP_ID


@holds("testValidJoinGroup")
def test_the_first_member_of_a_group_is_admitted_to_generation_1_and_leads() -> None:
    broker = Broker()
    member = broker.first_member()
    assert member.generation_id == 1
    assert [listed.member_id for listed in member.members] == [member.member_id]


@holds("testJoinGroupInconsistentProtocolType", "testJoinGroupUnknownConsumerExistingGroup")
def test_join_with_another_protocol_type_or_an_unknown_member_id_fails() -> None:
    broker = Broker()
    member = broker.first_member(protocol_type="consumer")
    assert broker.join(protocol_type="connect").answer.error_code is INCONSISTENT
    assert broker.join("made-up").answer.error_code is UNKNOWN
    assert broker.member_ids == {member.member_id}


@holds("testJoinGroupWithEmptyGroupProtocol", "testJoinGroupWithEmptyProtocolType")
@pytest.mark.parametrize("instance", [None, "A"])
def test_the_first_member_names_a_protocol_type_and_a_protocol(instance: str | None) -> None:
    assert Broker().join(protocol_type="", instance=instance).answer.error_code is INCONSISTENT
    assert Broker().join(protocols=(), instance=instance).answer.error_code is INCONSISTENT


@holds("testJoinGroupInconsistentGroupProtocol")
def test_join_without_a_common_protocol_fails_and_begins_no_rebalance() -> None:
    broker = Broker()
    first = broker.join(protocols=COOPERATIVE)
    second = broker.join(protocols=OTHER)
    broker.wait(DELAY_MS)
    assert second.answer.error_code is INCONSISTENT
    assert first.answer.error_code is ErrorCode.NONE
    assert len(first.answer.members) == 1


@holds("testJoinGroupSecondJoinInconsistentProtocol")
def test_a_pending_id_stays_pending_when_its_join_fails_for_the_protocols() -> None:
    broker = Broker()
    given = broker.join(id_required=True).answer
    assert given.error_code is ErrorCode.MEMBER_ID_REQUIRED
    rejected = broker.join(given.member_id, protocols=(), id_required=True).answer
    assert rejected.error_code is INCONSISTENT
    accepted = broker.join(given.member_id, id_required=True)
    broker.wait(DELAY_MS)
    assert accepted.answer.error_code is ErrorCode.NONE
    assert accepted.answer.member_id == given.member_id


@holds("testJoinGroupProtocolTypeIsNotProvidedWhenAnErrorOccurs")
def test_rejected_join_does_not_return_the_protocol_type() -> None:
    for broker in (Broker(), Broker()):
        rejected = broker.join("made-up", protocols=SEVERAL).answer
        assert (rejected.error_code, rejected.protocol_type) == (UNKNOWN, None)
        broker.first_member()


@holds("testJoinGroupReturnsTheProtocolType")
def test_leader_and_follower_get_the_protocol_type() -> None:
    broker = Broker()
    calls = [broker.join(protocols=SEVERAL, protocol_type="connect") for _ in range(2)]
    broker.wait(2 * DELAY_MS)
    for call in calls:
        assert (call.answer.error_code, call.answer.protocol_type) == (ErrorCode.NONE, "connect")


@holds("testJoinGroupFromUnchangedFollowerDoesNotRebalance")
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_a_follower_that_rejoins_unchanged_gets_the_current_generation(state: str) -> None:
    broker = Broker()
    leader, follower = broker.pair()
    assert leader.generation_id == follower.generation_id == 2
    assert follower.leader == leader.leader == leader.member_id
    if state == "Stable":
        broker.sync(leader.member_id, 2)
    again = broker.join(follower.member_id).answer
    assert (again.error_code, again.generation_id) == (ErrorCode.NONE, 2)
    assert broker.state == state


@holds("testJoinGroupFromUnchangedLeaderShouldRebalance", "testGenerationIdIncrementsOnRebalance")
def test_a_leader_that_rejoins_a_stable_group_starts_a_generation() -> None:
    broker = Broker()
    leader = broker.stable_member()
    assert leader.generation_id == 1
    again = broker.join(leader.member_id).answer
    assert (again.error_code, again.generation_id) == (ErrorCode.NONE, 2)
    assert broker.state == "CompletingRebalance"


# The initial rebalance delay: from Empty, the group waits for more members.


@holds("shouldDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup")
def test_the_first_member_waits_for_the_initial_delay_to_end() -> None:
    broker = Broker()
    call = broker.join()
    broker.wait(DELAY_MS - 1)
    assert not call.answered
    broker.wait(1)
    assert call.answer.error_code is ErrorCode.NONE


@holds("shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance")
def test_a_member_that_joins_during_the_delay_extends_it_by_another_one() -> None:
    broker = Broker()
    calls = [broker.join(rebalance_ms=3 * DELAY_MS)]
    broker.wait(DELAY_MS - 1)
    calls.append(broker.join(rebalance_ms=3 * DELAY_MS))
    broker.wait(DELAY_MS)  # the second delay starts at the end of the first
    assert not any(call.answered for call in calls)
    broker.wait(1)
    assert [call.answer.error_code for call in calls] == [ErrorCode.NONE] * 2


@holds("shouldDelayRebalanceUptoRebalanceTimeout")
def test_new_members_extend_the_delay_up_to_the_rebalance_timeout() -> None:
    broker = Broker()
    rebalance_ms = 2 * DELAY_MS
    calls = [broker.join(rebalance_ms=rebalance_ms) for _ in range(2)]
    broker.wait(DELAY_MS)
    calls.append(broker.join(rebalance_ms=rebalance_ms))
    broker.wait(DELAY_MS - 1)
    assert not any(call.answered for call in calls)
    broker.wait(1)
    assert [call.answer.error_code for call in calls] == [ErrorCode.NONE] * 3


# Pending ids: MEMBER_ID_REQUIRED returned them, and no JoinGroup has used them yet.


def _rebalance_that_waits_for_a_pending_member() -> tuple[Broker, str]:
    """Both members of a group have rejoined, and the group waits for a pending id."""
    broker = Broker()
    leader, follower = broker.pair()
    broker.sync(leader.member_id, 2)
    broker.sync(follower.member_id, 2)
    broker.join(leader.member_id)
    pending = broker.join(session_ms=SHORT_MS, id_required=True).answer
    assert pending.error_code is ErrorCode.MEMBER_ID_REQUIRED
    broker.join(follower.member_id)
    assert broker.pending_ids == {pending.member_id}
    assert broker.state == "PreparingRebalance"
    return broker, pending.member_id


@holds("testSecondMemberPartiallyJoinAndTimeout")
def test_a_pending_id_that_is_not_used_in_time_expires_and_the_group_stays_stable() -> None:
    broker = Broker()
    member = broker.stable_member(session_ms=SESSION_MS)
    pending = broker.join(session_ms=SHORT_MS, id_required=True).answer
    assert pending.error_code is ErrorCode.MEMBER_ID_REQUIRED
    broker.wait(SHORT_MS - 1)
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.NONE
    assert (broker.state, broker.pending_ids) == ("Stable", {pending.member_id})
    broker.wait(1)
    assert (broker.state, broker.pending_ids) == ("Stable", set())
    assert broker.member_ids == {member.member_id}


@holds(
    "testJoinGroupCompletionWhenPendingMemberJoins",
    "testJoinGroupCompletionWhenPendingMemberTimesOut",
    "testPendingMembersLeavesGroup",
    "testPendingMemberBatchLeaveGroup",
)
@pytest.mark.parametrize("ends", ["joins", "times out", "leaves", "leaves in a batch"])
def test_the_join_phase_ends_when_the_pending_member_joins_leaves_or_expires(ends: str) -> None:
    broker, pending_id = _rebalance_that_waits_for_a_pending_member()
    if ends == "joins":
        assert broker.join(pending_id, session_ms=SHORT_MS).answer.error_code is ErrorCode.NONE
    elif ends == "times out":
        broker.wait(SHORT_MS - 1)
        assert broker.state == "PreparingRebalance"
        broker.wait(1)
    elif ends == "leaves":
        assert broker.leave(pending_id) == [ErrorCode.NONE]
    else:
        left = broker.leave(MemberIdentity("", "no such instance"), pending_id)
        assert left == [UNKNOWN, ErrorCode.NONE]
    assert (broker.state, broker.pending_ids) == ("CompletingRebalance", set())
    assert len(broker.member_ids) == (3 if ends == "joins" else 2)
    assert (pending_id in broker.member_ids) == (ends == "joins")
