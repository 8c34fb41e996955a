"""The functions that run in Spark's workers for a stream: files to events, events to rows.

Histories wait between batches in a state store, in buckets. A history without new events for a long
time is over, and is dropped, so the size of the store grows with the active groups.
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
from pyspark.sql.types import StructType

from groupcheck.pipeline.history_replay import Rows
from groupcheck.pipeline.kernels import TransitionCounts, batches, begun, event_batches, rows_in
from groupcheck.pipeline.offsets_topic.topic import by_partition, partition_begun, rows_of_records
from groupcheck.pipeline.readers import rows_of
from groupcheck.pipeline.schemas import CHECKED, EVENTS, QUARANTINE, arrow, one_of
from groupcheck.pipeline.sources import LOCAL, place
from groupcheck.pipeline.streaming.versions import Versions, checkpoint, restore
from groupcheck.properties.histories.events import Event

SESSIONS: Final = 1_000  # whose first lines are kept after their histories were dropped
# The kinds of events in recordings; logs and the offsets topic have others.
KINDS: Final = {"open", "request", "response", "hold", "release", "fault", "gap", "cut"}
ARRIVED: Final = one_of(event=EVENTS, quarantined=QUARANTINE)
FOLLOWED: Final = StructType([*CHECKED.fields, *one_of(quarantined=QUARANTINE).fields])


class Following(NamedTuple):
    """The settings of a batch.

    Args:
        state: the folder of the buckets.
        batch: the number of the batch.
        now_s: when it began, in seconds since 1970.
        idle_s: a history without an event for this time is over.
        profile: the version to check against, instead of that of the sources.
        unknown: the version for a history whose begin is unknown.

    """

    state: str
    batch: int
    now_s: float
    idle_s: float
    profile: str | None
    unknown: str


class _Waiting(NamedTuple):
    """A history: its replay, its last event, when that arrived, and whether it is reported."""

    replay: bytes
    seq: int
    came_s: float
    reported: bool


class Bucket:
    """The histories of one bucket after the batch before."""

    def __init__(self, how: Following, number: int) -> None:
        self._how = how
        self._versions = Versions(f"{how.state}/{number:04}", how.batch)
        self._waiting: dict[tuple[str, str, int], _Waiting] = {}
        self._opened: dict[tuple[str, int], str] = {}
        self._counts = TransitionCounts()
        self._changed = False
        before = self._versions.before()
        if before is not None:
            self._waiting, self._opened = restore(before)

    def take(self, events: list[Event]) -> Rows:
        """Take events of one history, in order; the rows that are final."""
        key, how = events[0].history, self._how
        self._changed = True
        waiting = self._waiting.get(key)
        if waiting is None:
            opened = self._beginning(events[0])
            waiting = _Waiting(checkpoint(begun(opened)), -1, how.now_s, reported=False)
        replay, reported, seq = restore(waiting.replay), waiting.reported, waiting.seq
        for event in events:
            if event.seq <= seq:
                reason = f"event {event.seq} of the file came after event {seq}"
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
        self._waiting[key] = _Waiting(saved, seq, how.now_s, reported)

    def _beginning(self, first: Event) -> Event:
        """The first event of the history, even if `first` is a later one."""
        session = first.source, first.session
        if first.kind == "open":
            header = json.loads(first.body or "{}")
            if self._how.profile is not None:
                header["profile"] = self._how.profile
            self._opened[session] = json.dumps(header)
            while len(self._opened) > SESSIONS:
                del self._opened[next(iter(self._opened))]
            return first._replace(body=json.dumps(header))
        unknown = {"trace": 1, "profile": self._how.profile or self._how.unknown, "config": {}}
        unknown["assumed"] = True
        header = json.loads(self._opened.get(session) or json.dumps(unknown))
        return first._replace(kind="open", body=json.dumps({**header, "before": True}))

    def idle(self) -> Rows:
        """Drop the histories that are over; their rows."""
        long_ago = self._how.now_s - self._how.idle_s
        for key in [key for key, each in self._waiting.items() if each.came_s <= long_ago]:
            self._changed = True
            waiting = self._waiting.pop(key)
            replay = restore(waiting.replay)
            ended = self._counts.ended(replay)
            yield from (row for row in ended if not (waiting.reported and row[0] == "finding"))
        yield from self._counts.rows()

    def keep(self) -> None:
        """Write the state."""
        if self._changed:
            self._versions.keep(checkpoint((self._waiting, self._opened)))


def arrived(paths: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `ARRIVED` of the files in a column `path`: Parquet of events, or any source."""
    rows = (
        row
        for batch in paths
        for path in map(_uri, batch.column("path").to_pylist())
        for row in _recorded(_events(path) if _has_events(path) else rows_of(path))
    )
    return batches(rows, arrow(ARRIVED))


def arrived_records(
    how: Following, source: str, records: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of `ARRIVED` of records of a topic, sorted by partition and offset.

    The position in each partition is kept beside the buckets.
    """
    rows = (row for row in _of_topic(how, source, records) if row[0] != "file")
    return batches(rows, arrow(ARRIVED))


def _of_topic(how: Following, source: str, arriving: Iterable[pa.RecordBatch]) -> Rows:
    for partition, records in by_partition(arriving):
        versions = Versions(f"{how.state}/partition-{partition}", how.batch)
        before = versions.before()
        reader, more = (
            partition_begun(f"{source}-{partition}", records)
            if before is None
            else (restore(before), records)
        )
        yield from rows_of_records(reader, more)
        versions.keep(checkpoint(reader))


def follow(how: Following, events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `FOLLOWED` of events that are sorted by `bucket`, then by history and `seq`.

    The first row of each bucket has no group.
    """
    gc.set_threshold(50_000)  # states are tuples of tuples, and hardly any of them are garbage
    return batches(_followed(how, events), arrow(FOLLOWED))


def _followed(how: Following, arriving: Iterable[pa.RecordBatch]) -> Rows:
    rows = chain.from_iterable(map(rows_in, arriving))
    for number, of_bucket in groupby(rows, key=itemgetter(0)):
        bucket = Bucket(how, number)
        events = (Event._make(row[1:]) for row in of_bucket if row[1] is not None)
        for _, of_history in groupby(events, key=attrgetter("history")):
            yield from bucket.take(list(of_history))
        yield from bucket.idle()
        bucket.keep()


def _recorded(rows: Rows) -> Rows:
    """The rows without those of files; events of logs and segments are quarantined."""
    for name, row in rows:
        if name == "event" and (row["kind"] not in KINDS or _begins_another(row)):
            where = {"source": row["source"], "line": row["line"], "text": row["body"]}
            yield (
                "quarantined",
                {**where, "reason": "not a recording: only check without --follow checks it"},
            )
        elif name != "file":
            yield name, row


def _begins_another(row: dict[str, Any]) -> bool:
    return row["kind"] == "open" and json.loads(row["body"]).get("observes") is not None


def _uri(path: str) -> str:
    """A path as Hadoop has it, `file:/tmp/x`, as a URI."""
    return path if "://" in path else f"{LOCAL}{path.removeprefix('file:')}"


def _has_events(path: str) -> bool:
    """Whether a file is Parquet of events, as `ingest` writes it."""
    if not path.endswith(".parquet"):
        return False
    system, inside = place(path)
    try:
        with system.open_input_file(inside) as file:
            names = pq.read_schema(file).names
    except (OSError, pa.ArrowException):  # the reader says so, in quarantine
        return False
    return set(EVENTS.names) <= set(names)


def _events(path: str) -> Rows:
    for batch in event_batches(path):
        yield from (("event", row) for row in batch.to_pylist())
