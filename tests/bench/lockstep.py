"""The coordinator and the model in lockstep, the long form: `python tests/bench/lockstep.py`.

A tour of all labelled edges of every space of each profile, and then 200,000 random steps, with
the inner state compared after each. It ends with status 1 at the first difference, told as a
finding. The short form is among the tests.
"""

from __future__ import annotations

import sys
import time
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from groupcheck.implementation.core.profiles import PROFILES as BUILT_IN
from groupcheck.model.exploring.explorer import explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import spaces
from groupcheck.reports.story import story
from support.wandering import Walked, everything, toured, wandered

RANDOM_STEPS = 200_000
AT_ONCE = 5_000


def tell(what: str, walked: Walked, seconds: float) -> None:
    """Print one line; the end of it all, if there is a finding."""
    print(f"{what:48} {walked.steps:>9,} steps {seconds:>7.1f} s", flush=True)  # noqa: T201
    if walked.finding is not None:
        sys.exit(story(walked.finding))


def tours() -> None:
    """Every space of each profile, but for that of a real clock."""
    for name in BUILT_IN:
        for space, instance in spaces(PROFILES[name], 2).items():
            started = time.perf_counter()
            walked = toured(explore(instance))
            tell(f"tour, {name}, {space}", walked, time.perf_counter() - started)


def wanderings() -> None:
    """Random steps, in turn in each profile, with two members or three."""
    instances = [i for name in BUILT_IN for n in (2, 3) for i in everything(PROFILES[name], n)]
    started, done = time.perf_counter(), 0
    for seed, instance in enumerate(cycle(instances)):
        walked = wandered(instance, seed, AT_ONCE)
        done += walked.steps
        if walked.finding is not None or done >= RANDOM_STEPS:
            tell("random steps", walked._replace(steps=done), time.perf_counter() - started)
            return


if __name__ == "__main__":
    wanderings()
    tours()
