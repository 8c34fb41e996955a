"""The stages and outages of a long run as text."""

from __future__ import annotations

from groupcheck.properties.result import Outage, Stage
from groupcheck.reports.formatting import counted
from groupcheck.reports.record import ResultRecord, Run


def lines(result: ResultRecord) -> list[str]:
    """A line for each stage and outage, and for the undecided sequences."""
    found = []
    for run in result.runs:
        found += [f"stage      {stage_in_words(stage)}" for stage in run.stages]
        found += [f"outage     {outage_in_words(outage)}" for outage in run.outages]
    if result.undecided:
        found.append(
            f"undecided  {counted(result.undecided, 'sequence')} interrupted by an outage;"
            " --resume repeats them"
        )
    return found


def stage_in_words(stage: Stage) -> str:
    """The sequences and steps of a stage, and its rate."""
    rate = f"{stage.sequences / stage.seconds:.1f} a second" if stage.seconds else "at once"
    return (
        f"{stage.name}: {counted(stage.sequences, 'sequence')}, {counted(stage.steps, 'step')},"
        f" {rate}{f', {stage.undecided:,} undecided' if stage.undecided else ''}"
    )


def outage_in_words(outage: Outage) -> str:
    """The start, the symptom and the duration of an outage."""
    back = "not back since"
    if outage.seconds is not None:
        back = f"back {outage.seconds:.1f} s later"
    return f"after {outage.after_seconds:.1f} s the broker {outage.reason}; {back}"


def of_run(run: Run) -> list[str]:
    """The stages and the outages of one run."""
    return [*map(stage_in_words, run.stages), *map(outage_in_words, run.outages)]
