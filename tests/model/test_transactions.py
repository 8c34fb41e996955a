"""Offsets of transactions: pending, committed, aborted, overtaken."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import (
    ErrorCode,
    TxnOffsetCommitRequestPartition,
)
from support.offsets import end_txn, errors, readable, sent, txn_commit
from support.play import PARTITION, Play

OTHER = ("payments", 3)
TOO_LONG = TxnOffsetCommitRequestPartition(OTHER[1], 1, committed_metadata="x" * 5_000)


@pytest.fixture
def play() -> Play:
    return Play()


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
