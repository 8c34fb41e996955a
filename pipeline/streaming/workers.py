"""The functions that run in Spark's workers for a stream: files to events, events to rows.

Between batches, histories are in a state store, in buckets. A history without new events for a long
time ends and is dropped, so the size of the store is that of the active groups.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from groupcheck.pipeline.history_replay import Rows
from groupcheck.pipeline.kernels import TransitionCounts, batches, begun, event_batches
from groupcheck.pipeline.offsets_topic.topic import by_partition, partition_reader, rows_of_records
from groupcheck.pipeline.readers import rows_of
from groupcheck.pipeline.schemas import EVENTS, FOLLOWED, QUARANTINE, one_of
from groupcheck.pipeline.sources import LOCAL, Read, place
from groupcheck.pipeline.streaming.versions import Versions, checkpoint, restore
from groupcheck.properties.histories.events import Event

MOST_SESSIONS: Final = 1_000  # whose first lines are stored for histories that were dropped
# The kinds of events in recordings; logs and the offsets topic have others.
KINDS: Final = {"open", "request", "response", "hold", "release", "fault", "gap", "cut"}
ARRIVED: Final = one_of(event=EVENTS, quarantined=QUARANTINE)


class BatchSettings(NamedTuple):
    """The settings of a batch.

    Args:
        state: the folder of the buckets.
        batch: the number of the batch.
        now_s: when it began, in seconds since 1970.
        idle_s: a history without an event for this time ends.
        profile: the version to check against, instead of that of the sources.
        unknown: the version for a history whose beginning is unknown.

    """

    state: str
    batch: int
    now_s: float
    idle_s: float
    profile: str | None
    unknown: str


class _Stored(NamedTuple):
    """A history: its replay, its last event, when that arrived, and whether it is reported."""

    replay: bytes
    seq: int
    arrived_s: float
    reported: bool


class Bucket:
    """The histories of one bucket after the previous batch."""

    def __init__(self, settings: BatchSettings, number: int) -> None:
        self._settings = settings
        self._versions = Versions(f"{settings.state}/{number:04}", settings.batch)
        self._histories: dict[tuple[str, str, int], _Stored] = {}
        self._opened: dict[tuple[str, int], str] = {}
        self._counts = TransitionCounts()
        self._changed = False
        before = self._versions.before()
        if before is not None:
            self._histories, self._opened = restore(before)

    def take(self, events: list[Event]) -> Rows:
        """Take events of one history, in order; the rows that are final."""
        key, settings = events[0].history, self._settings
        self._changed = True
        stored = self._histories.get(key)
        if stored is None:
            opened = self._beginning(events[0])
            stored = _Stored(checkpoint(begun(opened)), -1, settings.now_s, reported=False)
        replay, reported, seq = restore(stored.replay), stored.reported, stored.seq
        for event in events:
            if event.seq <= seq:
                reason = f"event {event.seq} of the file arrived after event {seq}"
                where = {"source": event.source, "line": event.line}
                yield "quarantined", {**where, "reason": reason, "text": event.body}
                continue
            seq = event.seq
            replay.take(event)
        yield from replay.complete()
        saved = checkpoint(replay)
        if replay.rejected and not reported:
            reported = True
            # The copy ends; the history continues.
            yield from (row for row in restore(saved).end() if row[0] == "finding")
        self._histories[key] = _Stored(saved, seq, settings.now_s, reported)

    def _beginning(self, first: Event) -> Event:
        """The first event of the history, even if `first` is a later one."""
        session = first.source, first.session
        if first.kind == "open":
            header = json.loads(first.body or "{}")
            if self._settings.profile is not None:
                header["profile"] = self._settings.profile
            self._opened[session] = json.dumps(header)
            while len(self._opened) > MOST_SESSIONS:
                del self._opened[next(iter(self._opened))]
            return first._replace(body=json.dumps(header))
        profile = self._settings.profile or self._settings.unknown
        unknown = {"trace": 1, "profile": profile, "config": {}, "assumed": True}
        header = json.loads(self._opened.get(session) or json.dumps(unknown))
        return first._replace(kind="open", body=json.dumps({**header, "before": True}))

    def idle(self) -> Rows:
        """End and drop the idle histories; returns their rows."""
        idle_since_s = self._settings.now_s - self._settings.idle_s
        for key in [key for key, each in self._histories.items() if each.arrived_s <= idle_since_s]:
            self._changed = True
            stored = self._histories.pop(key)
            rows = self._counts.ended(restore(stored.replay))
            yield from (row for row in rows if not (stored.reported and row[0] == "finding"))
        yield from self._counts.rows()

    def write(self) -> None:
        """Write the state, if it has changed."""
        if self._changed:
            self._versions.write(checkpoint((self._histories, self._opened)))


def arrived(paths: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `ARRIVED` of the files in a column `path`: Parquet of events, or any source."""
    rows = (
        row
        for batch in paths
        for path in map(_uri, batch.column("path").to_pylist())
        for row in _recorded(_events(path) if _has_events(path) else rows_of(path))
    )
    return batches(rows, ARRIVED)


