"""Writes the events of a task to sorted files of Parquet, in bounded memory.

Runs of events are sorted in memory and stored in a temporary file; then they are merged. A group
is in one of the files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from groupcheck.pipeline.event_columns import bounds
from groupcheck.pipeline.inputs import ORDER
from groupcheck.pipeline.schemas import EVENTS
from groupcheck.pipeline.sources import place

MOST_BYTES: Final = 64 * 1024 * 1024  # of events in memory
MOST_IN_FILE: Final = 1_000_000  # events, unless one group has more

# Events of one history that follow each other in a run; before them, the `ORDER` of the first.
Piece = tuple[tuple[Any, ...], pa.RecordBatch]


class Runs:
    """The events of a task: `add` all batches, then read `merged` once."""

    def __init__(self) -> None:
        folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - `merged` closes it
        compressed = pa.ipc.IpcWriteOptions(compression="lz4")
        self._stored = pa.ipc.new_file(self._file, EVENTS, options=compressed)
        self._runs: list[range] = []  # the numbers of the stored batches of each
        self._batches: list[pa.RecordBatch] = []  # of the next run
        self._size = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add events."""
        self._batches.append(batch)
        self._size += batch.nbytes
        if self._size >= MOST_BYTES:
            self._store()

    def _store(self) -> None:
        run = pa.Table.from_batches(self._batches, EVENTS).combine_chunks()
        ordered = run.sort_by([(name, "ascending") for name in ORDER])
        batches = ordered.to_batches(max(1, len(run) // (len(self._batches) or 1)))
        for batch in batches:
            self._stored.write_batch(batch)
        before = self._runs[-1].stop if self._runs else 0
        self._runs.append(range(before, before + len(batches)))
        self._batches, self._size = [], 0

    def merged(self) -> Iterator[Piece]:
        """The events sorted by `ORDER`, if those of each history were added in order."""
        self._store()
        self._stored.close()
        with self._file:
            self._file.seek(0)
            stored = pa.ipc.open_file(self._file)
            of_runs = [_pieces(map(stored.get_batch, run)) for run in self._runs]
            yield from merge(*of_runs, key=itemgetter(0))


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    for batch in batches:
        for start, end in bounds(batch):
            yield _order(batch, start), batch.slice(start, end - start)


def _order(batch: pa.RecordBatch, row: int) -> tuple[Any, ...]:
    return tuple(column[row].as_py() for column in batch.columns[: len(ORDER)])


def write_sorted(runs: Runs, path: str) -> Iterator[str]:
    """Write the events to files whose names begin with a path or URI; return their groups.

    A group is returned again if its events are not in order.
    """
    system, inside = place(path)
    system.create_dir(inside.rpartition("/")[0], recursive=True)
    for number, pieces in groupby(runs.merged(), _FileNumber()):
        name = f"{inside}-{number}.parquet"
        with pq.ParquetWriter(name, EVENTS, filesystem=system, compression="zstd") as file:
            yield from _write(pieces, file)


class _FileNumber:
    """The number of the file for the next piece: no group is in two files."""

    def __init__(self) -> None:
        self._number = self._events = 0
        self._group = ""

    def __call__(self, piece: Piece) -> int:
        (group, *_), events = piece
        if group != self._group and self._events >= MOST_IN_FILE:
            self._number += 1
            self._events = 0
        self._group = group
        self._events += len(events)
        return self._number


def _write(pieces: Iterable[Piece], file: pq.ParquetWriter) -> Iterator[str]:
    last: tuple[Any, ...] = ()
    for waiting in _gathered(pieces):
        for first, piece in waiting:
            if first[:1] != last[:1] or first <= last:
                yield first[0]
            last = _order(piece, len(piece) - 1)
        file.write_table(pa.Table.from_batches(piece for _, piece in waiting).combine_chunks())


def _gathered(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """As many pieces at once as memory may have."""
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += piece[1].nbytes
        if size >= MOST_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting
