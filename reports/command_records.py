"""Makes the result records of `replay`, `check` and `explore`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from groupcheck.model.exploring.exploration import Exploration
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.sequence import Sequence, dump
from groupcheck.properties.temporal.counterexamples import Counterexample
from groupcheck.reports import exploration as explored
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
    """The result of a trace replayed on a port, or of a recording checked without a port.

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
    return _saved(
        "replay",
        took,
        {"file": done.what},
        port=done.port or done.what,
        profile=done.profile,
        kafka=PROFILES[done.profile].kafka,
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
    return _saved(
        "check",
        took,
        {"profile": profile or ""},
        port=", ".join(sources),
        profile=profile or "",
        kafka=PROFILES[profile].kafka if profile else NAMED_BY_SOURCES,
        conforms=done["accepted"] > 0 and not done["rejected"],
        sequences=done["groups"],
        steps=done["events_checked"],
        findings=tuple(records.values()),
        findings_truncated=done["rejected"] - len(records),
        lines=tuple(printed.splitlines()),
        check=msgspec.convert(section, saved.Check),
    )


def explore_record(
    exploration: Exploration,
    broken: list[Counterexample] | None,
    took: Took,
) -> saved.ResultRecord:
    """The record of an exploration; an expected violation is no finding."""
    settings = exploration.settings
    profile = settings.profile
    findings = [_violation(each) for each in broken or () if each.known is None]
    findings += [_bare(error, profile.name, error) for error in exploration.errors]
    return _saved(
        "explore",
        took,
        {"members": settings.members, "generations": settings.generations},
        port=f"the model of {profile.kafka}",
        profile=profile.name,
        kafka=profile.kafka,
        conforms=not findings,
        findings=tuple(findings),
        lines=tuple(explored.summary(exploration, [], broken).splitlines()),
        exploration=msgspec.convert(explored.as_json(exploration, broken), saved.Exploration),
    )


def _saved(
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
        return _bare(title, row.group_id, row.session, row.line, row.kind, row.reason)
    text = pipeline.in_group(row.group_id, finding, row.left_out)
    return replace(finding_record(finding, ""), title=title, text=text)


def _violation(each: Counterexample) -> saved.FindingRecord:
    """A property that the model violates, with the trace."""
    prop, instance = each.property, each.instance
    lines = explored.broken_in_words(each)
    steps = tuple(step.given for step in each.steps)
    trace = dump(Sequence(instance.profile.name, instance.broker, steps))
    return replace(
        _bare(lines[0].removesuffix(":"), instance.profile.name, each.space, prop.name),
        text="".join(f"{bounded(line)}\n" for line in lines),
        accepted_steps=max(len(steps) - 1, 0),
        property=saved.Property(name=prop.name, description=prop.words, source=prop.source),
        trace=tuple(json.loads(line) for line in trace.splitlines()),
    )


def _bare(title: str, *cause: object) -> saved.FindingRecord:
    """A finding of one line; its id depends on the cause alone."""
    identity = hashlib.sha256(repr(cause).encode()).hexdigest()[:8]
    title = bounded(title)
    return saved.FindingRecord(id=identity, title=title, text=f"{title}\n")
