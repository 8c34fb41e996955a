"""Reads the batches of one partition of the offsets topic as events of its groups.

Missing or unreadable records are a gap: any group may be in any state after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.pipeline.offsets_topic.group_records import (
    Json,
    OtherKindError,
    UnreadableError,
    decode,
)
from groupcheck.pipeline.offsets_topic.segments import Batch, Record
from groupcheck.properties.histories.events import Event

Row = dict[str, Any]
OBSERVES: Final = "records"
MOST_KEY_BYTES: Final = 64  # in quarantine, as hexadecimal digits


class RecordEvents:
    """The events of one partition.

    Args:
        source: the name of the partition.
        profile: the version that has written the records.
        complete: whether the partition has all records from the first on.
        kinds: the kinds of records in the source, None for all.

    """

    def __init__(
        self, source: str, profile: str, *, complete: bool, kinds: list[str] | None = None
    ) -> None:
        self._source = source
        self._header: Json = {"observes": OBSERVES, "profile": profile}
        if kinds is not None:
            self._header["kinds"] = kinds
        self._complete = complete
        self._gap = ""
        self._gaps = 0
        self._seen: dict[str, int] = {}  # groups, and how many gaps their events include
        self._first_ms: int | None = None
        self._now_ms = 0
        self.count = 0

    def gap(self, reason: str) -> None:
        """Records of any group may be missing here."""
        self._gaps += 1
        self._gap = reason

    def time(self, timestamp: int | None) -> None:
        """Set the time, in ms since 1970."""
        if timestamp is not None and timestamp >= 0:
            if self._first_ms is None:
                self._first_ms = timestamp
            self._now_ms = max(0, timestamp - self._first_ms)

    def take(self, group: str, line: int, record: Json) -> Iterator[Event]:
        """The rows of a record of a group."""
        if group not in self._seen:
            before = not self._complete or self._gaps > 0
            yield self._row(group, line, "open", {**self._header, "before": before})
        elif self._seen[group] < self._gaps:
            yield self._row(group, line, "gap", self._gap)
        self._seen[group] = self._gaps
        yield self._row(group, line, "record", record)

    def cut(self, group: str, line: int, reason: str) -> Iterator[Event]:
        """The rows of a record that the model does not cover."""
        if group not in self._seen:
            self._seen[group] = self._gaps
            yield self._row(group, line, "open", {**self._header, "before": True})
        yield self._row(group, line, "cut", reason)

    def _row(self, group: str, line: int, kind: str, body: Json | str) -> Event:
        self.count += 1
        text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
        return Event(
            group_id=group,
            source=self._source,
            session=1,
            seq=self.count,
            line=line,
            at_ms=self._now_ms,
            kind=kind,
            body=text,
        )


class PartitionReader:
    """Reads batches in order.

    Args:
        source: the name of the partition.
        profile: the version that has written them.
        base: the first possible offset; at 0 the histories of the groups are complete.
        kinds: the kinds of records in the source, None for all.

    """

    def __init__(
        self, source: str, profile: str, base: int, kinds: list[str] | None = None
    ) -> None:
        self.source = source
        self._events = RecordEvents(source, profile, complete=base == 0, kinds=kinds)
        self._next = base  # the next offset, if none is missing
        self._open: dict[int, dict[str, None]] = {}  # the groups of each open transaction
        self._complete = base == 0
        self._ended: set[int] = set()  # producers with a marker since the last gap

    @property
    def events(self) -> int:
        """The number of events so far."""
        return self._events.count

    def take(self, batch: Batch) -> tuple[list[Event], list[Row]]:
        """The events of a batch, and its rows of quarantine."""
        if batch.reason:
            self._gap(f"byte {batch.position} of a segment: {batch.reason}")
            if batch.next_offset is not None:
                self._next = batch.next_offset
            return [], [{"reason": batch.reason, "text": None}]
        rows: list[Event] = []
        quarantined: list[Row] = []
        for record in batch.records:
            if record.offset < self._next:
                quarantined.append(_quarantined(record, "a repeated offset"))
                continue
            self._advance(record.offset)
            self._next = record.offset + 1
            self._events.time(record.timestamp)
            try:
                rows += (
                    self._marker(batch, record) if batch.control else self._record(batch, record)
                )
            except UnreadableError as error:
                self._gap(f"offset {record.offset}: {error}")
                quarantined.append(_quarantined(record, str(error)))
        if batch.next_offset is not None:
            self._advance(batch.next_offset)
        return rows, quarantined

    def _advance(self, offset: int) -> None:
        """Go to an offset; missing records before it are a gap."""
        if offset > self._next:
            self._gap(f"offsets {self._next} to {offset - 1} are missing")
            self._next = offset

    def _gap(self, reason: str) -> None:
        """Records are missing; transactions of any group may have begun in the gap."""
        self._complete = False
        self._ended.clear()
        self._events.gap(reason)

    def _record(self, batch: Batch, record: Record) -> Iterator[Event]:
        try:
            decoded = decode(record.key, record.value)
        except OtherKindError as other:
            return self._events.cut(other.group, record.offset, str(other))
        group: str = decoded["key"]["data"]["group"]
        if batch.producer_id is not None:
            decoded |= _producer(batch)
            self._open.setdefault(batch.producer_id, {})[group] = None
        return self._events.take(group, record.offset, decoded)

    def _marker(self, batch: Batch, record: Record) -> Iterator[Event]:
        """The marker is an event of each group whose offsets the transaction has committed."""
        if batch.marker is None or batch.producer_id is None:
            return
        if not self._complete and batch.producer_id not in self._ended:
            self._ended.add(batch.producer_id)
            self._events.gap(
                f"offset {record.offset} ends a transaction that may have begun in a gap"
            )
        marker: Json = {"marker": batch.marker, **_producer(batch)}
        for group in self._open.pop(batch.producer_id, ()):
            yield from self._events.take(group, record.offset, marker)


def _producer(batch: Batch) -> Json:
    return {"producerId": batch.producer_id, "producerEpoch": batch.producer_epoch}


def _quarantined(record: Record, reason: str) -> Row:
    key = (record.key or b"")[:MOST_KEY_BYTES].hex()
    return {"reason": f"offset {record.offset}: {reason}", "text": f"key {key}"}
