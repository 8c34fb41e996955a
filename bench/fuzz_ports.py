"""Checks runs on faulty ports for tracebacks: `python bench/fuzz_ports.py [--runs N]`.

Makes ports by random edits of the built-in one, verifies each in a small run, and renders each
result in every format. The default 10,000 runs take about 15 minutes on two cores. Prints how the
runs of each kind of port ended. Ends with status 1 if one ended in a traceback, or did not end;
`--kind KIND --seed N --runs 1` repeats it, and prints the traceback.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from support.fuzzed_runs import ended
from support.random_ports import KINDS as EDITED
from support.source_mutants import mutant

KINDS = {**EDITED, "source": mutant}


AT_ONCE = 50


class Failed(NamedTuple):
    """A run that ended in a traceback; the cause is the line that raised."""

    kind: str
    seed: int
    cause: str
    text: str


def one(kind: str, seed: int) -> str | Failed:
    """Run once; returns how the run ended."""
    pick = Random(f"{kind} {seed}")
    try:
        return ended(KINDS[kind], pick)
    except BaseException as error:  # noqa: BLE001 (any exception is a failure)
        last = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
        return Failed(kind, seed, cause, traceback.format_exc())


def part(task: tuple[str, int, int]) -> tuple[str, Counter[str], list[Failed]]:
    """Several runs in one process."""
    kind, first, runs = task
    results = [one(kind, seed) for seed in range(first, first + runs)]
    failed = [each for each in results if isinstance(each, Failed)]
    return kind, Counter(each for each in results if isinstance(each, str)), failed


def main(kinds: list[str], first: int, runs: int, jobs: int) -> int:
    """Run all, print the table and the failures."""
    started = time.monotonic()
    end = first + runs
    tasks = [(k, s, min(AT_ONCE, end - s)) for s in range(first, end, AT_ONCE) for k in kinds]
    ends: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    failed: list[Failed] = []
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for kind, counted, failures in pool.map(part, tasks):
            ends[kind] += counted
            failed += failures
            for each in failures:
                where = f"--kind {kind} --seed {each.seed} --runs 1"
                print(f"{each.cause}: {where}", flush=True)  # noqa: T201
    for kind, counted in ends.items():
        print(f"{kind:10}", ", ".join(f"{n:,} {how}" for how, n in counted.most_common()))  # noqa: T201
    if runs == 1 and failed:
        print(failed[0].text)  # noqa: T201
    total = sum(map(Counter.total, ends.values())) + len(failed)
    print(f"{total:,} runs, {len(failed)} tracebacks, {time.monotonic() - started:.0f} s")  # noqa: T201
    return bool(failed)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kind", choices=KINDS, nargs="*", default=list(EDITED))
    options.add_argument("--seed", type=int, default=0, help="of the first run of each kind")
    options.add_argument("--runs", type=int, default=3_334, help="of each kind")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    sys.exit(main(given.kind, given.seed, given.runs, given.jobs))
