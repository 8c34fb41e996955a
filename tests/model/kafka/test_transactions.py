"""Offsets of transactions: when they can be read, and who may commit them."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode
from support.kafka_tests import holds
from support.offsets import end_txn, readable, txn_commit
from support.play import PARTITION, Play

OTHER = ("refunds", 0)


@holds("testBasicFetchTxnOffsets")
def test_a_transactions_offset_can_be_read_after_it_is_committed_and_not_before() -> None:
    play = Play()
    assert txn_commit(play, 25) is ErrorCode.NONE
    assert readable(play) == -1
    end_txn(play, committed=True)
    assert readable(play) == 25


@holds("testFetchTxnOffsetsWithAbort")
def test_an_aborted_transactions_offset_can_never_be_read() -> None:
    play = Play()
    assert txn_commit(play, 25) is ErrorCode.NONE
    assert readable(play) == -1
    end_txn(play, committed=False)
    assert readable(play) == -1


@holds("testFetchPendingTxnOffsetsWithAbort", "testFetchPendingTxnOffsetsWithCommit")
@pytest.mark.parametrize(("committed", "offset"), [(True, 25), (False, -1)])
def test_a_stable_offset_is_refused_until_the_transaction_ends(
    *, committed: bool, offset: int
) -> None:
    play = Play()
    txn_commit(play, 25)
    assert readable(play, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert readable(play, OTHER, stable=True) == -1
    end_txn(play, committed=committed)
    assert readable(play, stable=True) == offset


@holds("testFetchTxnOffsetsIgnoreSpuriousCommit")
def test_a_commit_marker_after_the_abort_marker_brings_nothing_back() -> None:
    play = Play()
    txn_commit(play, 25)
    end_txn(play, committed=False)
    end_txn(play, committed=True)
    assert readable(play) == -1


@holds("testFetchTxnOffsetsMultipleProducersOneGroup")
def test_each_producers_marker_brings_its_own_offsets() -> None:
    play = Play()
    txn_commit(play, 10, producer=1_000)
    txn_commit(play, 15, producer=1_005, partition=OTHER)
    end_txn(play, committed=True, producer=1_000)
    assert (readable(play, PARTITION), readable(play, OTHER)) == (10, -1)
    end_txn(play, committed=True, producer=1_005)
    assert (readable(play, PARTITION), readable(play, OTHER)) == (10, 15)


@holds("testTxnCommitOffsetWithInvalidMemberId")
def test_who_names_a_member_must_be_one() -> None:
    play = Play()
    play.first_member()
    assert txn_commit(play, member_id="somebody") is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testTxnCommitOffsetWithKnownMemberId")
def test_a_member_may_commit_without_naming_a_generation() -> None:
    play = Play()
    member = play.first_member()
    assert txn_commit(play, member_id=member.member_id) is ErrorCode.NONE


@holds("testTxnCommitOffsetWithIllegalGeneration", "testTxnCommitOffsetWithLegalGeneration")
def test_who_names_a_generation_must_name_the_present_one() -> None:
    play = Play()
    member = play.first_member()
    error = txn_commit(play, member_id=member.member_id, generation_id=member.generation_id + 5)
    assert error is ErrorCode.ILLEGAL_GENERATION
    error = txn_commit(play, member_id=member.member_id, generation_id=member.generation_id)
    assert error is ErrorCode.NONE


@holds("testTxnCommitOffsetWithFencedInstanceId")
@pytest.mark.parametrize("member_id", ["", "somebody"])
def test_an_instance_commits_in_a_transaction_with_its_own_id_only(member_id: str) -> None:
    play = Play()
    leader, _ = play.static_pair()
    fenced = txn_commit(play, member_id=member_id, instance="A")
    assert fenced is ErrorCode.FENCED_INSTANCE_ID
    assert txn_commit(play, member_id=leader.member_id, instance="A") is ErrorCode.NONE


@holds("testFetchTxnOffsetsOneProducerMultipleGroups")
def test_a_marker_brings_the_offsets_of_the_group_to_whose_partition_it_was_written() -> None:
    first, second = Play(), Play()  # two groups, and one producer
    assert txn_commit(first, 10, partition=PARTITION) is ErrorCode.NONE
    assert txn_commit(second, 15, partition=OTHER) is ErrorCode.NONE
    end_txn(first, committed=True)
    assert (readable(first, PARTITION), readable(first, OTHER)) == (10, -1)
    assert (readable(second, PARTITION), readable(second, OTHER)) == (-1, -1)
    end_txn(second, committed=True)
    assert (readable(first, PARTITION), readable(first, OTHER)) == (10, -1)
    assert (readable(second, PARTITION), readable(second, OTHER)) == (-1, 15)
