"""Which records of a log still matter: of each key the latest, and what open transactions need.

Nothing is rewritten here, and neither bytes nor typed records are known: a batch is the keys of
its records, and whether each is a tombstone.

A log without the records that are dropped loads as the whole one does, whatever is appended to
either afterwards, by the rules of 2.7 and by those of 4.1. What makes this more than "the latest
of each key" is that an offset in a transaction takes effect at the marker, but counts as being as
old as where it stands: at the marker it yields to an offset that was committed since
[GroupMetadataManager.scala:604 at 2.7.2]. A tombstone in between leaves nothing to yield to (2.7),
or takes the offset out of the transaction (4.1, OffsetMetadataManager.java:1186), so it stays with
the transaction's offset until something after the marker settles the key.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from groupcheck.implementation.log.records import NO_PRODUCER_ID, Marker


class Shape(NamedTuple):
    """A batch as seen from here: each record's key, and whether it is a tombstone."""

    records: tuple[tuple[Hashable, bool], ...] = ()
    producer_id: int = NO_PRODUCER_ID
    marker: Marker | None = None


class _Pending(NamedTuple):
    """A transaction's last record of a key; positions count records, and markers, from the start.

    An open transaction's `marker_at` is beyond every position.
    """

    key: Hashable
    at: int
    marker_at: float
    committed: bool


_OPEN = float("inf")


class _Survey:
    """What has to be known of the whole log before any record of it can be judged."""

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
        """Whether a transaction's record may still decide about its key."""
        if not pending.committed or pending.at == self.last[pending.key]:
            return True
        settled = self.last_plain.get(pending.key, -1) > pending.marker_at
        return not settled and any(
            pending.at < tombstone < pending.marker_at
            for tombstone in self.tombstones.get(pending.key, ())
        )


def _length(shape: Shape) -> int:
    """How many positions a batch takes."""
    return len(shape.records) if shape.marker is None else 1


def survivors(shapes: Sequence[Shape]) -> list[tuple[int, ...]]:
    """For each batch the places of its records that are kept; a marker that is kept has place 0."""
    survey = _Survey(shapes)
    kept: set[int] = set()
    markers: set[float] = set()
    # By key, where the first record of a transaction stands that is kept.
    first: dict[Hashable, int] = {}
    for pending in survey.pending:
        if survey.matters(pending):
            kept.add(pending.at)
            markers.add(pending.marker_at)
            first[pending.key] = min(pending.at, first.get(pending.key, pending.at))

    def matters(key: Hashable, at: int, *, is_tombstone: bool) -> bool:
        """Whether a plain record is kept."""
        if not is_tombstone:
            return survey.last[key] == at
        # A tombstone is needed only while something that it removes is there.
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
