"""The job of `groupcheck check`: checks the history of each group against the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.explored import EXPLORED, explored_transitions
from groupcheck.pipeline.failures import in_a_line
from groupcheck.pipeline.ingest import (
    ORDER,
    counts_of,
    events_of,
    is_ingested,
    numbered,
    quarantine_of,
    read,
    stored,
)
from groupcheck.pipeline.kernels import replay, replay_files
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.rebalance_timeline import rebalance_timeline
from groupcheck.pipeline.schemas import CHECKED, EVENTS, TRANSITIONS
from groupcheck.pipeline.summary import Checked, summed

# The tables that are written, by their columns in CHECKED.
TABLES: Final = {
    "verdict": "verdicts",
    "finding": "findings",
    "rebalance": "rebalances",
    "state": "states",
    "offset": "offsets",
}


class Request(NamedTuple):
    """The settings of a check.

    Args:
        sources: files and folders, or one folder that `ingest` has written.
        profile: the version to check against, instead of that of the sources.
        report: a folder for the tables.
        overwrite: whether to replace the folder if it is there.
        time_zone: of times in logs without a zone.
        timeline: whether to return the rebalances of the groups that rebalance most.

    """

    sources: list[str]
    profile: str | None = None
    report: str | None = None
    overwrite: bool = False
    time_zone: str = "UTC"
    timeline: bool = False


def check_events(events: DataFrame, profile: str | None = None) -> DataFrame:
    """Rows of `CHECKED` for the histories in rows of `EVENTS`.

    They are checked against the version of their sources, unless `profile` names another.
    """
    in_order = events.repartition("group_id").sortWithinPartitions(*ORDER)
    return in_order.select(*EVENTS.names).mapInArrow(partial(replay, profile=profile), CHECKED)


def check_files(spark: SparkSession, path: str, profile: str | None = None) -> DataFrame:
    """The same for a folder that `ingest` has written, which is sorted already.

    Each file is a task, which reads it with Arrow: to sort it again, or to send every row through
    the JVM, would take longer than the check.
    """
    files = stored(path)
    return numbered(spark, len(files)).mapInArrow(partial(replay_files, files, profile), CHECKED)


def transitions_of(rows: DataFrame, explored: DataFrame) -> DataFrame:
    """The transitions in rows of `CHECKED`, and those that only the explored instances have."""
    keys = ["profile", "before", "given", "rules", "after"]
    sums = [F.sum(name).alias(name) for name in ("times", "histories")]
    shown = rows.where("transition is not null").select("transition.*").groupBy(*keys).agg(*sums)
    known = explored.withColumn("explored", F.lit(True))  # noqa: FBT003 - a column
    both = shown.join(known, on=keys, how="full_outer")
    return both.fillna({"times": 0, "histories": 0, "explored": False}).select(*TRANSITIONS.names)


def check(spark: SparkSession, asked: Request) -> Checked:
    """Check the groups of sources, or of a folder of `ingest`, against the model.

    Raises:
        PipelineError: the message says why not; no report is left.
    """
    output = Output(asked.report) if asked.report else None
    if output is None:
        with in_a_line():
            return _checked(spark, asked, None)
    output.check(overwrite=asked.overwrite)
    with output.written("check") as counts, in_a_line():
        checked = _checked(spark, asked, output.uri)
        counts["groups"], counts["events"] = checked.groups, checked.events
    return checked


def _checked(spark: SparkSession, asked: Request, uri: str | None) -> Checked:
    counts = read_rows = None
    if len(asked.sources) == 1 and is_ingested(asked.sources[0]):
        rows = check_files(spark, asked.sources[0], asked.profile)
    else:
        read_rows = read(spark, asked.sources, asked.time_zone)
        rows = check_events(events_of(read_rows), asked.profile)
    with _kept(read_rows), _kept(rows):
        if read_rows is not None:
            counts = counts_of(read_rows)
        verdicts = rows.where("verdict is not null").select("verdict.*")
        profiles = [row[0] for row in verdicts.select("profile").distinct().collect()]
        explored = spark.createDataFrame(explored_transitions(profiles), EXPLORED)
        transitions = transitions_of(rows, explored).coalesce(1)
        if uri is not None:
            for column, name in TABLES.items():
                table = rows.where(F.col(column).isNotNull()).select(f"{column}.*")
                table.coalesce(1).write.parquet(f"{uri}/{name}")
            transitions.write.parquet(f"{uri}/transitions")
            if read_rows is not None:
                quarantine_of(read_rows).write.parquet(f"{uri}/quarantine")
        checked = summed(rows, transitions, counts)
        return checked._replace(lanes=rebalance_timeline(rows)) if asked.timeline else checked


@contextmanager
def _kept(rows: DataFrame | None) -> Iterator[None]:
    """Rows that are read several times are computed once, and kept on disk meanwhile."""
    if rows is not None:
        rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield
    finally:
        if rows is not None:
            rows.unpersist()
