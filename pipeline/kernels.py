"""What runs in Spark's workers: Arrow batches in, Arrow batches out, nothing of Spark between.

Partitions that Spark has sorted are streamed through `mapInArrow`, and the state is carried over
the borders of batches, so that a group of any size takes no more memory than a small one. Measured
with this oracle (tests/bench/pipeline_idioms.py: 40,000 events, seconds of processor): 5.3 so, 5.2
with whole partitions sorted by Arrow in the worker, 6.9 by `applyInArrow` and 7.4 by
`applyInPandas`, a call for each group. In those a partition or a group has to fit into a worker.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from groupcheck.pipeline.events import Event
from groupcheck.pipeline.observed import Edge
from groupcheck.pipeline.partial import PartialReplay
from groupcheck.pipeline.readers import rows_of
from groupcheck.pipeline.record_events import OBSERVES
from groupcheck.pipeline.record_replay import RecordReplay
from groupcheck.pipeline.replay import Replay
from groupcheck.pipeline.schemas import JUDGED, READ, arrow

Row = dict[str, Any]
AnyReplay = Replay | PartialReplay | RecordReplay
MOST_ROWS: Final = 5_000  # of a batch that is given back
MOST_CHARACTERS: Final = 32 * 1024 * 1024  # of texts in it


class DisorderedError(Exception):
    """The rows of a partition are not in order: what is made of them would be wrong."""


def read_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of `READ` of each file that a batch names in its column `source`."""
    rows = (
        row
        for batch in batches
        for source in batch.column("source").to_pylist()
        for row in rows_of(source)
    )
    return _batches(rows, arrow(READ))


def replay(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of `JUDGED` of the histories in a partition of events, sorted by history and `seq`.

    Raises:
        DisorderedError: they are not.
    """
    gc.set_threshold(50_000)  # states are tuples of tuples, and hardly any of them are garbage
    return _batches(_replayed(batches), arrow(JUDGED))


def _replayed(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Row]]:
    edges: Counter[tuple[str, Edge]] = Counter()
    histories: Counter[tuple[str, Edge]] = Counter()
    current: AnyReplay | None = None
    last: tuple[Any, ...] = ()

    def end(over: AnyReplay) -> Iterator[tuple[str, Row]]:
        yield from over.end()
        shown = {(over.profile, edge): n for edge, n in over.observed.edges.items()}
        edges.update(shown)
        histories.update(shown.keys())

    for batch in batches:
        for event in _events(batch, last):
            if current is None or event.history != current.key:
                if current is not None:
                    yield from end(current)
                current = begun(event)
            current.take(event)
            last = event[:4]
        if current is not None:
            yield from current.over()
    if current is not None:
        yield from end(current)
    for (profile, edge), times in edges.items():
        told = {**edge._asdict(), "profile": profile, "times": times, "explored": False}
        yield "edge", {**told, "histories": histories[profile, edge]}


def begun(opened: Event) -> AnyReplay:
    """The replay of a history that begins so."""
    header = json.loads(opened.body or "{}")
    if header.get("observes") == OBSERVES:
        return RecordReplay(opened)
    return PartialReplay(opened) if header.get("unseen") else Replay(opened)


def _events(batch: pa.RecordBatch, last: tuple[Any, ...]) -> Iterator[Event]:
    """The events of a batch, which come after the last."""
    for event in map(Event._make, zip(*map(pa.Array.to_pylist, batch.columns), strict=True)):
        if event[:4] <= last:
            msg = f"{event[:4]} comes after {last}"
            raise DisorderedError(msg)
        last = event[:4]
        yield event


def _batches(rows: Iterable[tuple[str, Row]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows as batches, each in the column of its table."""
    gathered: list[Row] = []
    characters = 0
    for name, row in rows:
        gathered.append({name: row})
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(gathered) >= MOST_ROWS or characters >= MOST_CHARACTERS:
            yield pa.RecordBatch.from_pylist(gathered, schema)
            gathered, characters = [], 0
    if gathered:
        yield pa.RecordBatch.from_pylist(gathered, schema)
