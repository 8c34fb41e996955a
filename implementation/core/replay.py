"""The groups and offsets of a partition, replayed from its batches.

The last record of a key counts. Offsets in a transaction take effect at the marker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from groupcheck.implementation.core.offsets import Offset, Staged, TopicPartition
from groupcheck.implementation.core.profiles import Behaviour
from groupcheck.implementation.log.records import (
    NO_PRODUCER_ID,
    Batch,
    GroupMetadataRecord,
    GroupMetadataValue,
    Marker,
    OffsetCommitRecord,
)

V = TypeVar("V")

Transaction = dict[str, dict[TopicPartition, Staged]]


class Replay:
    """The groups and offsets of one partition after the batches read so far."""

    def __init__(self, behaviour: Behaviour, next_position: Callable[[], int]) -> None:
        self._behaviour = behaviour
        self._next_position = next_position
        self._groups: dict[str, GroupMetadataValue | None] = {}
        self._open: dict[int, Transaction] = {}
        self.offsets: dict[str, dict[TopicPartition, Offset]] = {}

    def read(self, batch: Batch) -> None:
        """Read the next batch."""
        if batch.marker is not None:
            self._end(batch.producer_id, batch.marker)
            return
        position = self._next_position()
        for record in batch.records:
            if isinstance(record, GroupMetadataRecord):
                self._read_group(record)
            elif record.value is None:
                self._remove(record, batch.producer_id)
            else:
                self._put(record, batch.producer_id, position)

    def groups(self) -> dict[str, GroupMetadataValue | None]:
        """The groups with a record, and those with offsets only.

        A group without a record and without remaining offsets is omitted, so that compaction makes
        no difference.
        """
        names = {name for transaction in self._open.values() for name in transaction}
        return {**dict.fromkeys([*self.offsets, *sorted(names)]), **self._groups}

    def transactions(self, group_id: str) -> Iterator[tuple[int, dict[TopicPartition, Staged]]]:
        """The open transactions of a group, by producer."""
        for producer_id, transaction in self._open.items():
            if staged := transaction.get(group_id):
                yield producer_id, staged

    def _read_group(self, record: GroupMetadataRecord) -> None:
        if record.value is None:
            self._groups.pop(record.key.group, None)
        else:
            self._groups[record.key.group] = record.value

    def _put(self, record: OffsetCommitRecord, producer_id: int, position: int) -> None:
        group_id, partition = record.key.group, record.key[1:]
        value = record.value
        if value is None:
            return
        if producer_id == NO_PRODUCER_ID:
            self.offsets.setdefault(group_id, {})[partition] = Offset(*value, position)
        else:
            transaction = self._open.setdefault(producer_id, {})
            transaction.setdefault(group_id, {})[partition] = Staged(value, position)

    def _remove(self, record: OffsetCommitRecord, producer_id: int) -> None:
        group_id, partition = record.key.group, record.key[1:]
        if producer_id == NO_PRODUCER_ID:
            _drop(self.offsets, group_id, partition)
        for producer, transaction in self._open.items():
            if producer == producer_id or (
                producer_id == NO_PRODUCER_ID and self._behaviour.tombstones_clear_transactions
            ):
                _drop(transaction, group_id, partition)

    def _end(self, producer_id: int, marker: Marker) -> None:
        transaction = self._open.pop(producer_id, {})
        if marker is Marker.ABORT:
            return
        for group_id, staged in transaction.items():
            offsets = self.offsets.setdefault(group_id, {})
            for partition, (value, position) in staged.items():
                known = offsets.get(partition)
                if position is not None and (known is None or known.position < position):
                    offsets[partition] = Offset(*value, position)


def _drop(
    groups: dict[str, dict[TopicPartition, V]], group_id: str, partition: TopicPartition
) -> None:
    """Drop a partition from a group's offsets, and the group with the last one."""
    found = groups.get(group_id)
    if found is not None:
        found.pop(partition, None)
        if not found:
            del groups[group_id]
