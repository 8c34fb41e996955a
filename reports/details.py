"""The details of a result that `verify -v` and `report -v` print, and the stages of long runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupcheck.properties.result import InstanceCoverage, Outage, Stage
from groupcheck.reports.formatting import counted, wrapped
from groupcheck.reports.record import ResultRecord, Run

# Shares of the transitions that a run has covered at its end.
SHARES: Final = (0.5, 0.9, 1.0)


def details(result: ResultRecord) -> list[str]:
    """Settings and phases of each run, instances, rules."""
    lines: list[str] = []
    for run in result.runs:
        lines += _run(run)
    for instance in result.instances:
        lines += wrapped("instance", _instance(instance))
    if result.rules is not None:
        rules = result.rules
        known = len(rules.applied) + len(rules.not_applied)
        lines.append(f"rules      {len(rules.applied)} of {known} applied")
        lines += wrapped("unapplied", rules.not_applied) if rules.not_applied else []
    return lines


def _run(run: Run) -> Iterator[str]:
    when = f", started {run.started}" if run.started else ""
    yield f"with       groupcheck {run.groupcheck}, Python {run.python}{when}"
    yield from wrapped("settings", (f"{name}={value}" for name, value in run.settings.items()))
    for phase in run.phases:
        yield f"took       {phase.seconds:.1f} s: {phase.name}"
    last = run.curve[-1].covered if run.curve else 0
    if last:
        points = (next(p for p in run.curve if p.covered >= share * last) for share in SHARES)
        yield from wrapped(
            "covered",
            (
                f"{counted(point.covered, 'transition')} after {point.seconds:.1f} s"
                for point in points
            ),
        )


def _instance(instance: InstanceCoverage) -> Iterator[str]:
    """The details that the summary omits."""
    counts, tours = instance.transitions, instance.tours
    requests, others = counts.requests_covered, counts.covered - counts.requests_covered
    yield f"{instance.label}: depth {instance.depth}"
    yield f"{counted(requests, 'request')} covered, {others:,} by timers and faults"
    if tours.tests:
        yield f"tours: {counted(tours.tests, 'sequence')} of {counted(tours.steps, 'step')}"
    if instance.group_transitions:
        taken = sum(instance.group_transitions.values())
        yield f"{counted(taken, 'transition')} between group states"
    yield from (f"{name}={value}" for name, value in instance.broker.items())
    if instance.digest:
        yield f"digest {instance.digest}"


def long_run_lines(result: ResultRecord) -> list[str]:
    """A line for each stage and outage, and for the undecided sequences."""
    found = []
    for run in result.runs:
        found += [f"stage      {_stage(stage)}" for stage in run.stages]
        found += [f"outage     {_outage(outage)}" for outage in run.outages]
    if result.undecided:
        found.append(
            f"undecided  {counted(result.undecided, 'sequence')} interrupted by an outage;"
            " --resume repeats them"
        )
    return found


def _stage(stage: Stage) -> str:
    rate = f"{stage.sequences / stage.seconds:.1f} a second" if stage.seconds else "at once"
    return (
        f"{stage.name}: {counted(stage.sequences, 'sequence')}, {counted(stage.steps, 'step')},"
        f" {rate}{f', {stage.undecided:,} undecided' if stage.undecided else ''}"
    )


def _outage(outage: Outage) -> str:
    back = "not back since"
    if outage.seconds is not None:
        back = f"back {outage.seconds:.1f} s later"
    return f"after {outage.after_seconds:.1f} s the broker {outage.reason}; {back}"


def stages_and_outages(run: Run) -> list[str]:
    """The stages and the outages of one run."""
    return [*map(_stage, run.stages), *map(_outage, run.outages)]
