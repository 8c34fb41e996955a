"""The job of `groupcheck ingest`: reads sources into the tables `events` and `quarantine`.

Small inputs are read in this process, larger ones on Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from groupcheck.pipeline import schemas
from groupcheck.pipeline.in_process import read
from groupcheck.pipeline.inputs import EVENTS_KIND, Counts
from groupcheck.pipeline.output import Output

MOST_REASONS: Final = 5


class Request(NamedTuple):
    """The sources, the folder for the tables, and the zone of times in logs without one."""

    sources: list[str]
    out: str
    overwrite: bool = False
    time_zone: str = "UTC"


class Ingested(NamedTuple):
    """The result of `ingest`."""

    counts: Counts
    groups: int
    reasons: tuple[tuple[str, int], ...]  # the most frequent of quarantine


def ingest(asked: Request, engine: Callable[[Request, Output], Ingested]) -> Ingested:
    """Write the tables of the sources to a folder.

    Args:
        asked: the settings.
        engine: `in_process`, or `ingest_on_spark.on_spark` with a session.

    Raises:
        PipelineError: the message has the reason; there is no folder then.
    """
    output = Output(asked.out)
    output.check(overwrite=asked.overwrite)
    with output.written(EVENTS_KIND) as marked:
        done = engine(asked, output)
        marked["counts"] = done.counts._asdict()
    return done


def in_process(asked: Request, output: Output) -> Ingested:
    """Read the sources in this process, with all rows in memory.

    Raises:
        PipelineError: a source cannot be read, or a table cannot be written.
    """
    tables, counts = read(asked.sources, asked.time_zone)
    output.write("events", tables["event"], schemas.EVENTS)
    output.write("quarantine", tables["quarantined"], schemas.QUARANTINE)
    output.write("files", tables["file"], schemas.FILES)
    reasons = Counter(sorted(row["reason"] for row in tables["quarantined"]))
    groups = len({event.group_id for event in tables["event"]})
    return Ingested(counts, groups, tuple(reasons.most_common(MOST_REASONS)))
