"""The offsets topic as a broker keeps it: the segments of a partition, read as one history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from groupcheck.pipeline.offsets_topic.group_records import (
    Json,
    OtherKindError,
    UnreadableError,
    decode,
    profile_of,
)
from groupcheck.pipeline.offsets_topic.record_events import RecordEvents
from groupcheck.pipeline.offsets_topic.segments import Batch, Record, batches

if TYPE_CHECKING:
    from pyarrow import fs

Row = dict[str, Any]
LOOKED_AT: Final = 1_000  # records, for the version that has written them
SHOWN: Final = 64  # bytes that quarantine shows, as hexadecimal digits


class SegmentReader:
    """Reads the segments of one partition; `rows` gives events, quarantine, and a row a file.

    Args:
        source: the partition's folder, or its one segment, as a URI.
        system: where that is.
        paths: the segments, in the order of their offsets.

    """

    def __init__(self, source: str, system: fs.FileSystem, paths: list[str]) -> None:
        self._system = system
        self._paths = paths
        self._scheme = source.partition("://")[0]
        base = int(PurePosixPath(paths[0]).stem)
        self._events = RecordEvents(source, self._profile(), whole=base == 0)
        self._next = base  # the offset that is next, if nothing is missing
        self._open: dict[int, dict[str, None]] = {}  # the groups of each open transaction
        self._whole = base == 0
        self._ended: set[int] = set()  # producers with a marker since the last gap

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Each row with the name of its table."""
        for number, path in enumerate(self._paths):
            uri, counts, before = f"{self._scheme}://{path}", Counter[str](), self._events.count
            for batch in self._batches(path):
                rows, reason = self._batch(batch)
                yield from (("event", row) for row in rows)
                counts["kept"] += len(batch.records) - len(reason) if batch.next_offset else 0
                counts["quarantined"] += len(reason)
                for each in reason:
                    yield "quarantined", {"source": uri, "line": batch.position, **each}
            told = {name: counts[name] for name in ("kept", "quarantined")}
            events = self._events.count - before
            yield (
                "file",
                {
                    "source": uri,
                    "read": sum(told.values()),
                    **told,
                    "sessions": int(number == 0),
                    "events": events,
                },
            )

    def _profile(self) -> str:
        """The version that has written them, by the first records."""
        records = (
            record
            for path in self._paths
            for batch in self._batches(path)
            for record in batch.records
            if not batch.control
        )
        return profile_of((each.key, each.value) for each in islice(records, LOOKED_AT))

    def _batches(self, path: str) -> Iterator[Batch]:
        size = self._system.get_file_info(path).size
        try:
            with self._system.open_input_stream(path, compression=None) as file:
                yield from batches(file, size)
        except OSError as error:
            yield Batch(0, reason=f"cannot be read from here on: {error}")

    def _batch(self, batch: Batch) -> tuple[list[Row], list[Row]]:
        """The events of a batch, and what is in quarantine of it."""
        events = self._events
        if batch.reason:
            self._gap(f"byte {batch.position} of a segment: {batch.reason}")
            if batch.next_offset is not None:
                self._next = batch.next_offset
            return [], [{"reason": batch.reason, "text": None}]
        rows: list[Row] = []
        refused: list[Row] = []
        for record in batch.records:
            if record.offset < self._next:
                refused.append(_refused(record, "an offset that was there before"))
                continue
            if record.offset > self._next:
                self._gap(f"offsets {self._next} to {record.offset - 1} are not there")
            self._next = record.offset + 1
            events.time(record.timestamp)
            try:
                rows += (
                    self._marker(batch, record) if batch.control else self._record(batch, record)
                )
            except UnreadableError as error:
                self._gap(f"offset {record.offset}: {error}")
                refused.append(_refused(record, str(error)))
        if batch.next_offset is not None and batch.next_offset > self._next:
            self._gap(f"offsets {self._next} to {batch.next_offset - 1} are not there")
            self._next = batch.next_offset
        return rows, refused

    def _gap(self, reason: str) -> None:
        """Something is missing; transactions may have begun in it, of whatever group."""
        self._whole = False
        self._ended.clear()
        self._events.gap(reason)

    def _record(self, batch: Batch, record: Record) -> Iterator[Row]:
        try:
            told = decode(record.key, record.value)
        except OtherKindError as other:
            return self._events.cut(other.group, record.offset, str(other))
        group: str = told["key"]["data"]["group"]
        if batch.producer_id is not None:
            told |= _producer(batch)
            self._open.setdefault(batch.producer_id, {})[group] = None
        return self._events.take(group, record.offset, told)

    def _marker(self, batch: Batch, record: Record) -> Iterator[Row]:
        """The marker is an event of each group whose offsets the transaction has committed."""
        if batch.marker is None or batch.producer_id is None:
            return
        if not self._whole and batch.producer_id not in self._ended:
            self._ended.add(batch.producer_id)
            self._events.gap(f"offset {record.offset} ends what may have begun in a gap")
        told: Json = {"marker": batch.marker, **_producer(batch)}
        for group in self._open.pop(batch.producer_id, ()):
            yield from self._events.take(group, record.offset, told)


def _producer(batch: Batch) -> Json:
    return {"producerId": batch.producer_id, "producerEpoch": batch.producer_epoch}


def _refused(record: Record, reason: str) -> Row:
    shown = (record.key or b"")[:SHOWN].hex()
    return {"reason": f"offset {record.offset}: {reason}", "text": f"key {shown}"}
