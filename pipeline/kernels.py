"""The functions that run in Spark's workers, from Arrow batches to Arrow batches.

Spark sorts partitions and streams them through `mapInArrow`. State is kept between batches, so that
a large group needs no more memory than a small one. `applyInArrow` and `applyInPandas` take 30 to
40 % more processor time and need the whole group in memory.
"""

from __future__ import annotations

import gc
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter, lt, methodcaller
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from groupcheck.pipeline.errors import PipelineError, naming_errors
from groupcheck.pipeline.event_columns import histories
from groupcheck.pipeline.history_replay import HistoryReplay, Rows
from groupcheck.pipeline.logs.files import LogSource
from groupcheck.pipeline.logs.replay import LogReplay
from groupcheck.pipeline.offsets_topic.partition_reader import OBSERVES
from groupcheck.pipeline.offsets_topic.record_replay import RecordReplay
from groupcheck.pipeline.offsets_topic.topic import topic_rows
from groupcheck.pipeline.readers import rows_of
from groupcheck.pipeline.recordings.partial import PartialReplay
from groupcheck.pipeline.recordings.replay import Replay
from groupcheck.pipeline.schemas import CHECKED, EVENTS, INGESTED, READ, batch_of, columns_of
from groupcheck.pipeline.sorted_events import Runs, write_sorted
from groupcheck.pipeline.sources import Read, place
from groupcheck.pipeline.summary import with_summary
from groupcheck.pipeline.transitions import Transition
from groupcheck.properties.histories.events import Event

T = TypeVar("T")
ROWS_READ: Final = 16_384  # of events, at once
MOST_ROWS: Final = 5_000  # of a returned batch
MOST_CHARACTERS: Final = 32 * 1024 * 1024  # of texts in it
# The column of a table that may have long text.
LONG: Final[dict[str, Callable[[Any], str | None]]] = {
    "event": attrgetter("body"),
    "finding": methodcaller("get", "recording"),
    "quarantined": methodcaller("get", "text"),
}


class DisorderedError(PipelineError):
    """The rows of a partition are not in order: the result would be wrong."""


