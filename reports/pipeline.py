"""The results of the pipeline as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from groupcheck.model.bodies import shown
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded, bounded_lines, counted
from groupcheck.reports.record import ResultRecord

ENGINES: Final = {"python": "in this process, without Spark", "spark": "on Spark"}

Counts = Mapping[str, int]
Reasons = Sequence[tuple[str, int]]


def ingested(counts: Counts, groups: int, reasons: Reasons, out: str) -> str:
    """The lines of `ingest`."""
    events = f"{counts['events']:,} of {counted(groups, 'group')}"
    lines = [
        f"read       {_lines(counts)}",
        f"events     {events} in {counted(counts['sessions'], 'session')}",
        *_because("quarantine", reasons),
        f"written    {out}",
    ]
    return bounded_lines(lines)


def _lines(counts: Counts) -> str:
    read = f"{counts['read']:,} lines of {counted(counts['files'], 'file')}"
    other = f" ({counts['other']:,} not about groups)" if counts["other"] else ""
    return f"{read}: {counts['kept']:,} kept{other}, {counts['quarantined']:,} quarantined"


def _because(head: str, reasons: Reasons) -> list[str]:
    return [f"{head:<10} {number:,}: {reason}" for reason, number in reasons]


def check_lines(done: Mapping[str, Any], rejected: Iterable[str]) -> list[str]:
    """The lines of `check`: its counts, and a line for each rejected group."""
    lines = [f"checked    {ENGINES[done['engine']]}"]
    lines += [f"read       {_lines(done['read']._asdict())}"] if done["read"] else []
    verdicts = ", ".join(f"{done[v]:,} {v}" for v in ("accepted", "rejected", "undecided"))
    covered = counted(done["transitions_covered"], "transition")
    both, explored = done["explored_and_covered"], done["transitions_explored"]
    known = f"{both:,} of the {explored:,} of the explored instances"
    lines += [
        f"groups     {done['groups']:,}: {verdicts}",
        f"events     {done['events_checked']:,} of {done['events']:,} in accepted prefixes",
        *_because("undecided", done["reasons"]),
        f"covered    {covered}; {known}",
    ]
    lines += [
        f"rebalances {number:,} of group {shown(group_id)}, most often because of {reason}"
        for group_id, number, reason in done["rebalancing"]
    ]
    listed = [f"rejected   {each}" for each in rejected]
    if done["rejected"] > len(listed):
        listed.append(f"...        and {done['rejected'] - len(listed):,} more")
    return [bounded(line) for line in (*lines, *listed)]


def check_text(checked: ResultRecord, report: str | None, *, every: bool = False) -> str:
    """The output of `check`, with the first finding in full, or every one with a short history."""
    written = [f"written    {report}"] if report else []
    in_full = [f"\n{finding_text(each)}" for each in checked.findings if each.steps]
    texts = in_full if every else in_full[:1]
    return bounded_lines([*checked.lines, *written]) + "".join(texts)
