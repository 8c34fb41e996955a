"""Makes the result record of a verification."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any, Final

from groupcheck import __version__
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.properties.coverage.covered import ProfileCovered
from groupcheck.properties.findings.severity import Severity
from groupcheck.properties.result import InstanceCoverage, Result
from groupcheck.reports import covered as coverage
from groupcheck.reports import record as saved
from groupcheck.reports.finding_record import finding_record, replace
from groupcheck.reports.terminal import verdict

NOTHING: Final = ProfileCovered({}, frozenset())


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
