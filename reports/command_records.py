"""Makes the result records of `replay` and `check`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from groupcheck.model.bodies import shown
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports import record as saved
from groupcheck.reports.finding_record import finding_record, replace
from groupcheck.reports.finding_title import title
from groupcheck.reports.formatting import bounded, counted
from groupcheck.reports.pipeline import check_lines
from groupcheck.reports.terminal import verdict
from groupcheck.reports.verification_record import run_of

# The kinds of findings in logs.
OF_LOGS: Final = ("no such line", "another generation")

OFTEN: Final = ("group_id", "times", "reason")
NAMED_BY_SOURCES: Final = "the Kafka that each source names"


class Took(NamedTuple):
    """The start of a command, as ISO 8601 in UTC, and how many seconds it took."""

    started: str
    seconds: float


class Replayed(NamedTuple):
    """The result of replaying a trace on a port, or of checking a recording without a port.

    `steps` of its `groups` conform; `lines` say what was checked, or not. Without a port `where`
    names the group or the recorded test that has the finding.
    """

    what: str
    port: str
    profile: str
    groups: int
    steps: int
    finding: Finding | None
    where: str
    lines: tuple[str, ...]


def replay_record(done: Replayed, took: Took) -> saved.ResultRecord:
    """The record of a replayed trace, or of a checked recording."""
    findings: list[saved.FindingRecord] = []
    if done.finding is not None:
        record = finding_record(done.finding, done.port)
        if not done.port:
            record = replace(record, title=bounded(f"{done.where}: {record.title}"))
        findings.append(record)
    return one_run(
        "replay",
        took,
        {"file": done.what},
        port=done.port or done.what,
        profile=done.profile,
        kafka=EVERY_PROFILE[done.profile].kafka,
        conforms=not findings,
        sequences=done.groups,
        steps=done.steps,
        findings=tuple(findings),
        lines=tuple(map(bounded, done.lines)),
    )


def check_record(
    done: Mapping[str, Any],
    rejected: Iterable[tuple[Any, Finding | None]],
    profile: str | None,
    sources: Iterable[str],
    took: Took,
) -> saved.ResultRecord:
    """The record of groups checked against the model; `done` has the counts, by their names.

    `rejected` are rows of the table of findings, each with the finding in the group's recording.
    """
    records = [_rejected(row, finding) for row, finding in rejected]
    findings = tuple({each.id: each for each in records}.values())
    read = done["read"]
    section = dict(done) | {
        "read": None if read is None else read._asdict(),
        "reasons": dict(done["reasons"]),
        "rebalancing": [dict(zip(OFTEN, row, strict=True)) for row in done["rebalancing"]],
        "rebalances": done["timeline"],
    }
    return one_run(
        "check",
        took,
        {"profile": profile or "", "engine": done["engine"]},
        port=", ".join(sources),
        profile=profile or "",
        kafka=EVERY_PROFILE[profile].kafka if profile else NAMED_BY_SOURCES,
        conforms=done["accepted"] > 0 and not done["rejected"],
        sequences=done["groups"],
        steps=done["events_checked"],
        findings=findings,
        findings_truncated=done["rejected"] - len(findings),
        lines=tuple(check_lines(done, (each.title for each in records))),
        check=msgspec.convert(section, saved.Check),
    )


def one_run(
    command: saved.Command,
    took: Took,
    settings: dict[str, bool | int | str],
    **fields: Any,  # noqa: ANN401 - those of a result
) -> saved.ResultRecord:
    """A result of one run, with its verdict."""
    run = run_of(
        took.seconds,
        settings,
        port=fields["port"],
        started=took.started,
        sequences=fields.get("sequences", 0),
        steps=fields.get("steps", 0),
        ended_early="",
        tolerances=None,
    )
    made = saved.ResultRecord(command=command, seconds=run.seconds, runs=(run,), **fields)
    return replace(made, verdict=verdict(made))


def _rejected(row: Any, finding: Finding | None) -> saved.FindingRecord:  # noqa: ANN401 - a row
    """A rejected group, with an id of its own: groups may be rejected for the same cause."""
    what = title(finding) if finding else f"violates the rule {row.reason}"
    where = f"{row.source}:{row.line}: {what}"
    if row.kind in OF_LOGS:  # the reason has the position, the line and the expected lines
        where = row.reason
    heading = bounded(f"group {shown(row.group_id)} at {where}")
    omitted = counted(row.omitted or 0, "repeated event")
    record = bare_finding(heading, row.group_id, row.session, row.line, row.kind, row.reason)
    if finding is not None:
        record = replace(finding_record(finding, ""), id=record.id, title=heading)
    return replace(
        record,
        group_id=bounded(row.group_id),
        source=bounded(row.source),
        line=row.line,
        notes=(f"Not shown: {omitted}.",) if row.omitted else (),
    )


def bare_finding(heading: str, *cause: object) -> saved.FindingRecord:
    """A finding of one line; its id depends on the cause alone."""
    identity = hashlib.sha256(repr(cause).encode()).hexdigest()[:8]
    return saved.FindingRecord(id=identity, title=bounded(heading))
