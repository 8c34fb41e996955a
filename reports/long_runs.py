"""What a long run was made of, and what came between, in words."""

from __future__ import annotations

from groupcheck.reports.saved import Outage, Run, Saved, Stage
from groupcheck.reports.words import counted


def lines(result: Saved) -> list[str]:
    """A line for each stage, one for each time that the coordinator was away; none otherwise."""
    found = []
    for run in result.runs:
        found += [f"stage      {stage_in_words(stage)}" for stage in run.stages]
        found += [f"away       {outage_in_words(outage)}" for outage in run.outages]
    if result.undecided:
        found.append(
            f"undecided  {counted(result.undecided, 'sequence')} under way while it was away;"
            " --resume does them again"
        )
    return found


def stage_in_words(stage: Stage) -> str:
    """How much of it was done, and how fast."""
    rate = f"{stage.sequences / stage.seconds:.1f} a second" if stage.seconds else "at once"
    return (
        f"{stage.name}: {counted(stage.sequences, 'sequence')}, {counted(stage.steps, 'step')},"
        f" {rate}{f', {stage.undecided:,} undecided' if stage.undecided else ''}"
    )


def outage_in_words(outage: Outage) -> str:
    """When it was, what was seen, and when it was over."""
    back = "and did not come back"
    if outage.seconds is not None:
        back = f"back {outage.seconds:.1f} s later"
    return f"after {outage.after_seconds:.1f} s the broker {outage.reason}, {back}"


def of_run(run: Run) -> list[str]:
    """The stages and the outages of one run."""
    return [*map(stage_in_words, run.stages), *map(outage_in_words, run.outages)]
