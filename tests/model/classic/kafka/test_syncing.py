"""SyncGroup: assignments, which members wait for them, and which requests fail."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, SyncGroupResponse
from support.marked_tests import holds
from support.requests import SESSION_MS
from support.scenario import COOPERATIVE, Broker

PROTOCOL = COOPERATIVE[0].name


@holds("testSyncGroupEmptyAssignment")
def test_a_member_without_an_assignment_gets_an_empty_one_and_stays() -> None:
    broker = Broker()
    member = broker.first_member()
    synced = broker.sync(member.member_id, 1, {}).answer
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"")
    assert broker.heartbeat(member.member_id, 1) is ErrorCode.NONE


@holds("testSyncGroupFromIllegalGeneration")
def test_sync_of_another_generation_fails() -> None:
    broker = Broker()
    member = broker.first_member()
    for generation_id in (-1, 0, 2):
        rejected = broker.sync(member.member_id, generation_id, {member.member_id: b"all"}).answer
        assert rejected.error_code is ErrorCode.ILLEGAL_GENERATION
    assert broker.state == "CompletingRebalance"


@holds(
    "testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent",
    "testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent",
    "testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided",
    "testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent",
)
@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "accepted"),
    [
        ("connect", PROTOCOL, False),
        ("connect", None, False),
        ("consumer", "sticky", False),
        (None, "sticky", False),
        ("consumer", PROTOCOL, True),
        (None, None, True),
    ],
)
def test_the_type_and_the_protocol_of_a_sync_are_those_of_the_group_if_given(
    protocol_type: str | None, protocol_name: str | None, *, accepted: bool
) -> None:
    broker = Broker()
    expected = SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if accepted:
        expected = SyncGroupResponse(ErrorCode.NONE, "consumer", PROTOCOL)
    named = {"protocol_type": protocol_type, "protocol_name": protocol_name}
    for member in broker.pair():
        assert broker.sync(member.member_id, 2, **named).answer == expected  # type: ignore[arg-type]


@holds("testLeaderFailureInSyncGroup")
def test_a_follower_rejoins_when_the_leader_expires_before_the_assignments() -> None:
    broker = Broker()
    leader, follower = broker.pair()
    waiting = broker.sync(follower.member_id, 2)
    broker.wait(SESSION_MS - 1)
    assert not waiting.answered
    broker.wait(1)
    assert waiting.answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert leader.member_id not in broker.member_ids


@holds("testSyncGroupFollowerAfterLeader", "testSyncGroupLeaderAfterFollower")
@pytest.mark.parametrize("first", ["leader", "follower"])
def test_a_follower_gets_its_assignment_when_the_leader_has_synced(first: str) -> None:
    broker = Broker()
    leader, follower = broker.pair()
    if first == "follower":
        followed = broker.sync(follower.member_id, 2)
        assert not followed.answered
    assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
    led = broker.sync(leader.member_id, 2, assignments).answer
    assert (led.error_code, led.assignment) == (ErrorCode.NONE, b"even")
    if first == "leader":
        followed = broker.sync(follower.member_id, 2)
    assert (followed.answer.error_code, followed.answer.assignment) == (ErrorCode.NONE, b"odd")
