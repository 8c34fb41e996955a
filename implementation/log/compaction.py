"""Selects the records that compaction retains: the latest of each key, and those of transactions.

This module only selects: it reads the keys of a batch's records, and whether each is a tombstone.

The compacted log loads like the original, also after further appends, by the rules of 2.7 and of
4.1. This needs more than "the latest of each key", because an offset in a transaction takes effect
at the marker, but is ordered by its position: at the marker, an offset that was committed later
wins [GroupMetadataManager.scala:604 at 2.7.2]. A tombstone in between removes that later offset
(2.7), or removes the offset from the transaction (4.1, OffsetMetadataManager.java:1186). So
compaction retains the tombstone with the transaction's offset until a record after the marker
replaces both.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from groupcheck.implementation.log.records import NO_PRODUCER_ID, Marker


class BatchKeys(NamedTuple):
    """The keys of a batch's records, and whether each is a tombstone."""

    records: tuple[tuple[Hashable, bool], ...] = ()
    producer_id: int = NO_PRODUCER_ID
    marker: Marker | None = None


class _Pending(NamedTuple):
    """A transaction's last record of a key; positions count records, and markers, from the start.

    An open transaction's `marker_at` is after every position.
    """

    key: Hashable
    at: int
    marker_at: float
    committed: bool


_OPEN = float("inf")


class _KeyPositions:
    """The positions of each key's records in the log."""

    def __init__(self, batches: Sequence[BatchKeys]) -> None:
        # By key, positions: of the last plain record, of the last plain or committed one, and of
        # every plain tombstone.
        self.last_plain: dict[Hashable, int] = {}
        self.last: dict[Hashable, int] = {}
        self.tombstones: dict[Hashable, list[int]] = {}
        self.pending: list[_Pending] = []
        self._open: dict[int, dict[Hashable, int]] = {}
        at = 0
        for batch in batches:
            if batch.marker is not None:
                self._end(batch.producer_id, at, committed=batch.marker is Marker.COMMIT)
            elif batch.producer_id != NO_PRODUCER_ID:
                self._in_transaction(batch, at)
            else:
                self._plain(batch, at)
            at += _length(batch)
        for producer_id in tuple(self._open):
            self._end(producer_id, _OPEN, committed=False)

    def _plain(self, batch: BatchKeys, at: int) -> None:
        for i, (key, is_tombstone) in enumerate(batch.records, at):
            self.last_plain[key] = self.last[key] = i
            if is_tombstone:
                self.tombstones.setdefault(key, []).append(i)

    def _in_transaction(self, batch: BatchKeys, at: int) -> None:
        offsets = self._open.setdefault(batch.producer_id, {})
        for i, (key, _) in enumerate(batch.records, at):
            offsets[key] = i

    def _end(self, producer_id: int, marker_at: float, *, committed: bool) -> None:
        for key, at in self._open.pop(producer_id, {}).items():
            if committed:
                self.last[key] = max(at, self.last.get(key, -1))
            if committed or marker_at == _OPEN:
                self.pending.append(_Pending(key, at, marker_at, committed))

    def is_needed(self, pending: _Pending) -> bool:
        """Whether a transaction's record may still decide the value of its key."""
        if not pending.committed or pending.at == self.last[pending.key]:
            return True
        replaced = self.last_plain.get(pending.key, -1) > pending.marker_at
        return not replaced and any(
            pending.at < tombstone < pending.marker_at
            for tombstone in self.tombstones.get(pending.key, ())
        )


def _length(batch: BatchKeys) -> int:
    """The number of positions of a batch."""
    return len(batch.records) if batch.marker is None else 1


def retained_records(batches: Sequence[BatchKeys]) -> list[tuple[int, ...]]:
    """For each batch the indexes of the records to retain; a marker to retain has index 0."""
    positions = _KeyPositions(batches)
    in_transactions: set[int] = set()
    markers: set[float] = set()
    # By key, the first retained record of a transaction.
    first: dict[Hashable, int] = {}
    for pending in positions.pending:
        if positions.is_needed(pending):
            in_transactions.add(pending.at)
            markers.add(pending.marker_at)
            first[pending.key] = min(pending.at, first.get(pending.key, pending.at))

    def is_retained(key: Hashable, at: int, *, is_tombstone: bool) -> bool:
        """Whether to retain a plain record."""
        if not is_tombstone:
            return positions.last[key] == at
        # A tombstone is needed only while a record that it removes is retained.
        return positions.tombstones[key][-1] == at and first.get(key, at) < at

    indexes: list[tuple[int, ...]] = []
    at = 0
    for batch in batches:
        if batch.marker is not None:
            retained = [0] if at in markers else []
        elif batch.producer_id != NO_PRODUCER_ID:
            retained = [i for i in range(len(batch.records)) if at + i in in_transactions]
        else:
            retained = [
                i
                for i, (key, is_tombstone) in enumerate(batch.records)
                if is_retained(key, at + i, is_tombstone=is_tombstone)
            ]
        indexes.append(tuple(retained))
        at += _length(batch)
    return indexes
