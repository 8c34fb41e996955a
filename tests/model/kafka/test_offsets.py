"""Offsets: who may commit them, and what is fetched."""

from __future__ import annotations

from groupcheck.model.vocabulary import (
    NO_OFFSET,
    ErrorCode,
    OffsetCommitRequestPartition,
    OffsetFetchResponsePartition,
)
from support.kafka_tests import holds
from support.play import PARTITION, Play


@holds("testCommitOffsetFromUnknownGroup")
def test_a_member_of_a_group_that_is_not_there_is_of_an_old_generation() -> None:
    play = Play()
    assert play.commit("somebody", 7) is ErrorCode.ILLEGAL_GENERATION
    assert not play.exists


@holds("testCommitOffsetWithDefaultGeneration")
def test_who_is_no_member_may_commit_for_a_group_without_members() -> None:
    play = Play()
    assert play.commit() is ErrorCode.NONE
    assert play.fetch(PARTITION)[PARTITION].committed_offset == 42


@holds("testCommitOffsetsAfterGroupIsEmpty")
def test_who_is_no_member_may_commit_once_all_members_have_left() -> None:
    play = Play()
    member = play.stable_member()
    assert play.commit() is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.leave(member.member_id) == [ErrorCode.NONE]
    assert play.commit() is ErrorCode.NONE
    assert play.fetch(PARTITION)[PARTITION].committed_offset == 42


@holds("testFetchOffsets")
def test_what_was_committed_is_fetched_with_its_epoch_and_metadata() -> None:
    play = Play()
    topic, index = PARTITION
    committed = OffsetCommitRequestPartition(index, 1_234, 5, "by hand")
    assert play.commit(offsets={PARTITION: committed}) is ErrorCode.NONE
    expected = OffsetFetchResponsePartition(index, 1_234, 5, "by hand")
    assert play.fetch((topic, index)) == {PARTITION: expected}


@holds("testFetchOffsetForUnknownPartition")
def test_partition_without_a_commit_has_no_offset_and_no_error() -> None:
    play = Play()
    assert play.fetch(PARTITION) == {PARTITION: OffsetFetchResponsePartition(PARTITION[1])}
    assert play.fetch(PARTITION)[PARTITION].committed_offset == NO_OFFSET
    assert not play.exists


@holds("testFetchAllOffsets")
def test_all_that_was_committed_is_fetched_if_no_partition_is_named() -> None:
    play = Play()
    assert play.fetch() == {}
    committed = {("payments", 0): 3, ("payments", 1): 5, ("refunds", 0): 8}
    assert play.commit(offsets=committed) is ErrorCode.NONE
    found = play.fetch()
    assert {partition: p.committed_offset for partition, p in found.items()} == committed
    assert {p.error_code for p in found.values()} == {ErrorCode.NONE}


@holds(
    "testCommitOffsetInCompletingRebalance",
    "testCommitOffsetInCompletingRebalanceFromUnknownMemberId",
    "testCommitOffsetInCompletingRebalanceFromIllegalGeneration",
)
def test_commits_in_completing_rebalance_fail_with_the_first_error() -> None:
    play = Play()
    member = play.first_member()
    assert play.state == "CompletingRebalance"
    assert play.commit(member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert play.commit("", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.commit(member.member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    assert play.fetch() == {}
