"""The results of the pipeline as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from groupcheck.model.bodies import shown
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports.explanations import explanations
from groupcheck.reports.formatting import bounded, bounded_lines, counted
from groupcheck.reports.text import story, title

# The kinds of findings in logs.
OF_LOGS: Final = ("no such line", "another generation")

Counts = Mapping[str, int]
Reasons = Sequence[tuple[str, int]]
Found = Sequence[tuple[Any, Finding | None]]


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


def checked(
    done: Mapping[str, Any], findings: Found, report: str | None, *, every: bool = False
) -> str:
    """The lines of `check`, with the first finding in full, or every one."""
    lines = [f"read       {_lines(done['read']._asdict())}"] if done["read"] else []
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
    lines += [f"written    {report}"] if report else []
    lines += [rejected_said(row, finding) for row, finding in findings]
    if done["rejected"] > len(findings):
        lines.append(f"...        and {done['rejected'] - len(findings):,} more")
    return bounded_lines(lines) + _in_full(findings, every=every)


def rejected_said(row: Any, finding: Finding | None) -> str:  # noqa: ANN401 - a row
    """A rejected group as one line."""
    what = title(finding) if finding else f"violates the rule {row.reason}"
    if row.kind in OF_LOGS:  # the reason has the position, the line and the expected lines
        return f"rejected   group {shown(row.group_id)} at {row.reason}"
    return f"rejected   group {shown(row.group_id)} at {row.source}:{row.line}: {what}"


def _in_full(findings: Found, *, every: bool) -> str:
    """The first finding, or every finding, whose history is short enough to print."""
    texts = [
        f"\n{in_group(row.group_id, finding, row.left_out)}"
        for row, finding in findings
        if finding is not None
    ]
    return "".join(texts if every else texts[:1])


def in_group(group_id: str, finding: Finding, left_out: int | None = None) -> str:
    """The finding of a rejected group, and the number of events omitted from its recording."""
    said = f"{bounded(f'In group {shown(group_id)}:')}\n{story(finding)}"
    if left_out:
        said += f"{left_out:,} repeated events are omitted.\n"
    return said


def as_json(done: Mapping[str, Any], findings: Found) -> dict[str, Any]:
    """The same as JSON."""
    read = done["read"]
    return {
        **{name: value for name, value in done.items() if name != "lanes"},
        "read": None if read is None else read._asdict(),
        "reasons": dict(done["reasons"]),
        "findings": [_finding_as_json(row, finding) for row, finding in findings],
    }


def _finding_as_json(row: Any, finding: Finding | None) -> dict[str, Any]:  # noqa: ANN401 - a row
    values = {name: value for name, value in row._asdict().items() if name != "recording"}
    if finding is None:
        return values
    reasons, violated = explanations(finding)
    return {
        **values,
        "title": title(finding),
        "text": story(finding),
        "explanations": msgspec.to_builtins(reasons),
        "property": msgspec.to_builtins(violated),
    }
