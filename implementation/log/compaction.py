"""Which records of a log compaction keeps: the latest of each key, and those of transactions.

This module rewrites nothing and sees neither bytes nor typed records: a batch is the keys of its
records, and whether each is a tombstone.

The compacted log loads like the whole one, whatever is appended to either afterwards, by the rules
of 2.7 and of 4.1. This is more than "the latest of each key", because an offset in a transaction
takes effect at the marker, but counts as old as its position: at the marker, an offset that was
committed later wins [GroupMetadataManager.scala:604 at 2.7.2]. A tombstone in between removes that
later offset (2.7), or removes the offset from the transaction (4.1,
OffsetMetadataManager.java:1186). So the tombstone is kept with the transaction's offset until a
record after the marker replaces both.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from groupcheck.implementation.log.records import NO_PRODUCER_ID, Marker


class Shape(NamedTuple):
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


class _Survey:
    """Positions in the whole log, which decide about each record."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        # By key, positions: of the last plain record, of the last plain or committed one, and of
        # every plain tombstone.
        self.last_plain: dict[Hashable, int] = {}
        self.last: dict[Hashable, int] = {}
        self.tombstones: dict[Hashable, list[int]] = {}
        self.pending: list[_Pending] = []
        self._open: dict[int, dict[Hashable, int]] = {}
        at = 0
        for shape in shapes:
            if shape.marker is not None:
                self._end(shape.producer_id, at, committed=shape.marker is Marker.COMMIT)
            elif shape.producer_id != NO_PRODUCER_ID:
                self._in_transaction(shape, at)
            else:
                self._plain(shape, at)
            at += _length(shape)
        for producer_id in tuple(self._open):
            self._end(producer_id, _OPEN, committed=False)

    def _plain(self, shape: Shape, at: int) -> None:
        for i, (key, is_tombstone) in enumerate(shape.records, at):
            self.last_plain[key] = self.last[key] = i
            if is_tombstone:
                self.tombstones.setdefault(key, []).append(i)

    def _in_transaction(self, shape: Shape, at: int) -> None:
        offsets = self._open.setdefault(shape.producer_id, {})
        for i, (key, _) in enumerate(shape.records, at):
            offsets[key] = i

    def _end(self, producer_id: int, marker_at: float, *, committed: bool) -> None:
        for key, at in self._open.pop(producer_id, {}).items():
            if committed:
                self.last[key] = max(at, self.last.get(key, -1))
            if committed or marker_at == _OPEN:
                self.pending.append(_Pending(key, at, marker_at, committed))

    def matters(self, pending: _Pending) -> bool:
        """Whether a transaction's record may still decide the value of its key."""
        if not pending.committed or pending.at == self.last[pending.key]:
            return True
        settled = self.last_plain.get(pending.key, -1) > pending.marker_at
        return not settled and any(
            pending.at < tombstone < pending.marker_at
            for tombstone in self.tombstones.get(pending.key, ())
        )


def _length(shape: Shape) -> int:
    """The number of positions of a batch."""
    return len(shape.records) if shape.marker is None else 1


def survivors(shapes: Sequence[Shape]) -> list[tuple[int, ...]]:
    """For each batch the indexes of the records to keep; a marker to keep has index 0."""
    survey = _Survey(shapes)
    kept: set[int] = set()
    markers: set[float] = set()
    # By key, the first kept record of a transaction.
    first: dict[Hashable, int] = {}
    for pending in survey.pending:
        if survey.matters(pending):
            kept.add(pending.at)
            markers.add(pending.marker_at)
            first[pending.key] = min(pending.at, first.get(pending.key, pending.at))

    def matters(key: Hashable, at: int, *, is_tombstone: bool) -> bool:
        """Whether to keep a plain record."""
        if not is_tombstone:
            return survey.last[key] == at
        # A tombstone is needed only while a record that it removes is kept.
        return survey.tombstones[key][-1] == at and first.get(key, at) < at

    places: list[tuple[int, ...]] = []
    at = 0
    for shape in shapes:
        if shape.marker is not None:
            places.append((0,) if at in markers else ())
        elif shape.producer_id != NO_PRODUCER_ID:
            places.append(tuple(i for i in range(len(shape.records)) if at + i in kept))
        else:
            places.append(
                tuple(
                    i
                    for i, (key, is_tombstone) in enumerate(shape.records)
                    if matters(key, at + i, is_tombstone=is_tombstone)
                )
            )
        at += _length(shape)
    return places
