"""Small inputs are read in this process, without Spark, with all rows in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

import pyarrow.parquet as pq
from pyarrow import fs

from groupcheck.pipeline.errors import naming_errors
from groupcheck.pipeline.inputs import ORDER, Counts, counts_of, files_of, is_ingested, stored
from groupcheck.pipeline.readers import rows_of
from groupcheck.pipeline.sources import COMPRESSIONS, TOPIC_SCHEME, place, segments

# The limit without Spark: about 100,000 events.
MOST_BYTES: Final = 20_000_000
MOST_EVENTS: Final = 100_000  # of a folder of `ingest`
RATIO: Final = 10  # of the size of files to that of compressed ones


def is_small(sources: list[str]) -> bool:
    """Whether the sources are read in this process.

    Raises:
        PipelineError: a source is missing or cannot be read.
    """
    if any(source.startswith(TOPIC_SCHEME) for source in sources):
        return False
    if is_ingested(sources):
        return sum(map(_events_in, stored(sources[0]))) <= MOST_EVENTS
    return sum(_bytes(file) for file, _ in files_of(sources)) <= MOST_BYTES


def _events_in(file: str) -> int:
    system, path = place(file)
    with naming_errors(f"read {file}"), system.open_input_file(path) as opened:
        return int(pq.read_metadata(opened).num_rows)


def _bytes(file: str) -> int:
    """The size of a file or of segments; compressed files count as larger."""
    system, path = place(file)
    found: list[fs.FileInfo] = system.get_file_info(segments(file) or [path])
    ratio = RATIO if path.endswith((*COMPRESSIONS, ".parquet")) else 1
    return ratio * sum(each.size or 0 for each in found)


def read(sources: list[str], time_zone: str) -> tuple[defaultdict[str, list[Any]], Counts]:
    """The rows of `READ`, by table, and their counts; events are in order.

    Raises:
        PipelineError: a source is missing or has nothing to read, or the time zone is invalid.
    """
    files = files_of(sources, time_zone)
    tables = by_table(row for file in files for row in rows_of(*file))
    counts = counts_of(tables["file"], tables["quarantined"])
    tables["event"].sort(key=itemgetter(slice(len(ORDER))))
    return tables, counts


def by_table(rows: Iterable[tuple[str, Any]]) -> defaultdict[str, list[Any]]:
    """The rows of each table."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for table, row in rows:
        found[table].append(row)
    return found
