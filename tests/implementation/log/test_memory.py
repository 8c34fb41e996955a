"""The log in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

from groupcheck.implementation.log.memory import MemoryLog, compact
from groupcheck.implementation.log.records import Batch, Marker
from groupcheck.model.vocabulary import ErrorCode
from support.log_records import offset


def append(log: MemoryLog, batch: Batch) -> None:
    errors: list[ErrorCode] = []
    log.append(3, batch, errors.append)
    assert errors == [ErrorCode.NONE]


def test_appended_batches_are_read_in_order_from_their_partition() -> None:
    log = MemoryLog()
    batches = [
        Batch((offset("h", 1),)),
        Batch((offset("g", 5, 0),), 7, 0),
        Batch((), 7, 0, Marker.COMMIT),
    ]
    for batch in batches:
        append(log, batch)
    assert list(log.read(3)) == batches
    assert list(log.read(4)) == []


def test_size_follows_the_number_of_keys_and_not_of_commits() -> None:
    log = MemoryLog()
    for i in range(20_000):
        append(log, Batch((offset("g", i, i % 10), offset("h", i))))
    assert sum(len(batch.records) for batch in log.read(3)) <= 1_000
    expected = [*(offset("g", 19_990 + i, i) for i in range(10)), offset("h", 19_999)]
    assert latest(log.read(3)) == {record.key: record for record in expected}


def test_size_follows_the_number_of_keys_while_a_transaction_is_open() -> None:
    log = MemoryLog()
    append(log, Batch((offset("g", 0, 0),), 7, 0))
    for i in range(20_000):
        append(log, Batch((offset("g", i, i % 10),)))
        append(log, Batch((offset("g", i, i % 10),), 8, 0))
    assert sum(len(batch.records) for batch in log.read(3)) <= 1_000
    assert Batch((offset("g", 0, 0),), 7, 0) in log.read(3)


def test_plain_records_are_merged_but_not_across_a_transactional_batch() -> None:
    log = [
        Batch((offset("g", 1, 0),)),
        Batch((offset("g", 1, 1), offset("g", None, 2))),
        Batch((offset("g", 1, 3), offset("g", 1, 4)), 7, 2),
        Batch((offset("g", 2, 4),)),
        Batch((), 7, 2, Marker.COMMIT),
        Batch((offset("g", 1, 5),)),
    ]
    assert compact(log) == [
        Batch((offset("g", 1, 0), offset("g", 1, 1))),
        Batch((offset("g", 1, 3),), 7, 2),
        Batch((offset("g", 2, 4),)),
        Batch((), 7, 2, Marker.COMMIT),
        Batch((offset("g", 1, 5),)),
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
