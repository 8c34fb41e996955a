"""A log in memory, compacted as it grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from groupcheck.implementation.log.compaction import BatchKeys, retained_records
from groupcheck.implementation.log.records import NO_PRODUCER_ID, Batch, Completed, Record
from groupcheck.model.vocabulary import ErrorCode


class MemoryLog:
    """A log in memory: appends complete at once, and nothing survives the process.

    It is compacted whenever it has doubled since the last time, so that its size follows the number
    of groups and offsets and not that of commits.
    """

    __slots__ = ("_partitions",)

    def __init__(self) -> None:
        self._partitions: dict[int, _Partition] = {}

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch, and report success at once."""
        stored = self._partitions.get(partition)
        if stored is None:
            stored = self._partitions[partition] = _Partition()
        stored.append(batch)
        completed(ErrorCode.NONE)

    def read(self, partition: int) -> Iterable[Batch]:
        """All batches of a partition that compaction keeps, in the order of the log."""
        stored = self._partitions.get(partition)
        return () if stored is None else tuple(stored.batches)


# With fewer records compaction costs more than it saves.
_MIN_LIMIT: Final = 1_000


class _Partition:
    """The batches of a partition, and the number of records that triggers compaction."""

    __slots__ = ("_limit", "_size", "batches")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self._size = 0
        self._limit = _MIN_LIMIT

    def append(self, batch: Batch) -> None:
        """Append a batch, and compact if the limit is reached."""
        self.batches.append(batch)
        self._size += _size(batch)
        if self._size >= self._limit:
            self.batches = compact(self.batches)
            self._size = sum(map(_size, self.batches))
            self._limit = max(_MIN_LIMIT, 2 * self._size)


def _size(batch: Batch) -> int:
    """The number of records that a batch counts as."""
    return len(batch.records) or 1


def compact(batches: Sequence[Batch]) -> list[Batch]:
    """The batches without the records that compaction drops.

    Consecutive plain records are merged into one batch.
    """
    if all(batch.producer_id == NO_PRODUCER_ID for batch in batches):
        return _compact_plain(batches)
    compacted: list[Batch] = []
    plain: list[Record] = []

    def flush_plain() -> None:
        if plain:
            compacted.append(Batch(tuple(plain)))
            plain.clear()

    retained = retained_records([_keys_of(batch) for batch in batches])
    for batch, indexes in zip(batches, retained, strict=True):
        records = tuple(batch.records[index] for index in indexes if batch.records)
        if batch.producer_id == NO_PRODUCER_ID:
            plain += records
        elif indexes:
            flush_plain()
            compacted.append(batch._replace(records=records))
    flush_plain()
    return compacted


def _compact_plain(batches: Sequence[Batch]) -> list[Batch]:
    """Without transactions retain the latest record of each key, in a tenth of the time."""
    latest: dict[object, Record] = {}
    for batch in batches:
        for record in batch.records:
            latest.pop(record.key, None)
            latest[record.key] = record
    records = tuple(record for record in latest.values() if record.value is not None)
    return [Batch(records)] if records else []


def _keys_of(batch: Batch) -> BatchKeys:
    """The keys of a batch's records."""
    records = tuple((record.key, record.value is None) for record in batch.records)
    return BatchKeys(records, batch.producer_id, batch.marker)
