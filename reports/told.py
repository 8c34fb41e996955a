"""From what a verification came to, to what is saved of it: every word and figure of a report."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from groupcheck import __version__
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.coverage.covered import ProfileCovered
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.result import Result, SpaceResult
from groupcheck.properties.sequence import dump
from groupcheck.reports import diagram as drawing
from groupcheck.reports import saved
from groupcheck.reports.covered import rules_of
from groupcheck.reports.itf import finding_as_itf
from groupcheck.reports.reasons import as_json as reasons_as_json
from groupcheck.reports.side_by_side import compared, states
from groupcheck.reports.story import story, title
from groupcheck.reports.terminal import verdict

NOTHING: Final = ProfileCovered({}, frozenset())

# Of a finding with more steps, as a group in a log may have, no states are kept: they take some
# 7 kB a step.
MOST_STEPS: Final = 300


def told(result: Result) -> saved.Saved:
    """All of a result as it is saved."""
    covered = result.covered.get(result.settings.profile, NOTHING)
    made = saved.Saved(
        port=result.port,
        profile=result.settings.profile,
        kafka=result.kafka,
        conforms=result.conforms,
        verdict="",
        ended_early=result.ended_early,
        sequences=result.sequences,
        steps=result.steps,
        seconds=round(result.seconds, 3),
        unsupported=tuple(result.unsupported),
        presumed=tuple(result.presumed),
        more_findings=result.more,
        not_reproduced=result.not_reproduced,
        spaces=tuple(_space(space, result.settings.members, covered) for space in result.spaces),
        pairs=tuple(map(_pairs, result.pairs)),
        rules=_rules(result.settings.profile, covered) if result.covered else None,
        runs=(_run(result),),
        findings=tuple(found(finding, result.port) for finding in result.findings),
        code=result.code,
    )
    return msgspec.structs.replace(made, verdict=verdict(made))


def found(finding: Finding, port: str) -> saved.Found:
    """A finding of a port as it is saved."""
    drawn = drawing.diagram(finding)
    reasons: dict[str, Any] = reasons_as_json(finding)
    short = len(finding.exchanges) <= MOST_STEPS
    return saved.Found(
        id=finding.finding_id,
        port=port,
        title=title(finding),
        story=story(finding),
        accepted_steps=max(len(finding.exchanges) - 1, 0),
        would_be_right=tuple(reasons["would_be_right"]),
        law=reasons["law"],
        trace=tuple(json.loads(line) for line in dump(finding.sequence).splitlines()),
        diagram=saved.Diagram(
            title=drawn.title,
            participants=drawn.participants,
            events=tuple(map(_event, drawn.events)),
            verdict=drawn.verdict,
        ),
        states=states(finding) if short else (),
        compared=compared(finding),
        itf=finding_as_itf(finding) if short else None,
    )


def _event(event: drawing.Arrow | drawing.Note) -> saved.Event:
    if isinstance(event, drawing.Note):
        return saved.Event(kind="note", label=event.label)
    return saved.Event(kind=event.kind, label=event.label, source=event.source, target=event.target)


def _space(space: SpaceResult, members: int, covered: ProfileCovered) -> saved.Space:
    known = covered.spaces.get(f"{space.name}/{members}")
    figures = {f"edges_{n}": v for n, v in space.shares._asdict().items() if n != "edges"}
    return saved.Space(
        name=space.name,
        members=members,
        states=space.states,
        edges=space.edges,
        depth=space.depth,
        **figures,
        edge_kinds=space.kinds,
        tours=saved.Tours(**space.tours._asdict()),
        broker=dict(space.broker),
        arrows=dict(sorted(space.arrows.items())),
        digest=known.digest if known else "",
    )


def _pairs(space: SpaceResult) -> saved.Pairs:
    figures = space.shares._asdict()
    del figures["edges"], figures["answered"]
    tours = saved.Tours(**space.tours._asdict())
    return saved.Pairs(space=space.name, pairs=space.edges, **figures, tours=tours)


def _rules(profile: str, covered: ProfileCovered) -> saved.Rules:
    applied, starved, passed_over = rules_of(PROFILES[profile], covered.applied)
    return saved.Rules(
        applied=tuple(applied), starved=tuple(starved), passed_over=tuple(passed_over)
    )


def _run(result: Result) -> saved.Run:
    settings: Mapping[str, bool | int | str] = result.settings._asdict()
    return saved.Run(
        port=result.port,
        groupcheck=__version__,
        python=platform.python_version(),
        started=result.started,
        seconds=round(result.seconds, 3),
        sequences=result.sequences,
        steps=result.steps,
        ended_early=result.ended_early,
        settings=dict(settings),
        windows=None if result.windows is None else result.windows._asdict(),
        curve=tuple(
            saved.Moment(seconds=point.seconds, steps=point.steps, shown=point.shown)
            for point in result.curve
        ),
        stages=tuple(
            saved.Stage(**{**stage._asdict(), "seconds": round(stage.seconds, 3)})
            for stage in result.stages
        ),
        outages=tuple(
            saved.Outage(
                after_seconds=round(outage.after_s, 3),
                seconds=None if outage.seconds is None else round(outage.seconds, 3),
                reason=outage.reason,
            )
            for outage in result.outages
        ),
        phases=tuple(
            saved.Phase(name=name, seconds=round(seconds, 3))
            for name, seconds in result.phases.items()
        ),
    )
