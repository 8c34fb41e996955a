"""Makes the result records of `replay` and `check`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.properties.findings.finding import Finding
from groupcheck.reports import pipeline
from groupcheck.reports import record as saved
from groupcheck.reports.formatting import bounded
from groupcheck.reports.terminal import verdict
from groupcheck.reports.verification_record import finding_record, replace, run_of

OFTEN: Final = ("group_id", "times", "reason")
NAMED_BY_SOURCES: Final = "the Kafka that each source names"


class Took(NamedTuple):
    """The start of a command, as ISO 8601 in UTC, and how many seconds it took."""

    started: str
    seconds: float


class Replayed(NamedTuple):
    """The result of replaying a trace on a port, or of checking a recording without a port.

    `steps` of its `groups` conform; `lines` say what was not checked.
    """

    what: str
    port: str
    profile: str
    groups: int
    steps: int
    finding: Finding | None
    group_id: str
    lines: tuple[str, ...]


def replay_record(done: Replayed, took: Took) -> saved.ResultRecord:
    """The record of a replayed trace, or of a checked recording."""
    findings: list[saved.FindingRecord] = []
    if done.finding is not None:
        record = finding_record(done.finding, done.port)
        if not done.port:
            record = replace(record, text=pipeline.in_group(done.group_id, done.finding))
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
    findings: pipeline.Found,
    profile: str | None,
    sources: Iterable[str],
    took: Took,
) -> saved.ResultRecord:
    """The record of groups checked against the model; `done` has the counts, by their names."""
    records = {each.id: each for each in (_rejected(row, finding) for row, finding in findings)}
    section = pipeline.as_json(done, ()) | {
        "rebalancing": [dict(zip(OFTEN, row, strict=True)) for row in done["rebalancing"]],
        "rebalances": done["lanes"],
    }
    printed = pipeline.checked(done, findings, None).partition("\n\n")[0]
    return one_run(
        "check",
        took,
        {"profile": profile or ""},
        port=", ".join(sources),
        profile=profile or "",
        kafka=EVERY_PROFILE[profile].kafka if profile else NAMED_BY_SOURCES,
        conforms=done["accepted"] > 0 and not done["rejected"],
        sequences=done["groups"],
        steps=done["events_checked"],
        findings=tuple(records.values()),
        findings_truncated=done["rejected"] - len(records),
        lines=tuple(printed.splitlines()),
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
    """A rejected group; the lines of a log do not give a trace that could identify it."""
    title = bounded(pipeline.rejected_said(row, finding).removeprefix("rejected   "))
    if finding is None:
        return bare_finding(title, row.group_id, row.session, row.line, row.kind, row.reason)
    text = pipeline.in_group(row.group_id, finding, row.left_out)
    return replace(finding_record(finding, ""), title=title, text=text)


def bare_finding(title: str, *cause: object) -> saved.FindingRecord:
    """A finding of one line; its id depends on the cause alone."""
    identity = hashlib.sha256(repr(cause).encode()).hexdigest()[:8]
    title = bounded(title)
    return saved.FindingRecord(id=identity, title=title, text=f"{title}\n")