def arrived_records(
    settings: BatchSettings, source: str, records: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of `ARRIVED` of records of a topic, sorted by partition and offset.

    The position in each partition is kept beside the buckets.
    """
    rows = (row for row in _of_topic(settings, source, records) if row[0] != "file")
    return batches(rows, ARRIVED)


def _of_topic(settings: BatchSettings, source: str, arriving: Iterable[pa.RecordBatch]) -> Read:
    for partition, records in by_partition(arriving):
        versions = Versions(f"{settings.state}/partition-{partition}", settings.batch)
        before = versions.before()
        reader, more = (
            partition_reader(f"{source}-{partition}", records)
            if before is None
            else (restore(before), records)
        )
        yield from rows_of_records(reader, more)
        versions.write(checkpoint(reader))


def follow(settings: BatchSettings, events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `FOLLOWED` of events that are sorted by `bucket`, then by history and `seq`.

    The first row of each bucket has no group.
    """
    gc.set_threshold(50_000)  # states are many tuples, and few of them are garbage
    return batches(_followed(settings, events), FOLLOWED)


def _followed(settings: BatchSettings, arriving: Iterable[pa.RecordBatch]) -> Rows:
    rows = chain.from_iterable(map(_rows, arriving))
    for number, of_bucket in groupby(rows, key=itemgetter(0)):
        bucket = Bucket(settings, number)
        events = (Event._make(row[1:]) for row in of_bucket if row[1] is not None)
        for _, of_history in groupby(events, key=attrgetter("history")):
            yield from bucket.take(list(of_history))
        yield from bucket.idle()
        bucket.write()


def _recorded(rows: Read) -> Read:
    """The rows without those of files; events of logs and segments are in quarantine."""
    for name, row in rows:
        if name == "event" and (row.kind not in KINDS or _begins_no_recording(row)):
            where = {"source": row.source, "line": row.line, "text": row.body}
            yield (
                "quarantined",
                {**where, "reason": "not a recording: only check without --follow checks it"},
            )
        elif name != "file":
            yield name, row


def _begins_no_recording(event: Event) -> bool:
    return event.kind == "open" and json.loads(event.body or "{}").get("observes") is not None


def _uri(path: str) -> str:
    """A path of Hadoop, such as `file:/tmp/x`, as a URI."""
    return path if "://" in path else f"{LOCAL}{path.removeprefix('file:')}"


def _has_events(path: str) -> bool:
    """Whether a file is Parquet of events, as `ingest` writes it."""
    if not path.endswith(".parquet"):
        return False
    system, inside = place(path)
    try:
        with system.open_input_file(inside) as file:
            names = pq.read_schema(file).names
    except (OSError, pa.ArrowException):  # the reader quarantines it
        return False
    return set(EVENTS.names) <= set(names)


def _events(path: str) -> Read:
    for batch in event_batches(path):
        yield from (("event", Event._make(row)) for row in _rows(batch))


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*map(pa.Array.to_pylist, batch.columns), strict=True)
