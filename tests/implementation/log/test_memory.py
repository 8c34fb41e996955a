"""The log in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

from groupcheck.implementation.log.memory import MemoryLog, compact
from groupcheck.implementation.log.records import (
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    Marker,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)
from groupcheck.model.vocabulary import ErrorCode


def offset(partition: int, value: int | None) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        OffsetCommitKey("g", "t", partition), None if value is None else OffsetCommitValue(value)
    )


def group(generation: int) -> GroupMetadataRecord:
    return GroupMetadataRecord(GroupMetadataKey("g"), GroupMetadataValue("consumer", generation))


def append(log: MemoryLog, batch: Batch) -> None:
    errors: list[ErrorCode] = []
    log.append(3, batch, errors.append)
    assert errors == [ErrorCode.NONE]


def test_appended_batches_are_read_in_order_from_their_partition() -> None:
    log = MemoryLog()
    batches = [Batch((group(1),)), Batch((offset(0, 5),), 7, 0), Batch((), 7, 0, Marker.COMMIT)]
    for batch in batches:
        append(log, batch)
    assert list(log.read(3)) == batches
    assert list(log.read(4)) == []


def test_size_follows_the_number_of_keys_and_not_of_commits() -> None:
    log = MemoryLog()
    for i in range(20_000):
        append(log, Batch((offset(i % 10, i), group(i))))
    assert sum(len(batch.records) for batch in log.read(3)) <= 1_000
    expected: list[Record] = [*(offset(i, 19_990 + i) for i in range(10)), group(19_999)]
    assert latest(log.read(3)) == {record.key: record for record in expected}


def test_size_follows_the_number_of_keys_while_a_transaction_is_open() -> None:
    log = MemoryLog()
    append(log, Batch((offset(0, 0),), 7, 0))
    for i in range(20_000):
        append(log, Batch((offset(i % 10, i),)))
        append(log, Batch((offset(i % 10, i),), 8, 0))
    assert sum(len(batch.records) for batch in log.read(3)) <= 1_000
    assert Batch((offset(0, 0),), 7, 0) in log.read(3)


def test_no_key_is_lost_above_the_compaction_limit() -> None:
    log = MemoryLog()
    for i in range(5_000):
        append(log, Batch((offset(i, i),)))
    assert latest(log.read(3)) == {offset(i, i).key: offset(i, i) for i in range(5_000)}


def test_plain_records_are_merged_but_not_across_a_transactional_batch() -> None:
    log = [
        Batch((offset(0, 1),)),
        Batch((offset(1, 1), offset(2, None))),
        Batch((offset(3, 1), offset(4, 1)), 7, 2),
        Batch((offset(4, 2),)),
        Batch((), 7, 2, Marker.COMMIT),
        Batch((offset(5, 1),)),
    ]
    assert compact(log) == [
        Batch((offset(0, 1), offset(1, 1))),
        Batch((offset(3, 1),), 7, 2),
        Batch((offset(4, 2),)),
        Batch((), 7, 2, Marker.COMMIT),
        Batch((offset(5, 1),)),
    ]


def latest(batches: Iterable[Batch]) -> dict[object, object]:
    return {record.key: record for batch in batches for record in batch.records}


def test_memory_log_needs_no_optional_dependency() -> None:
    program = """
import sys
sys.modules["aiokafka"] = sys.modules["kio"] = None
import groupcheck.implementation.log.records
"""
    subprocess.run([sys.executable, "-c", program], check=True)
