"""Compaction makes no difference to loading the log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from groupcheck.implementation.log.memory import compact
from groupcheck.implementation.log.records import Batch, Marker
from support.log_loading import load
from support.log_records import commit, end, logs, offset


@pytest.mark.slow
@pytest.mark.parametrize("tombstones_end_pending", [False, True], ids=["2.7", "4.1"])
@settings(max_examples=400, deadline=None)
@given(before=logs(), after=logs())
def test_compacted_log_loads_like_the_whole_one(
    before: list[Batch], after: list[Batch], *, tombstones_end_pending: bool
) -> None:
    def loaded(log: list[Batch]) -> object:
        return load(log, tombstones_end_pending=tombstones_end_pending)

    short = compact(before)
    assert loaded(short) == loaded(before)
    assert loaded(short + after) == loaded(before + after)
    assert loaded(compact(short + after)) == loaded(before + after)


def test_latest_record_of_each_key_is_kept() -> None:
    log = [Batch((offset("a", 1), offset("b", 1))), commit("a", 2), commit("a", 3)]
    assert compact(log) == [Batch((offset("b", 1), offset("a", 3)))]


def test_tombstone_is_dropped_with_the_record_that_it_removes() -> None:
    assert compact([commit("a", 1), commit("a", None)]) == []


def test_aborted_transaction_is_dropped() -> None:
    assert compact([commit("a", 1, 7), end(7, Marker.ABORT)]) == []


def test_marker_is_kept_with_any_offset_of_its_transaction() -> None:
    log = [Batch((offset("a", 1), offset("b", 1)), 7, 0), end(7), commit("a", 2)]
    assert compact(log) == [Batch((offset("b", 1),), 7, 0), end(7), commit("a", 2)]
    assert compact([*log, commit("b", 2)]) == [Batch((offset("a", 2), offset("b", 2)))]


def test_open_transaction_keeps_its_last_offset_of_each_key() -> None:
    log = [commit("a", 1, 7), commit("a", 2, 7), commit("a", 3), commit("a", 4)]
    assert compact(log) == [log[1], log[3]]


def test_tombstone_during_a_transaction_is_kept_until_a_record_after_the_marker() -> None:
    log = [commit("a", 1, 7), commit("a", None), end(7)]
    assert compact(log) == log
    assert compact([*log, commit("a", 2)]) == [commit("a", 2)]


def test_compacted_size_does_not_grow_with_the_number_of_commits() -> None:
    log: list[Batch] = []
    for i in range(2000):
        log += [commit("abcdefgh"[i % 8], i), commit("abcdefgh"[i % 5], i, 7)]
        if i % 3 == 0:
            log.append(end(7, Marker(i % 2)))
    assert sum(max(1, len(batch.records)) for batch in compact(log)) < 40
