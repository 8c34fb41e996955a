"""Holding each group's history to the model, and what all of them show together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.explored import EXPLORED, explored_edges
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
from groupcheck.pipeline.lanes import lanes
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.schemas import EDGES, EVENTS, JUDGED
from groupcheck.pipeline.summary import Checked, summed

# The tables that are written, by the columns of JUDGED that they are.
TABLES: Final = {
    "verdict": "verdicts",
    "finding": "findings",
    "rebalance": "rebalances",
    "state": "states",
    "offset": "offsets",
}


class Request(NamedTuple):
    """What is to be checked.

    Args:
        sources: files and folders, or one folder that `ingest` has written.
        profile: the version to judge by, in the place of the one that the sources say.
        report: a folder for the tables.
        overwrite: whether it is written anew if it is there.
        time_zone: of times in logs that do not say theirs.
        lanes: whether the rebalances of the groups that rebalance most are told one by one.

    """

    sources: list[str]
    profile: str | None = None
    report: str | None = None
    overwrite: bool = False
    time_zone: str = "UTC"
    lanes: bool = False


def judged(events: DataFrame, profile: str | None = None) -> DataFrame:
    """Rows of `JUDGED`: each group's histories, of rows of `EVENTS`, held to the model.

    They are judged by the version that their sources say, unless by `profile`.
    """
    in_order = events.repartition("group_id").sortWithinPartitions(*ORDER)
    return in_order.select(*EVENTS.names).mapInArrow(partial(replay, profile=profile), JUDGED)


def judged_files(spark: SparkSession, path: str, profile: str | None = None) -> DataFrame:
    """The same of a folder that `ingest` has written, in which all is in order already.

    Each file is a task, which reads it by Arrow as it stands: it was Spark that sorted it, and to
    do that again, or to take every row through the JVM, would take longer than to judge it.
    """
    files = stored(path)
    return numbered(spark, len(files)).mapInArrow(partial(replay_files, files, profile), JUDGED)


def edges_of(rows: DataFrame, explored: DataFrame) -> DataFrame:
    """The edges that rows of `JUDGED` show, and those that only the explored spaces have."""
    keys = ["profile", "before", "given", "rules", "after"]
    sums = [F.sum(name).alias(name) for name in ("times", "histories")]
    shown = rows.where("edge is not null").select("edge.*").groupBy(*keys).agg(*sums)
    known = explored.withColumn("explored", F.lit(True))  # noqa: FBT003 - a column
    both = shown.join(known, on=keys, how="full_outer")
    return both.fillna({"times": 0, "histories": 0, "explored": False}).select(*EDGES.names)


def check(spark: SparkSession, asked: Request) -> Checked:
    """Hold the groups of sources, or of what was ingested of them, to the model.

    Raises:
        PipelineError: it is not possible; no report is then left there.
    """
    output = Output(asked.report) if asked.report else None
    if output is None:
        with in_a_line():
            return _checked(spark, asked, None)
    output.check(overwrite=asked.overwrite)
    with output.written("check") as told, in_a_line():
        checked = _checked(spark, asked, output.uri)
        told["groups"], told["events"] = checked.groups, checked.events
    return checked


def _checked(spark: SparkSession, asked: Request, uri: str | None) -> Checked:
    counts = taken_in = None
    if len(asked.sources) == 1 and is_ingested(asked.sources[0]):
        rows = judged_files(spark, asked.sources[0], asked.profile)
    else:
        taken_in = read(spark, asked.sources, asked.time_zone)
        rows = judged(events_of(taken_in), asked.profile)
    with _kept(taken_in), _kept(rows):
        if taken_in is not None:
            counts = counts_of(taken_in)
        verdicts = rows.where("verdict is not null").select("verdict.*")
        profiles = [row[0] for row in verdicts.select("profile").distinct().collect()]
        explored = spark.createDataFrame(explored_edges(profiles), EXPLORED)
        edges = edges_of(rows, explored).coalesce(1)
        if uri is not None:
            for column, name in TABLES.items():
                table = rows.where(F.col(column).isNotNull()).select(f"{column}.*")
                table.coalesce(1).write.parquet(f"{uri}/{name}")
            edges.write.parquet(f"{uri}/edges")
            if taken_in is not None:
                quarantine_of(taken_in).write.parquet(f"{uri}/quarantine")
        told = summed(rows, edges, counts)
        return told._replace(lanes=lanes(rows)) if asked.lanes else told


@contextmanager
def _kept(rows: DataFrame | None) -> Iterator[None]:
    """Rows that are asked for several times are made once, and are on the disk meanwhile."""
    if rows is not None:
        rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield
    finally:
        if rows is not None:
            rows.unpersist()
