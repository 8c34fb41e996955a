"""The generators' speed beside each other: `python tests/bench/generators.py` (`--help`).

How many steps a second each does on the built-in coordinator, as multiples of what a hand-written
Hypothesis machine does on the same coordinator in the same run. All of them take turns, round after
round, and of the rounds the medians are told, as other work on the machine slows them down alike.
First by the time of one processor, then by the clock with all processors.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import feature_spaces, virtual_spaces
from groupcheck.properties.generators.bulk import Bulk, processors
from groupcheck.properties.generators.choices import CHOICES
from groupcheck.properties.generators.machine import lockstep
from groupcheck.properties.generators.sketch import spoken
from groupcheck.properties.generators.tracks import Tracks
from groupcheck.properties.generators.walks import Walker
from groupcheck.properties.generators.wandering import wander
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.source import port_source
from support import hand_written

PROFILE = PROFILES["2.7"]
STEPS = 60  # of one test
EXAMPLES = 100

Work = Callable[[], int]  # does so many steps


def tell(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def by_hand() -> int:
    """The steps of the state machine that is written by hand."""
    return hand_written.run(EXAMPLES, STEPS, 0)


def machine() -> int:
    """The steps of the project's own state machine."""
    steps: list[int] = []
    lockstep(
        BuiltinPort(),
        PROFILE,
        examples=EXAMPLES,
        steps=STEPS,
        seed_number=0,
        known=set(),
        tally=steps.append,
    )
    return sum(steps)


def walks(tracks: Tracks, choice: str, steps: int = 30_000) -> Work:
    """Walks over a space, on one processor."""

    def work() -> int:
        random = Random(0)
        walker, done = Walker(tracks, BuiltinPort()), 0
        choose = CHOICES[choice](tracks, random)
        while done < steps:
            done += walker.walk(choose, STEPS)[0]
        return done

    return work


def beyond() -> int:
    """The steps of walks beyond the spaces, with the oracle beside them, on one processor."""
    random, port = Random(0), BuiltinPort()
    speaks = spoken(port, PROFILE)
    return sum(wander(port, PROFILE, speaks, random, STEPS).steps for _ in range(EXAMPLES))


def in_bulk(space: Space, jobs: int, count: int) -> Work:
    """So many walks as `verify --walks` does them: of each sort, and beyond the space too."""

    def work() -> int:
        bulk = Bulk(port_source("builtin"), PROFILE, {"space": space}, 0, count, STEPS)
        return sum(part.steps for part in bulk.run(jobs))

    return work


def measured(sources: dict[str, Work], clock: Callable[[], float], rounds: int) -> None:
    """The steps a second of each source, and how many times those of the first that is."""
    rates: dict[str, list[float]] = {name: [] for name in sources}
    for number in range(rounds + 1):
        for name, work in sources.items():
            started = clock()
            steps = work()
            if number:  # in the first round the tracks are made, and modules imported
                rates[name].append(steps / (clock() - started))
    first = next(iter(rates.values()))
    for name, found in rates.items():
        times = [rate / base for rate, base in zip(found, first, strict=True)]
        spread = f"({min(times):.1f}-{max(times):.1f})"
        tell(f"{name:44} {median(found):>9,.0f} steps/s {median(times):>6.2f} times {spread}")


def main() -> None:
    """By the time of one processor, then by the clock with all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", default="membership")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--walks", type=int, default=15_000, help="with all processors (15000)")
    options = parser.parse_args()
    found = virtual_spaces(PROFILE, options.members) | feature_spaces(PROFILE, options.members)
    space = explore(found[options.space])
    gc.set_threshold(50_000)  # as the commands do
    tracks = Tracks(space)
    tell("by the time of one processor")
    sources: dict[str, Work] = {
        "Hypothesis machine by hand, no oracle": by_hand,
        "Hypothesis machine of groupcheck": machine,
    }
    sources |= {f"walks, {choice}": walks(tracks, choice) for choice in CHOICES}
    sources["walks beyond the spaces"] = beyond
    sources["verify --walks, all of them mixed"] = in_bulk(space, 1, 600)
    measured(sources, time.process_time, options.rounds)
    jobs = processors()
    tell(f"by the clock, {jobs} processors, their start and exploring among it")
    measured(
        {
            "Hypothesis machine by hand, no oracle": by_hand,
            "verify --walks, all of them mixed": in_bulk(space, jobs, options.walks),
        },
        time.perf_counter,
        max(1, options.rounds // 2),
    )


if __name__ == "__main__":
    main()
