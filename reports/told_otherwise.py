"""From what a replay, a check or an exploration came to, to what is saved of it.

Of a verification that is `told`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from groupcheck import __version__
from groupcheck.model.exploring.exploration import Exploration
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.laws.laws import Counterexample
from groupcheck.properties.sequence import Sequence, dump
from groupcheck.reports import exploration as explored
from groupcheck.reports import pipeline, saved, saved_sections
from groupcheck.reports.terminal import verdict
from groupcheck.reports.told import found
from groupcheck.reports.words import bounded

OFTEN: Final = ("group_id", "times", "reason")
NAMED_BY_SOURCES: Final = "the Kafka that each source names"


class Took(NamedTuple):
    """When a command began, as ISO 8601 in UTC, and how many seconds it took."""

    started: str
    seconds: float


class Replayed(NamedTuple):
    """What came of a sequence that was done again on a port, or of a recording without one.

    It had so many `groups`, of which `steps` were lawful; `lines` say what was not looked at.
    """

    what: str
    port: str
    profile: str
    groups: int
    steps: int
    finding: Finding | None
    group_id: str
    lines: tuple[str, ...]


def replay(done: Replayed, took: Took) -> saved.Saved:
    """A sequence that was done again, or a recording that was judged."""
    findings: list[saved.Found] = []
    if done.finding is not None:
        told = found(done.finding, done.port)
        if not done.port:
            said = pipeline.in_group(done.group_id, done.finding)
            told = msgspec.structs.replace(told, story=said)
        findings.append(told)
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


def check(
    done: Mapping[str, Any],
    findings: pipeline.Found,
    profile: str | None,
    sources: Iterable[str],
    took: Took,
) -> saved.Saved:
    """Groups that were held to the model; `done` are the figures of the check, by their names."""
    told = {each.id: each for each in (_rejected(row, finding) for row, finding in findings)}
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
        steps=done["judged"],
        more_findings=done["rejected"] - len(told),
        findings=tuple(told.values()),
        lines=tuple(printed.splitlines()),
        check=msgspec.convert(section, saved_sections.Check),
    )


def explore(
    exploration: Exploration,
    broken: list[Counterexample] | None,
    took: Took,
) -> saved.Saved:
    """The model explored; what is wrong with it is found, and what Kafka is known for is not."""
    settings = exploration.settings
    profile = settings.profile
    findings = [_broken(each) for each in broken or () if each.known is None]
    findings += [_error(profile.name, error) for error in exploration.errors]
    section = explored.as_json(exploration, broken)
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
        exploration=msgspec.convert(section, saved_sections.Exploration),
    )


def _saved(
    command: saved.Command,
    took: Took,
    settings: dict[str, bool | int | str],
    **fields: Any,  # noqa: ANN401 - those of a result
) -> saved.Saved:
    """A result of one run, with its verdict."""
    nothing = {"sequences": 0, "steps": 0, "more_findings": 0}
    fields = nothing | fields
    seconds = round(took.seconds, 3)
    run = saved.Run(
        port=fields["port"],
        groupcheck=__version__,
        python=platform.python_version(),
        started=took.started,
        seconds=seconds,
        sequences=fields["sequences"],
        steps=fields["steps"],
        ended_early="",
        settings=settings,
        windows=None,
    )
    made = saved.Saved(
        command=command,
        verdict="",
        ended_early="",
        seconds=seconds,
        unsupported=(),
        presumed=(),
        not_reproduced=0,
        spaces=(),
        pairs=(),
        rules=None,
        runs=(run,),
        **fields,
    )
    return msgspec.structs.replace(made, verdict=verdict(made))


def _rejected(row: Any, finding: Finding | None) -> saved.Found:  # noqa: ANN401 - a row
    """A group that was rejected; of what lines of a log say there is no sequence to know it by."""
    title = bounded(pipeline.rejected_said(row, finding).removeprefix("rejected   "))
    if finding is None:
        place = _id(row.group_id, row.session, row.line, row.kind, row.reason)
        return msgspec.structs.replace(_bare(title), id=place)
    told = found(finding, "")
    said = pipeline.in_group(row.group_id, finding, row.left_out)
    return msgspec.structs.replace(told, title=title, story=said)


def _broken(each: Counterexample) -> saved.Found:
    law, instance = each.law, each.instance
    lines = explored.broken_in_words(each)
    steps = tuple(step.given for step in each.steps)
    sequence = Sequence(instance.profile.name, instance.broker, steps)
    return msgspec.structs.replace(
        _bare(bounded(lines[0].removesuffix(":"))),
        id=_id(instance.profile.name, each.space, law.name),
        story="".join(f"{bounded(line)}\n" for line in lines),
        accepted_steps=max(len(steps) - 1, 0),
        law={"name": law.name, "says": law.says, "source": law.source},
        trace=tuple(json.loads(line) for line in dump(sequence).splitlines()),
    )


def _error(profile: str, error: str) -> saved.Found:
    return msgspec.structs.replace(_bare(bounded(error)), id=_id(profile, error))


def _bare(title: str) -> saved.Found:
    """Something found of which there is no more than a line."""
    return saved.Found(
        id="0" * 8,
        port="",
        title=title,
        story=f"{title}\n",
        accepted_steps=0,
        would_be_right=(),
        law=None,
        trace=(),
        diagram=None,
        states=(),
        compared=(),
        itf=None,
    )


def _id(*parts: object) -> str:
    """Stable: what is found in the same place again has the same."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
