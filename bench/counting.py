"""Counting two-phase commit, compared with TLC and `explore`: `python bench/counting.py 7 8`.

The arguments are numbers of resource managers. All run one after the other, TLC with two workers,
the others on one core, and must find the same states and transitions. No property is checked.
`explore` keeps every transition, so it has no more than seven resource managers.

With `--stateright`, cargo first builds Stateright's own example of two-phase commit, in the user's
cache. That uses every core, and always checks its three properties. It looks once a second whether
it is finished, so only its CPU time says how long a short run takes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from groupcheck.cache import cache_folder
from groupcheck.model.engine.counting import count
from groupcheck.model.engine.exploration import explore
from groupcheck.model.twophase.specification import TwoPhase
from support import tla

MOST_EXPLORED: Final = 7
TEXT: Final = Path(__file__).parents[1] / "model" / "twophase" / "TwoPhase.tla"
STATERIGHT: Final = "0.31.0"  # on crates.io

Numbers = tuple[int, int]  # states and transitions


def _tlc(managers: int) -> Numbers:
    names = ", ".join(f"r{number}" for number in range(managers))
    config = f"CONSTANT RM = {{{names}}}\nSPECIFICATION Spec\n"
    with tempfile.TemporaryDirectory() as folder:
        found = tla.check(Path(folder), TEXT, config, workers=2, dump=None)
    return found.distinct, found.generated - 1  # without the initial state


def _explored(managers: int) -> Numbers:
    space = explore(TwoPhase(managers))
    return len(space.nodes), space.transition_count


def _counted(managers: int) -> Numbers:
    return count(TwoPhase(managers))[:2]


def _built() -> Path:
    """Stateright's example, from its crate; built only if it is not there."""
    if (cargo := shutil.which("cargo")) is None:
        sys.exit("--stateright needs cargo, Rust's build tool, on the PATH")
    root = cache_folder() / "stateright"
    install = [cargo, "install", "--quiet", "--locked", "--root", str(root)]
    crate = ["--version", STATERIGHT, "--example", "2pc", "stateright"]
    if subprocess.run([*install, *crate], check=False).returncode:
        sys.exit(f"cargo did not build Stateright {STATERIGHT}: its reason is above")
    return root / "bin" / "2pc"


def _stateright(program: Path, managers: int) -> Numbers:
    run = [str(program), "check", str(managers)]
    printed = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    done = re.search(r"^Done\. states=(\d+), unique=(\d+)", printed, re.MULTILINE)
    assert done, printed
    return int(done[2]), int(done[1]) - 1  # without the initial state


def _row(managers: int, others: dict[str, Callable[[int], Numbers]]) -> str:
    runs = {**others, "count": _counted}
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
        row += f"\n  {name:11}{seconds:8.2f} s, {ratios[0]:6.1f} times count's"
        row += f"; CPU {cpu:8.2f} s, {ratios[1]:6.1f} times"
    return row


def _times() -> tuple[float, float]:
    """The present time, and the CPU time of this process and of those that have ended."""
    return time.perf_counter(), time.process_time() + sum(os.times()[2:4])


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("managers", type=int, nargs="+", help="numbers of resource managers")
    parser.add_argument("--no-tlc", action="store_true", help="leave TLC out")
    parser.add_argument("--stateright", action="store_true", help="also run Stateright")
    options = parser.parse_args()
    others: dict[str, Callable[[int], Numbers]] = {} if options.no_tlc else {"TLC": _tlc}
    if options.stateright:
        others["Stateright"] = partial(_stateright, _built())
    for managers in options.managers:
        print(_row(managers, others), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
