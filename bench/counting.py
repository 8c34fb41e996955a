"""Counting two-phase commit, compared with TLC and `explore`: `python bench/counting.py 7 8`.

The arguments are numbers of resource managers. All run one after the other, TLC with two workers,
the others on one core, and must find the same states and transitions. No property is checked.
`explore` keeps every transition, so it has no more than seven resource managers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from groupcheck.model.engine.counting import count
from groupcheck.model.engine.exploration import explore
from groupcheck.model.twophase.specification import TwoPhase
from support import tla

MOST_EXPLORED: Final = 7
TEXT: Final = Path(__file__).parents[1] / "model" / "twophase" / "TwoPhase.tla"

Numbers = tuple[int, int]  # states and transitions


def _tlc(managers: int) -> Numbers:
    names = ", ".join(f"r{number}" for number in range(managers))
    config = f"CONSTANT RM = {{{names}}}\nSPECIFICATION Spec\n"
    with tempfile.TemporaryDirectory() as folder:
        found = tla.check(Path(folder), config, workers=2, dump=None, specification=TEXT)
    return found.distinct, found.generated - 1  # without the initial state


def _explored(managers: int) -> Numbers:
    space = explore(TwoPhase(managers))
    return len(space.nodes), space.transition_count


def _counted(managers: int) -> Numbers:
    return count(TwoPhase(managers))[:2]


def _row(managers: int) -> str:
    runs: dict[str, Callable[[int], Numbers]] = {"TLC": _tlc, "count": _counted}
    if managers <= MOST_EXPLORED:
        runs["explore"] = _explored
    found, took = {}, {}
    for name, run in runs.items():
        before = _times()
        found[name] = run(managers)
        took[name] = tuple(now - then for now, then in zip(_times(), before, strict=True))
    assert len(set(found.values())) == 1, found
    states, transitions = found["count"]
    row = f"{managers} resource managers: {states:,} states, {transitions:,} transitions"
    for name, (seconds, cpu) in took.items():
        ratios = [had / counted for had, counted in zip(took[name], took["count"], strict=True)]
        row += f"\n  {name:8}{seconds:8.2f} s, {ratios[0]:6.1f} times count's"
        row += f"; CPU {cpu:8.2f} s, {ratios[1]:6.1f} times"
    return row


def _times() -> tuple[float, float]:
    """The present time, and the CPU time of this process and of those that have ended."""
    return time.perf_counter(), sum(os.times()[:4])


def main() -> None:
    """Print the rows."""
    for managers in map(int, sys.argv[1:]):
        print(_row(managers), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
