"""What came of a run of the pipeline, in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from groupcheck.model.bodies import shown
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports.reasons import as_json as reasons_as_json
from groupcheck.reports.story import story, title
from groupcheck.reports.words import bounded, counted

# The kinds of findings in logs.
OF_LOGS: Final = ("no such line", "another generation")

Counts = Mapping[str, int]
Reasons = Sequence[tuple[str, int]]
Found = Sequence[tuple[Any, Finding | None]]


def ingested(counts: Counts, groups: int, reasons: Reasons, out: str) -> str:
    """What was taken in."""
    events = f"{counts['events']:,} of {counted(groups, 'group')}"
    lines = [
        f"read       {_lines(counts)}",
        f"events     {events} in {counted(counts['sessions'], 'session')}",
        *_because("quarantine", reasons),
        f"written    {out}",
    ]
    return "".join(f"{bounded(line)}\n" for line in lines)


def _lines(counts: Counts) -> str:
    read = f"{counts['read']:,} lines of {counted(counts['files'], 'file')}"
    other = f" ({counts['other']:,} not about groups)" if counts["other"] else ""
    return f"{read}: {counts['kept']:,} kept{other}, {counts['quarantined']:,} quarantined"


def _because(head: str, reasons: Reasons) -> list[str]:
    return [f"{head:<10} {number:,}: {reason}" for reason, number in reasons]


def checked(
    done: Mapping[str, Any], findings: Found, report: str | None, *, every: bool = False
) -> str:
    """What the check came to, the first finding in full, or every one."""
    lines = [f"read       {_lines(done['read']._asdict())}"] if done["read"] else []
    verdicts = ", ".join(f"{done[v]:,} {v}" for v in ("accepted", "rejected", "undecided"))
    known = f"{done['both']:,} of the {done['explored']:,} that the explored spaces have"
    lines += [
        f"groups     {done['groups']:,}: {verdicts}",
        f"events     {done['judged']:,} of {done['events']:,} in accepted prefixes",
        *_because("undecided", done["reasons"]),
        f"edges      {done['edges']:,} shown; {known}",
    ]
    lines += [
        f"rebalances {number:,} of group {shown(group_id)}, most because of {reason}"
        for group_id, number, reason in done["rebalancing"]
    ]
    lines += [f"written    {report}"] if report else []
    lines += [rejected_said(told, finding) for told, finding in findings]
    if done["rejected"] > len(findings):
        lines.append(f"...        and {done['rejected'] - len(findings):,} more")
    return "".join(f"{bounded(line)}\n" for line in lines) + _in_full(findings, every=every)


def rejected_said(told: Any, finding: Finding | None) -> str:  # noqa: ANN401 - a row
    """A rejected group in a line."""
    what = title(finding) if finding else f"against the rule {told.reason}"
    if told.kind in OF_LOGS:  # the reason says where, what was printed and what might have been
        return f"rejected   group {shown(told.group_id)} at {told.reason}"
    return f"rejected   group {shown(told.group_id)} at {told.source}:{told.line}: {what}"


def _in_full(findings: Found, *, every: bool) -> str:
    """The first finding whose history is short enough to be told, or all of these."""
    told = [
        f"\n{in_group(row.group_id, finding, row.left_out)}"
        for row, finding in findings
        if finding is not None
    ]
    return "".join(told if every else told[:1])


def in_group(group_id: str, finding: Finding, left_out: int | None = None) -> str:
    """The story of a rejected group, and how many events its recording leaves out."""
    said = f"{bounded(f'In group {shown(group_id)}:')}\n{story(finding)}"
    if left_out:
        said += f"Left out are {left_out:,} events, the same again and again.\n"
    return said


def as_json(done: Mapping[str, Any], findings: Found) -> dict[str, Any]:
    """The same as JSON-able values."""
    read = done["read"]
    return {
        **{name: value for name, value in done.items() if name != "lanes"},
        "read": None if read is None else read._asdict(),
        "reasons": dict(done["reasons"]),
        "findings": [_finding_as_json(told, finding) for told, finding in findings],
    }


def _finding_as_json(told: Any, finding: Finding | None) -> dict[str, Any]:  # noqa: ANN401 - a row
    row = {name: value for name, value in told._asdict().items() if name != "recording"}
    if finding is None:
        return row
    return {**row, "title": title(finding), "story": story(finding), **reasons_as_json(finding)}
