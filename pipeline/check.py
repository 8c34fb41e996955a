"""Holding each group's history to the model, and what all of them show together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    quarantine_of,
    read,
    stored,
)
from groupcheck.pipeline.kernels import replay
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
# The first line of a session, as `open` has it.
OPENED: Final = (
    "trace int, unseen array<string>, config map<string,long>, before boolean, observes string, "
    "sees array<string>"
)


class Request(NamedTuple):
    """What is to be checked.

    Args:
        sources: files and folders, or one folder that `ingest` has written.
        profile: the version to judge by, in the place of the one that the sources say.
        report: a folder for the tables.
        overwrite: whether it is written anew if it is there.

    """

    sources: list[str]
    profile: str | None = None
    report: str | None = None
    overwrite: bool = False


def judged(events: DataFrame, profile: str | None = None) -> DataFrame:
    """Rows of `JUDGED`: each group's histories, of rows of `EVENTS`, held to the model.

    They are judged by the version that their sources say, unless by `profile`.
    """
    if profile is not None:
        told = F.from_json("body", OPENED).withField("profile", F.lit(profile))
        body = F.when(F.col("kind") == "open", F.to_json(told)).otherwise(F.col("body"))
        events = events.withColumn("body", body)
    in_order = events.repartition("group_id").sortWithinPartitions(*ORDER)
    return in_order.select(*EVENTS.names).mapInArrow(replay, JUDGED)


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
        events = stored(spark, asked.sources[0])
    else:
        taken_in = read(spark, asked.sources)
        events = events_of(taken_in)
    with _kept(taken_in), _kept(rows := judged(events, asked.profile)):
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
        return summed(rows, edges, counts)


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
