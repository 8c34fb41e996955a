"""Reads the batches of one partition of the offsets topic as events of its groups.

Missing or unreadable records are a gap, in which anything may have happened to any group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from groupcheck.pipeline.offsets_topic.group_records import (
    Json,
    OtherKindError,
    UnreadableError,
    decode,
)
from groupcheck.pipeline.offsets_topic.record_events import RecordEvents
from groupcheck.pipeline.offsets_topic.segments import Batch, Record

Row = dict[str, Any]
SHOWN: Final = 64  # bytes that quarantine shows, as hexadecimal digits


class PartitionReader:
    """Reads batches in order.

    Args:
        source: the name of the partition.
        profile: the version that has written them.
        base: the first possible offset; at 0 the histories of the groups are complete.
        sees: the kinds of records in the source, None for all.

    """

    def __init__(self, source: str, profile: str, base: int, sees: list[str] | None = None) -> None:
        self.source = source
        self._events = RecordEvents(source, profile, whole=base == 0, sees=sees)
        self._next = base  # the next offset, if none is missing
        self._open: dict[int, dict[str, None]] = {}  # the groups of each open transaction
        self._whole = base == 0
        self._ended: set[int] = set()  # producers with a marker since the last gap

    @property
    def events(self) -> int:
        """The number of events so far."""
        return self._events.count

    def take(self, batch: Batch) -> tuple[list[Row], list[Row]]:
        """The events of a batch, and its rows of quarantine."""
        if batch.reason:
            self._gap(f"byte {batch.position} of a segment: {batch.reason}")
            if batch.next_offset is not None:
                self._next = batch.next_offset
            return [], [{"reason": batch.reason, "text": None}]
        rows: list[Row] = []
        refused: list[Row] = []
        for record in batch.records:
            if record.offset < self._next:
                refused.append(_refused(record, "a repeated offset"))
                continue
            self._missing(record.offset)
            self._next = record.offset + 1
            self._events.time(record.timestamp)
            try:
                rows += (
                    self._marker(batch, record) if batch.control else self._record(batch, record)
                )
            except UnreadableError as error:
                self._gap(f"offset {record.offset}: {error}")
                refused.append(_refused(record, str(error)))
        if batch.next_offset is not None:
            self._missing(batch.next_offset)
        return rows, refused

    def _missing(self, upto: int) -> None:
        """Missing records before an offset are a gap."""
        if upto > self._next:
            self._gap(f"offsets {self._next} to {upto - 1} are missing")
            self._next = upto

    def _gap(self, reason: str) -> None:
        """Records are missing; transactions of any group may have begun there."""
        self._whole = False
        self._ended.clear()
        self._events.gap(reason)

    def _record(self, batch: Batch, record: Record) -> Iterator[Row]:
        try:
            decoded = decode(record.key, record.value)
        except OtherKindError as other:
            return self._events.cut(other.group, record.offset, str(other))
        group: str = decoded["key"]["data"]["group"]
        if batch.producer_id is not None:
            decoded |= _producer(batch)
            self._open.setdefault(batch.producer_id, {})[group] = None
        return self._events.take(group, record.offset, decoded)

    def _marker(self, batch: Batch, record: Record) -> Iterator[Row]:
        """The marker is an event of each group whose offsets the transaction has committed."""
        if batch.marker is None or batch.producer_id is None:
            return
        if not self._whole and batch.producer_id not in self._ended:
            self._ended.add(batch.producer_id)
            self._events.gap(
                f"offset {record.offset} ends a transaction that may have begun in a gap"
            )
        marker: Json = {"marker": batch.marker, **_producer(batch)}
        for group in self._open.pop(batch.producer_id, ()):
            yield from self._events.take(group, record.offset, marker)


def _producer(batch: Batch) -> Json:
    return {"producerId": batch.producer_id, "producerEpoch": batch.producer_epoch}


def _refused(record: Record, reason: str) -> Row:
    shown = (record.key or b"")[:SHOWN].hex()
    return {"reason": f"offset {record.offset}: {reason}", "text": f"key {shown}"}
