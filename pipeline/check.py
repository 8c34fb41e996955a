"""The job of `groupcheck check`: checks the history of each group, and sums the results.

Small inputs are checked in this process, larger ones on Spark: both check with
`kernels.replayed`, and write the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

from groupcheck.model.engine.exploration import without_collector
from groupcheck.pipeline import schemas
from groupcheck.pipeline.history_replay import FindingRow
from groupcheck.pipeline.in_process import by_table, read
from groupcheck.pipeline.inputs import Counts, is_ingested, stored
from groupcheck.pipeline.kernels import event_batches, replayed
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.sources import Row
from groupcheck.pipeline.summary import (
    MOST_REASONS,
    Summary,
    added,
)

# The tables that are written, by their columns in CHECKED; and `transitions`.
TABLES: Final = {
    "verdict": "verdicts",
    "finding": "findings",
    "rebalance": "rebalances",
    "state": "states",
    "offset": "offsets",
}
Engine = Literal["python", "spark"]
Batches = Iterable[pa.RecordBatch]  # of events


class Request(NamedTuple):
    """The settings of a check.

    Args:
        sources: files and folders, or one folder that `ingest` has written.
        profile: the version to check against, instead of that of the sources.
        report: a folder for the tables.
        overwrite: whether to replace the folder if it is there.
        time_zone: of times in logs without a zone.

    """

    sources: list[str]
    profile: str | None = None
    report: str | None = None
    overwrite: bool = False
    time_zone: str = "UTC"


class Checked(NamedTuple):
    """The result of a check.

    `events` are all events, `events_checked` those in accepted prefixes. `findings` are the first
    of `rejected`, `reasons` the most frequent of `undecided`. `transitions_covered` counts the
    transitions that the input covers, `transitions_explored` those of the explored instances, and
    `explored_and_covered` those in both. `rebalancing` lists the groups that rebalance most: how
    often, and the most frequent reason. `read` counts what was read, unless `ingest` did, and
    `timeline` is the rebalance timeline.
    """

    engine: Engine
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
    read: Counts | None
    timeline: tuple[dict[str, Any], ...]


class Sums(NamedTuple):
    """The result of an engine: the sums, and the counts of the files that it read, if any."""

    engine: Engine
    summary: Summary
    read: Counts | None = None


def check(asked: Request, engine: Callable[[Request, Output | None], Sums]) -> Checked:
    """Check the groups of sources, or of a folder of `ingest`, against the model.

    Args:
        asked: the settings.
        engine: `in_process`, or `check_on_spark.on_spark` with a session.

    Raises:
        PipelineError: the message has the reason; there is no report then.
    """
    if asked.report is None:
        sums = engine(asked, None)
        return _checked(sums, sums.summary.transition_rows())
    output = Output(asked.report)
    output.check(overwrite=asked.overwrite)
    with output.written("check") as counts:
        sums = engine(asked, output)
        transitions = sums.summary.transition_rows()
        checked = _checked(sums, transitions)
        output.write("transitions", transitions, schemas.TRANSITIONS)
        counts["groups"], counts["events"] = checked.groups, checked.events
    return checked


def _checked(sums: Sums, transitions: list[Row]) -> Checked:
    summary = sums.summary
    return Checked(
        sums.engine,
        summary.histories.total(),
        summary.histories["accepted"],
        summary.histories["rejected"],
        summary.histories["undecided"],
        events=summary.events,
        events_checked=summary.accepted,
        findings=tuple(summary.findings),
        reasons=tuple(sorted(summary.reasons.items(), key=_most_first)[:MOST_REASONS]),
        transitions_covered=sum(row["times"] > 0 for row in transitions),
        transitions_explored=sum(row["explored"] for row in transitions),
        explored_and_covered=sum(row["times"] > 0 and row["explored"] for row in transitions),
        rebalancing=tuple((each.group_id, -each.less, each.reason) for each in summary.rebalancing),
        read=sums.read,
        timeline=summary.timeline(),
    )


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def in_process(asked: Request, output: Output | None) -> Sums:
    """Check in this process, with all rows in memory.

    Raises:
        PipelineError: a source cannot be read, or a table cannot be written.
    """
    with without_collector():
        partitions, read = _partitions(asked, output)
        checked = by_table(row for each in partitions for row in replayed(each, asked.profile))
    if output is not None:
        for column, name in TABLES.items():
            output.write(name, checked[column], schemas.OF_HISTORIES[column])
    return Sums("python", added(row["pickled"] for row in checked["summary"]), read)


def _partitions(asked: Request, output: Output | None) -> tuple[Iterable[Batches], Counts | None]:
    """Partitions of events in batches, each sorted; the counts of the files, if any were read."""
    if is_ingested(asked.sources):
        return map(event_batches, stored(asked.sources[0])), None
    tables, counts = read(asked.sources, asked.time_zone)
    if output is not None:
        output.write("quarantine", tables["quarantined"], schemas.QUARANTINE)
    return [[schemas.batch_of(tables["event"], schemas.EVENTS)]], counts
