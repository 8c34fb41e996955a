"""What else there is to tell of a verification, where more is asked for: `verify -v`, `report -v`.

All of it is in the result; nothing is reckoned anew but sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupcheck.reports.columns import wrapped
from groupcheck.reports.saved import Run, Saved, Space
from groupcheck.reports.words import counted

# Of all that a run has shown in the end.
SHARES: Final = (0.5, 0.9, 1.0)


def details(result: Saved) -> list[str]:
    """Lines for a terminal: settings, each space, the rules, the course of each run."""
    lines: list[str] = []
    for run in result.runs:
        lines += _run(run)
    for space in result.spaces:
        lines += wrapped("space", _space(space))
    if result.rules is not None:
        rules = result.rules
        known = len(rules.applied) + len(rules.starved)
        lines.append(f"rules      {len(rules.applied)} of {known} were seen to hold")
        lines += wrapped("never", rules.starved) if rules.starved else []
    return lines


def _run(run: Run) -> Iterator[str]:
    when = f", begun {run.started}" if run.started else ""
    yield f"with       groupcheck {run.groupcheck}, Python {run.python}{when}"
    yield from wrapped("settings", (f"{name}={value}" for name, value in run.settings.items()))
    for phase in run.phases:
        yield f"took       {phase.seconds:.1f} s: {phase.name}"
    last = run.curve[-1].shown if run.curve else 0
    if last:
        points = (next(p for p in run.curve if p.shown >= share * last) for share in SHARES)
        yield from wrapped(
            "shown",
            (f"{counted(point.shown, 'edge')} after {point.seconds:.1f} s" for point in points),
        )


def _space(space: Space) -> Iterator[str]:
    """What the summary does not say of it."""
    happened = space.edges_shown - space.edges_answered
    yield f"{space.name}/{space.members}: depth {space.depth}"
    yield f"{counted(space.edges_answered, 'edge')} answered and {happened:,} happened"
    if space.tours.tests:
        tests, steps = counted(space.tours.tests, "sequence"), counted(space.tours.steps, "step")
        yield f"toured in {tests} of {steps}"
    if space.arrows:
        yield f"{counted(sum(space.arrows.values()), 'arrow')} taken of the state graph"
    yield from (f"{name}={value}" for name, value in space.broker.items())
    if space.digest:
        yield f"digest {space.digest}"
