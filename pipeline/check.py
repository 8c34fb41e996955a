"""The job of `groupcheck check`: checks the history of each group against the model."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.ingest import ORDER, counts_of, is_ingested, numbered, read, stored
from groupcheck.pipeline.kernels import replay, replay_files
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.schemas import CHECKED, EXPLORED, TRANSITIONS, persisted, rows_of_table
from groupcheck.pipeline.summary import Checked, rebalance_timeline, summed
from groupcheck.pipeline.transitions import explored_transitions

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
    return in_order.mapInArrow(partial(replay, profile=profile), CHECKED)


def check_files(spark: SparkSession, path: str, profile: str | None = None) -> DataFrame:
    """The same for a folder that `ingest` has written, which is sorted already.

    Each file is a task, which reads it with Arrow: to sort it again, or to send every row through
    the JVM, would take longer than the check.
    """
    files = stored(path)
    return numbered(spark, len(files)).mapInArrow(partial(replay_files, files, profile), CHECKED)


def transitions_of(rows: DataFrame, explored: DataFrame) -> DataFrame:
    """The transitions in rows of `CHECKED`, and those that only the explored instances have."""
    keys = EXPLORED.names
    sums = [F.sum(name).alias(name) for name in ("times", "histories")]
    shown = rows_of_table(rows, "transition").groupBy(*keys).agg(*sums)
    known = explored.withColumn("explored", F.lit(True))  # noqa: FBT003 - a column
    both = shown.join(known, on=keys, how="full_outer")
    return both.fillna({"times": 0, "histories": 0, "explored": False}).select(*TRANSITIONS.names)


def check(spark: SparkSession, asked: Request) -> Checked:
    """Check the groups of sources, or of a folder of `ingest`, against the model.

    Raises:
        PipelineError: the message says why not; no report is left.
    """
    if asked.report is None:
        with in_a_line():
            return _checked(spark, asked, None)
    output = Output(asked.report)
    output.check(overwrite=asked.overwrite)
    with output.written("check") as counts, in_a_line():
        checked = _checked(spark, asked, output.uri)
        counts["groups"], counts["events"] = checked.groups, checked.events
    return checked


def _checked(spark: SparkSession, asked: Request, uri: str | None) -> Checked:
    if len(asked.sources) == 1 and is_ingested(asked.sources[0]):
        return _summary(spark, asked, check_files(spark, asked.sources[0], asked.profile), uri)
    with persisted(read(spark, asked.sources, asked.time_zone)) as rows:
        counts = counts_of(rows)
        checked = check_events(rows_of_table(rows, "event"), asked.profile)
        done = _summary(spark, asked, checked, uri)
        if uri is not None:
            rows_of_table(rows, "quarantined").coalesce(1).write.parquet(f"{uri}/quarantine")
        return done._replace(read=counts)


def _summary(spark: SparkSession, asked: Request, checked: DataFrame, uri: str | None) -> Checked:
    """Write the tables, if there is a place for them, and sum them."""
    with persisted(checked) as rows:
        profiles = rows_of_table(rows, "verdict").select("profile").distinct().collect()
        explored = explored_transitions(row[0] for row in profiles)
        known = spark.createDataFrame(explored, EXPLORED)
        transitions = transitions_of(rows, known).coalesce(1)
        if uri is not None:
            for column, name in TABLES.items():
                rows_of_table(rows, column).coalesce(1).write.parquet(f"{uri}/{name}")
            transitions.write.parquet(f"{uri}/transitions")
        done = summed(rows, transitions)
        return done._replace(lanes=rebalance_timeline(rows)) if asked.timeline else done
