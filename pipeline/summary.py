"""The summary of a check: counts, and the first findings."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import Window as W  # noqa: N817 - as Spark's users call it
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.ingest import Counts, most_frequent
from groupcheck.pipeline.schemas import rows_of_table

MOST_FINDINGS: Final = 20
MOST_GROUPS: Final = 40  # of the rebalance timeline
MOST_REBALANCES: Final = 500  # of a group: the first of them
WHOSE: Final = ("source", "session", "group_id")
VERDICTS: Final = ("accepted", "rejected", "undecided")


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
