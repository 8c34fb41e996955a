"""group.max.size: a full group rejects new members and keeps those that it has."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse, MemberIdentity
from support import requests
from support.marked_tests import holds
from support.requests import SESSION_MS, Call
from support.scenario import DELAY_MS, SEVERAL, Broker

MOST = 3
FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
FENCED = ErrorCode.FENCED_INSTANCE_ID
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
NONE = ErrorCode.NONE
Calls = list[Call[JoinGroupResponse]]


def _errors(calls: Calls) -> list[ErrorCode]:
    return [call.answer.error_code for call in calls]


def _pending_ids(broker: Broker, how_many: int) -> list[str]:
    calls: Calls = [broker.join(id_required=True) for _ in range(how_many)]
    assert _errors(calls) == [ErrorCode.MEMBER_ID_REQUIRED] * how_many
    return [call.answer.member_id for call in calls]


@holds(
    "testJoinGroupShouldReceiveErrorIfGroupOverMaxSize",
    "testDynamicMembersJoinGroupWithMaxSize",
    "testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember",
    "testStaticMembersJoinGroupWithMaxSize",
)
@pytest.mark.parametrize("kind", ["dynamic", "pending", "static"])
def test_a_full_group_rejects_one_member_more_and_lets_the_others_rejoin(kind: str) -> None:
    broker = Broker(group_max_size=MOST)
    instances = [f"instance {i}" if kind == "static" else None for i in range(MOST + 1)]
    ids = _pending_ids(broker, MOST + 1) if kind == "pending" else [""] * (MOST + 1)
    calls: Calls = [
        broker.join(member_id, instance=instance, id_required=kind == "pending")
        for member_id, instance in zip(ids, instances, strict=True)
    ]
    broker.wait(2 * DELAY_MS)
    assert _errors(calls) == [NONE] * MOST + [FULL]
    assert calls[-1].answer.member_id == ""
    if kind != "pending":
        ids = [call.answer.member_id for call in calls]
    assert broker.member_ids == set(ids[:MOST])
    again: Calls = [
        broker.join(member_id, instance=instance, id_required=kind == "pending")
        for member_id, instance in zip(ids, instances, strict=True)
    ]
    assert _errors(again) == [NONE] * MOST + [FULL]
    assert broker.state == "CompletingRebalance"
    if kind == "static":
        assert [broker.group.static(str(i)) is None for i in instances] == [False] * MOST + [True]


@holds("testDynamicMembersCanReJoinGroupWithMaxSizeWhileRebalancing")
def test_a_member_that_waits_for_the_rebalance_of_a_full_group_may_rejoin() -> None:
    broker = Broker(group_max_size=MOST)
    ids = _pending_ids(broker, MOST + 1)
    for member_id in ids:
        broker.join(member_id, id_required=True)
    again: Calls = [broker.join(member_id, id_required=True) for member_id in ids]
    assert broker.state == "PreparingRebalance"
    broker.wait(2 * DELAY_MS)
    assert _errors(again) == [NONE] * MOST + [FULL]


@holds("testLastJoiningMembersAreKickedOutWhenReJoiningGroupWithMaxSize")
def test_a_lowered_maximum_size_rejects_the_members_that_rejoin_last() -> None:
    broker = Broker(group_max_size=MOST + 2)
    calls: Calls = [broker.join(session_ms=3 * SESSION_MS) for _ in range(MOST + 2)]
    broker.wait(2 * DELAY_MS)
    ids = [call.answer.member_id for call in calls]
    broker.sync(ids[0], 1)
    broker.config = broker.config._replace(group_max_size=MOST)
    again: Calls = [broker.join(member_id) for member_id in ids]
    assert _errors(again) == [NONE] * MOST + [FULL] * 2
    assert broker.member_ids == set(ids[:MOST])
    assert broker.generation_id == 2


# Kafka has no test of this: a full group forgets the member id and keeps the instance id.


def _rejected_without_its_instance_id() -> tuple[Broker, str]:
    """B rejoins a full group without its instance id, which is still registered for it."""
    broker = Broker(group_max_size=2)
    leader, follower = broker.static_pair()
    broker.join(leader.member_id, instance="A", protocols=SEVERAL)
    broker.join(protocols=SEVERAL)
    rejected = broker.join(follower.member_id, protocols=SEVERAL).answer
    assert rejected.error_code is FULL
    assert follower.member_id not in broker.member_ids
    assert broker.state == "CompletingRebalance"
    return broker, follower.member_id


def test_rejected_member_is_unknown_under_its_old_instance_id_and_others_are_fenced() -> None:
    broker, member_id = _rejected_without_its_instance_id()
    for used, error in ((member_id, UNKNOWN), ("made-up", FENCED)):
        assert broker.heartbeat(used, 2, "B") is error
        assert broker.sync(used, 2, instance="B").answer.error_code is error
        assert broker.commit(used, 2, instance="B") is error
    broker.leave(MemberIdentity("", "A"))  # so that the group is not full
    for used, error in ((member_id, UNKNOWN), ("made-up", FENCED)):
        assert broker.join(used, instance="B", protocols=SEVERAL).answer.error_code is error


def test_kafka_fails_where_the_instance_id_of_a_rejected_member_leaves_or_rejoins() -> None:
    broker, member_id = _rejected_without_its_instance_id()
    for used in ("", member_id):
        body = requests.leave(MemberIdentity(used, "B"))
        assert broker.send(body, 4).answer.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.leave(MemberIdentity("made-up", "B")) == [FENCED]
    broker.leave(MemberIdentity("", "A"))
    failed = broker.join(instance="B", protocols=SEVERAL).answer
    assert failed.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
