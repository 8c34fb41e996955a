"""Differences between 2.7 and 4.1 in offsets, transactions, lists and deletions."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from groupcheck.model.instances.inputs import GROUP_ID, NOBODY, commit
from groupcheck.model.instances.inputs import txn_commit as request_of
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Shutdown
from groupcheck.model.vocabulary import (
    DescribeGroupsRequest,
    ErrorCode,
    ListedGroup,
    ListGroupsRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.marked_tests import differ
from support.offsets import end_txn, errors, listed, readable, sent, txn_commit
from support.play import PARTITION, Play

T = TypeVar("T")
TOPIC, INDEX = PARTITION
OTHER = (TOPIC, 3)
TOO_LONG = "x" * 5_000
NONE, LARGE = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE


def old() -> Play:
    return Play(PROFILES["2.7"])


def new() -> Play:
    return Play(PROFILES["4.1"])


def each(expected_of_old: T, expected_of_new: T) -> list[tuple[Play, T]]:
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
    for play, expected in each(ErrorCode.ILLEGAL_GENERATION, error):
        assert set(errors(play.send(version, commit(1, NOBODY)).answer).values()) == {expected}


@differ("stable offsets", "metadata too long")
def test_partition_with_too_long_metadata_stays_unstable_only_in_2_7() -> None:
    for play, expected in each(ErrorCode.UNSTABLE_OFFSET_COMMIT, -1):
        partitions = (
            OffsetCommitRequestPartition(INDEX, 5, committed_metadata=TOO_LONG),
            OffsetCommitRequestPartition(OTHER[1], 5),
        )
        topics = (OffsetCommitRequestTopic(TOPIC, partitions),)
        answer = play.send(8, commit(-1, "")._replace(topics=topics)).answer
        assert errors(answer) == {PARTITION: LARGE, OTHER: NONE}
        assert readable(play, stable=True) == expected


def test_partition_that_is_named_twice_is_committed_twice_only_in_4_1() -> None:
    twice = (
        OffsetCommitRequestPartition(INDEX, 7),
        OffsetCommitRequestPartition(INDEX, 8, committed_metadata=TOO_LONG),
    )
    topics = (OffsetCommitRequestTopic(TOPIC, twice),)
    for play, (found, offset) in each(([LARGE], -1), ([NONE, LARGE], 7)):
        answer = play.send(8, commit(-1, "")._replace(topics=topics)).answer
        assert [p.error_code for p in answer.topics[0].partitions] == found
        assert readable(play) == offset
    in_transaction = (TxnOffsetCommitRequestTopic(TOPIC, tuple(map(_in_transaction, twice))),)
    for play, (found, offset) in each(([LARGE], -1), ([NONE, LARGE], 7)):
        answer = play.send(3, request_of(-1, "")._replace(topics=in_transaction)).answer
        assert [p.error_code for p in answer.topics[0].partitions] == found
        end_txn(play, committed=True)
        assert readable(play) == offset


def test_fetch_that_fails_names_each_partition_as_often_as_asked_only_in_4_1() -> None:
    # 2.7 OffsetFetchRequest.java:146, 4.1 OffsetFetchResponse.java:241.
    asked = (
        OffsetFetchRequestTopic(TOPIC, (0, 1, 0)),
        OffsetFetchRequestTopic("other", ()),
        OffsetFetchRequestTopic(TOPIC, (1,)),
    )
    repeated = [(TOPIC, [0, 1, 0]), ("other", []), (TOPIC, [1])]
    once = [(TOPIC, [0, 1])]
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for version, expected in (("0.10.0", once), ("0.10.2", once), ("2.7", once), ("4.1", repeated)):
        play = Play(PROFILES[version])
        play.do(Shutdown())
        answer = play.send(1, OffsetFetchRequest(GROUP_ID, asked)).answer
        assert by_topic(answer) == expected
        assert {p.error_code for t in answer.topics for p in t.partitions} == {error}


def _in_transaction(partition: OffsetCommitRequestPartition) -> TxnOffsetCommitRequestPartition:
    index, offset, _, metadata = partition
    return TxnOffsetCommitRequestPartition(index, offset, committed_metadata=metadata)


@differ("transactional commit of a known member without generation")
def test_a_member_commits_in_a_transaction_without_its_generation_only_in_2_7() -> None:
    for play, expected in each(NONE, ErrorCode.ILLEGAL_GENERATION):
        member_id = play.stable_member().member_id
        assert txn_commit(play, member_id=member_id) is expected
        assert txn_commit(play, member_id=member_id, generation_id=1) is NONE


def test_rejected_partition_of_a_transaction_is_pending_and_stops_the_marker_only_in_2_7() -> None:
    # 2.7 throws on its way through the offsets: the other one is committed before that, or not.
    short = TxnOffsetCommitRequestPartition(INDEX, 7)
    too_long = TxnOffsetCommitRequestPartition(OTHER[1], 1, committed_metadata=TOO_LONG)
    for play, (other, found) in each((ErrorCode.UNSTABLE_OFFSET_COMMIT, {-1, 7}), (-1, {7})):
        answer = sent(play, {PARTITION: short, OTHER: too_long}).answer
        assert errors(answer) == {PARTITION: NONE, OTHER: LARGE}
        assert readable(play, OTHER, stable=True) == other
        end_txn(play, committed=True)
        after = [world.coordinator.group for world in play.worlds if world.coordinator.group]
        offsets = [dict(group.offsets) for group in after]
        assert {o[PARTITION].committed_offset if o else -1 for o in offsets} == found
        assert not any(group.transactions for group in after)


def test_fetch_and_deletion_are_answered_topic_by_topic_as_requested_only_in_4_1() -> None:
    asked = (("topic", (1, 0, 1)), ("none", ()), ("topic", (0,)))
    fetched = tuple(OffsetFetchRequestTopic(*topic) for topic in asked)
    deleted = tuple(
        OffsetDeleteRequestTopic(name, tuple(map(OffsetDeleteRequestPartition, indexes)))
        for name, indexes in asked
    )
    once, as_asked = [("topic", [0, 1])], [("topic", [1, 0, 1]), ("none", []), ("topic", [0])]
    for play, expected in each(once, as_asked):
        play.send(8, commit(-1, ""))
        assert by_topic(play.send(7, OffsetFetchRequest(GROUP_ID, fetched)).answer) == expected
        answer = play.send(0, OffsetDeleteRequest(GROUP_ID, deleted)).answer
        assert by_topic(answer) == [topic for topic in expected if topic[1]]


@differ("list")
@pytest.mark.parametrize(
    ("state", "of_old", "of_new"),
    [("Empty", 1, 1), ("empty", 0, 1), (" EMPTY\t", 0, 1), ("Em pty", 0, 0)],
)
def test_state_filters_are_case_sensitive_only_in_2_7(state: str, of_old: int, of_new: int) -> None:
    for play, number in each(of_old, of_new):
        play.commit()
        assert len(listed(play, state)) == number


@pytest.mark.parametrize(
    ("types", "found"),
    [((), 1), (("classic",), 1), (("consumer", "CLASSIC"), 1), (("consumer",), 0), (("?",), 0)],
)
def test_groups_are_listed_by_type_in_4_1(types: tuple[str, ...], found: int) -> None:
    play = new()
    play.commit()
    answer = play.send(5, ListGroupsRequest(types_filter=types)).answer
    assert answer.groups == (ListedGroup(GROUP_ID, "", "Empty", "classic"),) * found


@differ("describe")
@pytest.mark.parametrize(("version", "error"), [(5, NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_to_describe_a_group_that_does_not_exist_is_an_error_from_version_6_on(
    version: int, error: ErrorCode
) -> None:
    assert old().profile.max_versions["DescribeGroups"] == 5
    (described,) = new().send(version, DescribeGroupsRequest((GROUP_ID,))).answer.groups
    assert (described.error_code, described.group_state) == (error, "Dead")
