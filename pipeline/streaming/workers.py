"""The functions that run in Spark's workers for a stream: files to events, events to rows."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from groupcheck.pipeline.history_replay import Rows
from groupcheck.pipeline.kernels import batches, event_batches, rows_in
from groupcheck.pipeline.offsets_topic.topic import begun, by_partition, rows_of_records
from groupcheck.pipeline.readers import rows_of
from groupcheck.pipeline.schemas import CHECKED, EVENTS, QUARANTINE, arrow, one_of
from groupcheck.pipeline.sources import LOCAL, place
from groupcheck.pipeline.streaming.state_store import Bucket, Following
from groupcheck.pipeline.streaming.versions import Versions, checkpoint, restore
from groupcheck.properties.histories.events import Event

# The kinds of events in recordings; logs and the offsets topic have others.
KINDS: Final = {"open", "request", "response", "hold", "release", "fault", "gap", "cut"}
ARRIVED: Final = one_of(event=EVENTS, quarantined=QUARANTINE)
FOLLOWED: Final = StructType([*CHECKED.fields, *one_of(quarantined=QUARANTINE).fields])


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
            begun(f"{source}-{partition}", records)
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
