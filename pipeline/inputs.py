"""Inputs of `check` and `ingest`: files of sources with their counts, and `ingest` folders."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple

from pyarrow import fs

from groupcheck.pipeline.errors import PipelineError, naming_errors
from groupcheck.pipeline.logs.files import LogSource
from groupcheck.pipeline.logs.lines import zone
from groupcheck.pipeline.output import marker
from groupcheck.pipeline.sources import (
    TOPIC_SCHEME,
    Row,
    by_age,
    files,
    folder_of,
    place,
    scheme_of,
)

ORDER: Final = ("group_id", "source", "session", "seq")  # of events
EVENTS_KIND: Final = "events"


class Counts(NamedTuple):
    """The lines that were read, and what they contain.

    Each line is `kept` or `quarantined`; `other` are kept lines of logs that are not about groups.
    """

    files: int
    read: int
    kept: int
    quarantined: int
    sessions: int
    events: int
    other: int


def counts_of(read: Iterable[Row], quarantined: Iterable[Row]) -> Counts:
    """The sums of rows of `FILES`; of the rows of `QUARANTINE` the first is read, if any.

    Raises:
        PipelineError: no line was kept.
    """
    rows = list(read)
    sums = (sum(row.get(name) or 0 for row in rows) for name in Counts._fields[1:])
    counts = Counts(len(rows), *sums)
    if not counts.kept:
        first = next(iter(quarantined), None)
        reason = "{source}:{line}: {reason}".format_map(first) if first else "the input is empty"
        names = "the one file" if counts.files == 1 else f"{counts.files} files"
        input_ = f" of {names}" if counts.files else ""  # a topic may be empty
        msg = f"nothing could be read{input_}: {reason}"
        raise PipelineError(msg)
    return counts


def files_of(sources: list[str], time_zone: str = "UTC") -> list[tuple[str, LogSource]]:
    """The files of the sources that are no topics, each with its `LogSource` if it is a log.

    All logs are of one cluster; `time_zone` is that of times without a zone.

    Raises:
        PipelineError: a source is missing or has nothing to read, or the time zone is invalid.
    """
    zone(time_zone)
    of_files = [each for each in sources if not each.startswith(TOPIC_SCHEME)]
    found = by_age(files(of_files))
    folder = folder_of(found) if found else ""
    return [(each, LogSource(folder, rank, time_zone)) for rank, each in enumerate(found)]


def is_ingested(sources: list[str]) -> bool:
    """Whether the sources are one folder that `ingest` has written.

    Raises:
        PipelineError: another version has written it.
    """
    path = sources[0]
    found = None if len(sources) > 1 or path.startswith(TOPIC_SCHEME) else marker(path)
    return found is not None and found.get("kind") == EVENTS_KIND


def stored(path: str) -> list[str]:
    """The files of events in a folder of `ingest`; no group is in two of them.

    Raises:
        PipelineError: the folder cannot be read.
    """
    system, inside = place(path.rstrip("/"))
    with naming_errors(f"read {path}/events"):
        inside_files = system.get_file_info(fs.FileSelector(f"{inside}/events"))
    found = [each for each in inside_files if each.path.endswith(".parquet")]
    found.sort(key=attrgetter("size"), reverse=True)  # the longest task starts first
    return [f"{scheme_of(path)}{each.path}" for each in found]
