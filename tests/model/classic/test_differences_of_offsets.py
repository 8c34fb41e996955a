"""Differences between 2.7 and 4.1 in offsets, transactions, lists and deletions."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, NOBODY, commit
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Shutdown
from groupcheck.model.vocabulary import ErrorCode
from support.marked_tests import differ
from support.requests import PARTITION, Offsets, commit_of, errors_of, txn_commit_of
from support.scenario import Broker

T = TypeVar("T")
TOPIC = PARTITION[0]
OTHER = (TOPIC, 3)
TOO_LONG = "x" * 5_000
NONE, LARGE = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE


def old() -> Broker:
    return Broker(PROFILES["2.7"])


def new() -> Broker:
    return Broker(PROFILES["4.1"])


def each(expected_of_old: T, expected_of_new: T) -> list[tuple[Broker, T]]:
    """A new group of each version, with what is expected of it."""
    return [(old(), expected_of_old), (new(), expected_of_new)]


def by_topic(answer: Any) -> list[tuple[str, list[int]]]:
    """The partitions of a response, as they are ordered in it."""
    return [(t.name, [p.partition_index for p in t.partitions]) for t in answer.topics]


@differ("commit to no group")
@pytest.mark.parametrize(
    ("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_commit_without_a_group_has_an_error_of_its_own_from_version_9_on(
    version: int, error: ErrorCode
) -> None:
    assert old().profile.max_versions["OffsetCommit"] == 8
    for broker, expected in each(ErrorCode.ILLEGAL_GENERATION, error):
        assert set(errors_of(broker.send(commit(1, NOBODY), version).answer).values()) == {expected}


@differ("stable offsets", "metadata too long")
def test_partition_with_too_long_metadata_stays_unstable_only_in_2_7() -> None:
    for broker, expected in each(ErrorCode.UNSTABLE_OFFSET_COMMIT, -1):
        answer = broker.send(commit_of({PARTITION: (5, -1, TOO_LONG), OTHER: 5}), 8).answer
        assert errors_of(answer) == {PARTITION: LARGE, OTHER: NONE}
        assert broker.readable(stable=True) == expected


def test_partition_that_is_named_twice_is_committed_twice_only_in_4_1() -> None:
    twice: Offsets = [(PARTITION, 7), (PARTITION, (8, -1, TOO_LONG))]
    for body, version in ((commit_of(twice), 8), (txn_commit_of(twice), 3)):
        for broker, (found, offset) in each(([LARGE], -1), ([NONE, LARGE], 7)):
            answer = broker.send(body, version).answer
            assert [p.error_code for p in answer.topics[0].partitions] == found
            broker.end_txn(committed=True)
            assert broker.readable() == offset


def test_fetch_that_fails_names_each_partition_as_often_as_asked_only_in_4_1() -> None:
    # 2.7 OffsetFetchRequest.java:146, 4.1 OffsetFetchResponse.java:241.
    asked = (
        kafka.OffsetFetchRequestTopic(TOPIC, (0, 1, 0)),
        kafka.OffsetFetchRequestTopic("other", ()),
        kafka.OffsetFetchRequestTopic(TOPIC, (1,)),
    )
    repeated = [(TOPIC, [0, 1, 0]), ("other", []), (TOPIC, [1])]
    once = [(TOPIC, [0, 1])]
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for version, expected in (("0.10.0", once), ("0.10.2", once), ("2.7", once), ("4.1", repeated)):
        broker = Broker(PROFILES[version])
        broker.do(Shutdown())
        answer = broker.send(kafka.OffsetFetchRequest(GROUP_ID, asked), 1).answer
        assert by_topic(answer) == expected
        assert {p.error_code for t in answer.topics for p in t.partitions} == {error}


@differ("transactional commit of a known member without generation")
def test_a_member_commits_in_a_transaction_without_its_generation_only_in_2_7() -> None:
    for broker, expected in each(NONE, ErrorCode.ILLEGAL_GENERATION):
        member_id = broker.stable_member().member_id
        assert broker.txn_commit(member_id=member_id) is expected
        assert broker.txn_commit(member_id=member_id, generation_id=1) is NONE


def test_rejected_partition_of_a_transaction_is_pending_and_stops_the_marker_only_in_2_7() -> None:
    # 2.7 throws on its way through the offsets: the other one is committed before that, or not.
    offsets: Offsets = {PARTITION: 7, OTHER: (1, -1, TOO_LONG)}
    for broker, (other, found) in each((ErrorCode.UNSTABLE_OFFSET_COMMIT, {-1, 7}), (-1, {7})):
        answer = broker.send(txn_commit_of(offsets), 3).answer
        assert errors_of(answer) == {PARTITION: NONE, OTHER: LARGE}
        assert broker.readable(OTHER, stable=True) == other
        broker.end_txn(committed=True)
        after = [branch.coordinator.group for branch in broker.branches if branch.coordinator.group]
        committed = [dict(group.offsets) for group in after]
        assert {o[PARTITION].committed_offset if o else -1 for o in committed} == found
        assert not any(group.transactions for group in after)


def test_fetch_and_deletion_are_answered_topic_by_topic_as_requested_only_in_4_1() -> None:
    asked = (("topic", (1, 0, 1)), ("none", ()), ("topic", (0,)))
    fetched = tuple(kafka.OffsetFetchRequestTopic(*topic) for topic in asked)
    deleted = tuple(
        kafka.OffsetDeleteRequestTopic(
            name, tuple(map(kafka.OffsetDeleteRequestPartition, indexes))
        )
        for name, indexes in asked
    )
    once, as_asked = [("topic", [0, 1])], [("topic", [1, 0, 1]), ("none", []), ("topic", [0])]
    for broker, expected in each(once, as_asked):
        broker.send(commit(-1, ""), 8)
        assert (
            by_topic(broker.send(kafka.OffsetFetchRequest(GROUP_ID, fetched), 7).answer) == expected
        )
        answer = broker.send(kafka.OffsetDeleteRequest(GROUP_ID, deleted), 0).answer
        assert by_topic(answer) == [topic for topic in expected if topic[1]]


@differ("list")
@pytest.mark.parametrize(
    ("state", "of_old", "of_new"),
    [("Empty", 1, 1), ("empty", 0, 1), (" EMPTY\t", 0, 1), ("Em pty", 0, 0)],
)
def test_state_filters_are_case_sensitive_only_in_2_7(state: str, of_old: int, of_new: int) -> None:
    for broker, number in each(of_old, of_new):
        broker.commit()
        assert len(broker.listed(state)) == number


@pytest.mark.parametrize(
    ("types", "found"),
    [((), 1), (("classic",), 1), (("consumer", "CLASSIC"), 1), (("consumer",), 0), (("?",), 0)],
)
def test_groups_are_listed_by_type_in_4_1(types: tuple[str, ...], found: int) -> None:
    broker = new()
    broker.commit()
    answer = broker.send(kafka.ListGroupsRequest(types_filter=types), 5).answer
    assert answer.groups == (kafka.ListedGroup(GROUP_ID, "", "Empty", "classic"),) * found


@differ("describe")
@pytest.mark.parametrize(("version", "error"), [(5, NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_to_describe_a_group_that_does_not_exist_is_an_error_from_version_6_on(
    version: int, error: ErrorCode
) -> None:
    assert old().profile.max_versions["DescribeGroups"] == 5
    (described,) = new().send(kafka.DescribeGroupsRequest((GROUP_ID,)), version).answer.groups
    assert (described.error_code, described.group_state) == (error, "Dead")
