"""Makes the result record of a verification."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from groupcheck import __version__
from groupcheck.model.edits import as_json
from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.sources import link
from groupcheck.properties.coverage.covered import ProfileCovered
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.severity import Severity, severity
from groupcheck.properties.result import InstanceCoverage, Result
from groupcheck.properties.sequence import dump
from groupcheck.reports import covered as coverage
from groupcheck.reports import record as saved
from groupcheck.reports.diagram import diagram
from groupcheck.reports.explanations import explanations
from groupcheck.reports.itf import finding_as_itf
from groupcheck.reports.side_by_side import compared, states
from groupcheck.reports.terminal import verdict
from groupcheck.reports.text import rules_of, story, title

NOTHING: Final = ProfileCovered({}, frozenset())

# A state takes about 7 kB, so a finding with more steps, as in the log of a group, has no states.
MOST_STEPS: Final = 300

replace = msgspec.structs.replace


def result_record(result: Result) -> saved.ResultRecord:
    """The record of a verification."""
    profile = result.settings.profile
    checked = EVERY_PROFILE[profile]
    covered = result.covered.get(profile, NOTHING)
    made = saved.ResultRecord(
        port=result.port,
        profile=profile,
        kafka=result.kafka,
        conforms=result.conforms,
        answered=result.answered,
        time_over=result.time_over,
        ended_early=result.ended_early,
        sequences=result.sequences,
        steps=result.steps,
        seconds=round(result.seconds, 3),
        unsupported=tuple(result.unsupported),
        assumed_defaults=tuple(result.assumed_defaults),
        findings=_findings(result),
        fixed=tuple(result.fixed),
        findings_truncated=result.more,
        findings_not_reproduced=result.not_reproduced,
        instances=tuple(_with_digest(each, covered) for each in result.instances),
        pairs=tuple(result.pairs),
        rules=coverage.rules_of(checked, covered.applied) if result.covered else None,
        runs=(_run(result),),
        code=result.code,
    )
    return replace(made, verdict=verdict(made))


def _findings(result: Result) -> tuple[saved.FindingRecord, ...]:
    """The records of the findings, the most severe first."""
    found = [
        replace(finding_record(finding, result.port), known=result.is_known(finding))
        for finding in result.findings
    ]
    return tuple(sorted(found, key=lambda record: Severity(record.severity).rank))


def _cause(finding: Finding) -> saved.Cause | None:
    if finding.cause is None:
        return None
    version = finding.sequence.profile
    rules = tuple(
        saved.LinkedRule(
            rule=rule.id,
            description=rule.words,
            source=rule.source,
            link=link(version, rule.source) if rule.source else "",
        )
        for rule in rules_of(finding)
    )
    return saved.Cause(deviation=str(finding.cause), edit=as_json(finding.cause), rules=rules)


def finding_record(finding: Finding, port: str) -> saved.FindingRecord:
    """The record of a finding."""
    reasons, violated = explanations(finding)
    short = len(finding.exchanges) <= MOST_STEPS
    return saved.FindingRecord(
        id=finding.finding_id,
        port=port,
        title=title(finding),
        text=story(finding),
        accepted_steps=max(len(finding.exchanges) - 1, 0),
        severity=severity(finding, violated.name if violated else "").value,
        cause=_cause(finding),
        explanations=reasons,
        property=violated,
        trace=tuple(json.loads(line) for line in dump(finding.sequence).splitlines()),
        diagram=diagram(finding),
        states=states(finding) if short else (),
        compared=compared(finding),
        itf=finding_as_itf(finding) if short else None,
    )


def run_of(
    seconds: float,
    settings: Mapping[str, bool | int | str],
    **fields: Any,  # noqa: ANN401 - those of a run
) -> saved.Run:
    """A run of this version of groupcheck, on this Python."""
    return saved.Run(
        groupcheck=__version__,
        python=platform.python_version(),
        seconds=round(seconds, 3),
        settings=dict(settings),
        **fields,
    )


def _with_digest(instance: InstanceCoverage, covered: ProfileCovered) -> InstanceCoverage:
    known = covered.instances.get(instance.label)
    return replace(instance, digest=known.digest if known else "")


def _run(result: Result) -> saved.Run:
    return run_of(
        result.seconds,
        result.settings._asdict(),
        port=result.port,
        started=result.started,
        sequences=result.sequences,
        steps=result.steps,
        ended_early=result.ended_early,
        tolerances=None if result.tolerances is None else result.tolerances._asdict(),
        curve=tuple(result.curve),
        stages=tuple(replace(each, seconds=round(each.seconds, 3)) for each in result.stages),
        outages=tuple(
            replace(
                each,
                after_seconds=round(each.after_seconds, 3),
                seconds=None if each.seconds is None else round(each.seconds, 3),
            )
            for each in result.outages
        ),
        phases=tuple(
            saved.Phase(name=name, seconds=round(seconds, 3))
            for name, seconds in result.phases.items()
        ),
    )
