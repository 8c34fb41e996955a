"""Offsets of transactions: pending, committed, aborted, overtaken."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.environment import txn_commit as request
from groupcheck.model.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
)
from support.offsets import end_txn, errors, readable, sent, txn_commit
from support.play import PARTITION, Play

OTHER = ("payments", 3)
TOO_LONG = TxnOffsetCommitRequestPartition(OTHER[1], 1, committed_metadata="x" * 5_000)


@pytest.fixture
def play() -> Play:
    return Play()


def test_a_transactions_offset_is_read_from_its_commit_marker_on(play: Play) -> None:
    assert txn_commit(play, 7) is ErrorCode.NONE
    assert readable(play) == -1
    end_txn(play, committed=True)
    assert readable(play) == 7


def test_a_transactions_offset_is_gone_with_its_abort_marker(play: Play) -> None:
    play.commit(offsets={PARTITION: 1})
    txn_commit(play, 7)
    end_txn(play, committed=False)
    assert readable(play, stable=True) == 1


def test_a_stable_offset_is_refused_while_a_transaction_is_open_and_another_is_not(
    play: Play,
) -> None:
    play.commit(offsets={PARTITION: 1, OTHER: 2})
    txn_commit(play, 7)
    assert readable(play, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert readable(play, stable=False) == 1
    assert readable(play, OTHER, stable=True) == 2


def test_a_commit_after_that_of_the_transaction_stands_when_the_marker_comes(play: Play) -> None:
    txn_commit(play, 7)
    play.commit(offsets={PARTITION: 9})
    end_txn(play, committed=True)
    assert readable(play) == 9


def test_of_two_transactions_the_one_that_committed_last_stands_whichever_ends_first(
    play: Play,
) -> None:
    txn_commit(play, 7, producer=1)
    txn_commit(play, 8, producer=2)
    end_txn(play, committed=True, producer=2)
    assert readable(play) == 8
    end_txn(play, committed=True, producer=1)
    assert readable(play) == 8
    txn_commit(play, 9, producer=1)
    txn_commit(play, 10, producer=2)
    end_txn(play, committed=True, producer=1)
    assert readable(play) == 9
    end_txn(play, committed=True, producer=2)
    assert readable(play) == 10


def test_a_producer_that_commits_again_is_the_newest_again(play: Play) -> None:
    txn_commit(play, 7, producer=1)
    txn_commit(play, 8, producer=2)
    txn_commit(play, 9, producer=1)
    end_txn(play, committed=True, producer=2)
    end_txn(play, committed=True, producer=1)
    assert readable(play) == 9


def test_an_aborted_transaction_leaves_another_producers_offsets_pending(play: Play) -> None:
    txn_commit(play, 7, producer=1)
    txn_commit(play, 8, producer=2, partition=OTHER)
    end_txn(play, committed=False, producer=1)
    assert readable(play, OTHER, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert readable(play, stable=True) == -1


def test_a_held_transactional_commit_is_answered_when_it_is_stored_and_pending_before(
    play: Play,
) -> None:
    play.do(HoldAppends())
    call = sent(play, {PARTITION: TxnOffsetCommitRequestPartition(PARTITION[1], 7)})
    assert not call.answered
    assert readable(play, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    play.do(ReleaseAppends())
    assert errors(call.answer) == {PARTITION: ErrorCode.NONE}
    end_txn(play, committed=True)
    assert readable(play) == 7


def test_an_aborted_transaction_stays_aborted_when_its_commit_is_stored_later(play: Play) -> None:
    play.do(HoldAppends())
    sent(play, {PARTITION: TxnOffsetCommitRequestPartition(PARTITION[1], 7)})
    end_txn(play, committed=False)
    play.do(ReleaseAppends())
    end_txn(play, committed=True)
    assert readable(play, stable=True) == -1


def test_metadata_too_long_is_refused_and_leaves_a_mark_at_which_the_marker_fails(
    play: Play,
) -> None:
    short = TxnOffsetCommitRequestPartition(PARTITION[1], 7)
    answer = sent(play, {PARTITION: short, OTHER: TOO_LONG}).answer
    assert errors(answer) == {
        PARTITION: ErrorCode.NONE,
        OTHER: ErrorCode.OFFSET_METADATA_TOO_LARGE,
    }
    assert readable(play, OTHER, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    end_txn(play, committed=True)
    # Kafka throws on the way through the offsets: the other one was come to before, or was not.
    groups = [world.coordinator.group for world in play.worlds]
    assert [len(group.offsets) for group in groups if group] == [1, 0]
    assert not any(group.transactions for group in groups if group)


def test_a_request_all_of_whose_metadata_is_too_long_leaves_nothing(play: Play) -> None:
    answer = sent(play, {OTHER: TOO_LONG}).answer
    assert errors(answer) == {OTHER: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert not play.group.transactions
    assert not play.group.producers


def test_a_transactional_commit_brings_the_group_into_being_even_if_it_is_refused(
    play: Play,
) -> None:
    assert txn_commit(play, generation_id=3) is ErrorCode.ILLEGAL_GENERATION
    assert play.state == "Empty"


def test_no_member_id_and_no_generation_commit_in_every_state(play: Play) -> None:
    member = play.first_member()
    assert play.state == "CompletingRebalance"
    assert txn_commit(play) is ErrorCode.NONE
    assert txn_commit(play, member_id=member.member_id) is ErrorCode.NONE
    assert txn_commit(play, generation_id=member.generation_id) is ErrorCode.NONE


def test_a_transactional_commit_is_no_sign_of_life(play: Play) -> None:
    member = play.stable_member()
    play.wait(9_000)
    assert txn_commit(play, member_id=member.member_id, generation_id=1) is ErrorCode.NONE
    play.wait(1_000)
    assert play.member_ids == set()


def test_a_transactional_commit_without_partitions_is_not_looked_at(play: Play) -> None:
    nothing = request(0, "nobody")._replace(group_id="", topics=())
    assert play.send(3, nothing).answer == TxnOffsetCommitResponse()


def test_a_group_without_a_name_has_no_transactions(play: Play) -> None:
    no_group_id = request(-1, "")._replace(group_id="")
    (error,) = errors(play.send(3, no_group_id).answer).values()
    assert error is ErrorCode.INVALID_GROUP_ID
    marker = play.send(0, EndTxnRequest("", 7, committed=True))
    assert marker.answer.error_code is ErrorCode.INVALID_GROUP_ID


def test_a_marker_changes_nothing_where_the_producer_has_nothing_pending(play: Play) -> None:
    end_txn(play, committed=True)
    assert not play.exists
    txn_commit(play, 7, producer=1)
    before = play.group
    end_txn(play, committed=True, producer=2)
    assert play.group == before