def read_files(
    files: list[tuple[str, LogSource]], folder: str | None, numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of `READ` of the files whose numbers a batch has in its first column.

    The `LogSource` of a file is used if it is a log. With a folder the events are written to it,
    and the rows are those of `INGESTED`.
    """
    return _read((row for file in _numbered(files, numbers) for row in rows_of(*file)), folder)


def read_topic(
    source: str, folder: str | None, records: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The same for records of an offsets topic, sorted by partition and offset."""
    return _read(topic_rows(source, records), folder)


def _read(rows: Read, folder: str | None) -> Iterator[pa.RecordBatch]:
    gc.set_threshold(50_000)  # rows are many objects, and few of them are garbage
    return batches(rows, READ) if folder is None else ingested(rows, f"{folder}/part-{_task():05}")


def _task() -> int:
    """The number of this task of Spark, the same when it is repeated."""
    from pyspark import TaskContext  # noqa: PLC0415 - it is a task of Spark only with a folder

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def ingested(rows: Read, path: str) -> Iterator[pa.RecordBatch]:
    """Write the events to files whose names begin with a path, and return rows of `INGESTED`."""
    runs = Runs()
    for name, gathered in _gathered(rows):
        if name == "event":
            runs.add(batch_of(gathered, EVENTS))
        else:
            yield _of_table(name, gathered, INGESTED)
    groups = (("group", {"group_id": each}) for each in write_sorted(runs, path))
    yield from batches(groups, INGESTED)


def replay_files(
    files: list[str], profile: str | None, numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of `CHECKED` of the histories in those files of events, each sorted as by `ingest`.

    Raises:
        DisorderedError: one of them is not sorted.
    """
    for file in _numbered(files, numbers):
        yield from replay(event_batches(file), profile)


def event_batches(file: str) -> Iterator[pa.RecordBatch]:
    """A file of events as Arrow batches, a few at a time in memory.

    Another program may have written it again, with other types of text and numbers.

    Raises:
        PipelineError: it cannot be read, lacks a column, or a column has other values.
    """
    system, path = place(file)
    with naming_errors(f"read {file}"), system.open_input_file(path) as opened:
        parquet = pq.ParquetFile(opened)
        for batch in parquet.iter_batches(ROWS_READ, columns=EVENTS.names, use_threads=False):
            try:
                events = batch.select(EVENTS.names).cast(EVENTS)
            except (KeyError, ValueError) as error:  # not all of them are Arrow's
                raise pa.ArrowInvalid(str(error)) from error
            yield events


def _numbered(files: list[T], numbers: Iterable[pa.RecordBatch]) -> Iterator[T]:
    return (files[number] for batch in numbers for number in batch.column(0).to_pylist())


def replay(
    events: Iterable[pa.RecordBatch], profile: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of `CHECKED` of the histories in a partition of events, sorted by history and `seq`.

    They are checked against the version of their sources, unless `profile` names another.

    Raises:
        DisorderedError: they are not sorted.
    """
    gc.set_threshold(50_000)  # states are many tuples, and few of them are garbage
    return batches(replayed(events, profile), CHECKED)


def replayed(events: Iterable[pa.RecordBatch], profile: str | None = None) -> Rows:
    """The rows that `replay` returns, each with the name of its table.

    Raises:
        DisorderedError: they are not sorted.
    """
    return with_summary(_replayed(events, profile))


def _replayed(batches: Iterable[pa.RecordBatch], profile: str | None) -> Rows:
    counts = TransitionCounts()
    current: HistoryReplay | None = None
    last: tuple[Any, ...] = ()
    for batch in batches:
        for events in histories(batch):
            first = (*events.history, events.seq[0])
            if first <= last or not all(map(lt, events.seq, events.seq[1:])):
                msg = f"{first} follows {last}, or later events are not in order"
                raise DisorderedError(msg)
            last = (*events.history, events.seq[-1])
            if current is None or events.history != current.key:
                if current is not None:
                    yield from counts.ended(current)
                current = begun(_with_profile(profile, events[0]))
            current.run(events)
        if current is not None:
            yield from current.complete()
    if current is not None:
        yield from counts.ended(current)
    yield from counts.rows()


class TransitionCounts:
    """Counts the transitions of several histories."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, Transition]] = Counter()
        self._histories: Counter[tuple[str, Transition]] = Counter()

    def ended(self, replay: HistoryReplay) -> Rows:
        """End a history, and return its last rows."""
        yield from replay.end()
        for transition, times in replay.tables.transitions.items():
            self._times[replay.profile, transition] += times
            self._histories[replay.profile, transition] += 1

    def rows(self) -> Rows:
        """Rows of `TRANSITIONS`."""
        for (profile, transition), times in self._times.items():
            row = {**transition._asdict(), "profile": profile, "times": times, "explored": False}
            yield "transition", {**row, "histories": self._histories[profile, transition]}


def _with_profile(profile: str | None, opened: Event) -> Event:
    """The first event of a history, with the version to check it against."""
    if opened.kind != "open":
        msg = f"{opened[:4]} is not the first event of a history"
        raise DisorderedError(msg)
    if profile is None:
        return opened
    header = json.loads(opened.body or "{}")
    return opened._replace(body=json.dumps({**header, "profile": profile}))


def begun(opened: Event) -> HistoryReplay:
    """The replay for a history with this first event."""
    header = json.loads(opened.body or "{}")
    if header.get("observes") == "log":
        return LogReplay(opened)
    if header.get("observes") == OBSERVES:
        return RecordReplay(opened)
    return PartialReplay(opened) if header.get("unseen") else Replay(opened)


def batches(rows: Iterable[tuple[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows as batches, each in the column of its table."""
    return (_of_table(name, of_table, schema) for name, of_table in _gathered(rows))


def _gathered(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Several rows of a table at once, with its name."""
    gathered: defaultdict[str, list[Any]] = defaultdict(list)
    number = characters = 0
    for name, row in rows:
        gathered[name].append(row)
        number += 1
        characters += len(LONG[name](row) or "") if name in LONG else 0
        if number >= MOST_ROWS or characters >= MOST_CHARACTERS:
            yield from gathered.items()
            gathered = defaultdict(list)
            number = characters = 0
    yield from gathered.items()


def _of_table(name: str, rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a table as a batch, column by column."""
    fields = list(schema.field(name).type)
    own = pa.StructArray.from_arrays(columns_of(rows, fields), fields=fields)
    return pa.record_batch(
        [own if f.name == name else pa.nulls(len(rows), f.type) for f in schema], schema
    )
