"""The job of `groupcheck check`: checks the history of each group, and sums the results."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Window as W  # noqa: N817 - as Spark's users call it
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.ingest import (
    ORDER,
    Counts,
    counts_of,
    is_ingested,
    most_frequent,
    numbered,
    read,
    stored,
)
from groupcheck.pipeline.kernels import replay, replay_files
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.schemas import CHECKED, EXPLORED, TRANSITIONS, persisted, rows_of_table
from groupcheck.pipeline.transitions import explored_transitions

# The tables that are written, by their columns in CHECKED.
TABLES: Final = {
    "verdict": "verdicts",
    "finding": "findings",
    "rebalance": "rebalances",
    "state": "states",
    "offset": "offsets",
}


MOST_FINDINGS: Final = 20
MOST_GROUPS: Final = 40  # of the rebalance timeline
MOST_REBALANCES: Final = 500  # of a group: the first of them
WHOSE: Final = ("source", "session", "group_id")
VERDICTS: Final = ("accepted", "rejected", "undecided")


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


class FindingRow(NamedTuple):
    """A row of the table of findings, with the reason of its verdict."""

    group_id: str
    source: str
    session: int
    line: int
    recording: str | None
    left_out: int | None
    kind: str
    reason: str


class Checked(NamedTuple):
    """The result of a check.

    `events` are all events, `events_checked` those in accepted prefixes. `findings` are the first
    of `rejected`, `reasons` the most frequent of `undecided`. `transitions_covered` counts the
    transitions that the input covers, `transitions_explored` those of the explored instances, and
    `explored_and_covered` those in both. `rebalancing` lists the groups that rebalance most: how
    often, and the most frequent reason. `read` counts what was read, unless `ingest` did, and
    `lanes` is the rebalance timeline.
    """

    groups: int
    accepted: int
    rejected: int
    undecided: int
    events: int
    events_checked: int
    findings: tuple[FindingRow, ...]
    reasons: tuple[tuple[str, int], ...]
    transitions_covered: int
    transitions_explored: int
    explored_and_covered: int
    rebalancing: tuple[tuple[str, int, str], ...]
    read: Counts | None = None
    lanes: tuple[dict[str, Any], ...] = ()


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


def summed(rows: DataFrame, transitions: DataFrame) -> Checked:
    """The summary of rows of `CHECKED`, and of rows of `TRANSITIONS`."""
    verdicts = rows_of_table(rows, "verdict")
    of, events, events_checked = _counted(verdicts)
    covered, explored, both = _covered(transitions)
    return Checked(
        sum(of.values()),
        of["accepted"],
        of["rejected"],
        of["undecided"],
        events=events,
        events_checked=events_checked,
        findings=_findings(rows) if of["rejected"] else (),
        reasons=most_frequent(verdicts.where("verdict = 'undecided'")) if of["undecided"] else (),
        transitions_covered=covered,
        transitions_explored=explored,
        explored_and_covered=both,
        rebalancing=_rebalancing(rows),
    )


def _counted(verdicts: DataFrame) -> tuple[dict[str, int], int, int]:
    """The histories of each verdict, their events, and those in accepted prefixes."""
    sums = [F.count("*"), F.sum("events"), F.sum("accepted")]
    found = {row[0]: row[1:] for row in verdicts.groupBy("verdict").agg(*sums).collect()}
    of = {name: found[name][0] if name in found else 0 for name in VERDICTS}
    return of, sum(row[1] for row in found.values()), sum(row[2] for row in found.values())


def _findings(rows: DataFrame) -> tuple[FindingRow, ...]:
    whose = ["group_id", "source", "session"]
    reasons = rows_of_table(rows, "verdict").select(*whose, "reason")
    found = rows_of_table(rows, "finding")
    found = found.withColumnRenamed("omitted", "left_out").select(*FindingRow._fields[:-1])
    together = found.join(reasons, on=whose, how="inner").select(*FindingRow._fields)
    return tuple(map(FindingRow._make, together.orderBy(*whose).limit(MOST_FINDINGS).collect()))


def _covered(transitions: DataFrame) -> tuple[int, int, int]:
    covered = F.col("times") > 0
    counts = [
        F.count_if(each) for each in (covered, F.col("explored"), covered & F.col("explored"))
    ]
    found = transitions.agg(*counts).first()
    return (found[0], found[1], found[2]) if found else (0, 0, 0)


def _rebalancing(rows: DataFrame) -> tuple[tuple[str, int, str], ...]:
    rebalances = rows_of_table(rows, "rebalance")
    of = rebalances.groupBy("group_id").agg(F.count("*").alias("n"), F.mode("reason"))
    most = of.orderBy(F.desc("n"), "group_id").limit(3).collect()
    return tuple((row[0], row[1], row[2]) for row in most)


def rebalance_timeline(rows: DataFrame) -> tuple[dict[str, Any], ...]:
    """Rows of `REBALANCES` in order, with the end of the history, `last_ms`.

    Groups with as many rebalances are ordered by name.
    """
    rebalances = rows_of_table(rows, "rebalance")
    often = rebalances.groupBy(*WHOSE).agg(F.count("*").alias("often"))
    most = often.orderBy(F.desc("often"), *WHOSE).limit(MOST_GROUPS)
    ends = rows_of_table(rows, "verdict")
    ended = ends.groupBy(*WHOSE).agg(F.max("at_ms").alias("ended"))
    last = F.max(F.coalesce("ended_ms", "joined_ms", "began_ms")).over(W.partitionBy(*WHOSE))
    in_order = F.row_number().over(W.partitionBy(*WHOSE).orderBy("began_ms"))
    found = (
        rebalances.join(most, on=[*WHOSE], how="inner")
        .join(ended, on=[*WHOSE], how="left")
        .withColumns({"last_ms": F.greatest(last, "ended"), "number": in_order})
        .where(F.col("number") <= MOST_REBALANCES)
        .orderBy("source", "session", F.desc("often"), "group_id", "number")
    )
    return tuple(row.asDict() for row in found.collect())
