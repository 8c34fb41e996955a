"""Compare the built-in coordinator with the model at each step: `python bench/lockstep.py`.

Runs 200,000 random steps, and a tour of all transitions of every model instance of each version,
and compares responses and inner state after each step. `--other-choices [STEPS]` runs coordinators
that make other choices wherever Kafka allows several (`support/other_branches.py`), for
STEPS steps (1,000,000, four minutes on one core): any behaviour that Kafka allows is accepted.

A row for each run. Prints the finding and ends with status 1 at the first difference. The tests
have short forms of both.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from groupcheck.implementation.core.profiles import PROFILES as BUILT_IN
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import explore
from groupcheck.reports.finding_text import text_of
from support.other_branches import OtherBranches
from support.walks import Walked, everything, fuzzed, fuzzed_far, toured

RANDOM_STEPS = 200_000
OTHER_STEPS = 1_000_000
AT_ONCE = 5_000
WALKS = 1_500  # of 60 steps

Run = tuple[str, Callable[[], Walked]]


def row(what: str, walked: Walked, seconds: float) -> None:
    """Print one row; end the program if there is a finding."""
    print(f"{what:56} {walked.steps:>9,} steps {seconds:>7.1f} s", flush=True)  # noqa: T201
    if walked.finding is not None:
        sys.exit(text_of(walked.finding))


def built_in() -> Iterator[Run]:
    """Random steps with two and three members, then a tour of every model instance."""
    found = [i for name in BUILT_IN for n in (2, 3) for i in everything(PROFILES[name], n)]
    for seed, instance in zip(range(RANDOM_STEPS // AT_ONCE), cycle(found), strict=False):
        yield f"random steps, {instance.profile.name}", partial(fuzzed, instance, seed, AT_ONCE)
    for name in BUILT_IN:
        for space, instance in instances(PROFILES[name], 2).items():
            yield f"tour, {name}, {space}", partial(toured, explore(instance))


def other_choices(port: OtherBranches, seed: int) -> Iterator[Run]:
    """One round: random walks, random steps, and a tour of each model instance."""
    for name in BUILT_IN:
        yield f"walks, {name}", partial(fuzzed_far, PROFILES[name], seed, WALKS, port)
        three = instances(PROFILES[name], 3)["metadata"]
        yield f"tour, {name}, metadata of 3", partial(toured, explore(three), seed, port)
    for name in BUILT_IN:
        for number, instance in enumerate(everything(PROFILES[name], 3)):
            what = f"random steps, {name}, {'without' if number else 'with'} a limit of members"
            yield what, partial(fuzzed, instance, seed, AT_ONCE, port)
        for space, instance in instances(PROFILES[name], 2).items():
            yield f"tour, {name}, {space}", partial(toured, explore(instance), seed, port)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument(
        "--other-choices", metavar="STEPS", type=int, nargs="?", const=OTHER_STEPS, default=0
    )
    most: int = parser.parse_args().other_choices
    chosen: Counter[str] = Counter()
    done = 0
    ports = (OtherBranches(seed) for seed in count())
    rounds = (
        (each, port.chosen) for seed, port in enumerate(ports) for each in other_choices(port, seed)
    )
    for (what, run), times in rounds if most else ((each, chosen) for each in built_in()):
        started = time.process_time()
        walked = run()
        row(what, walked, time.process_time() - started)
        done, chosen = done + walked.steps, times
        if most and done >= most:
            break
    print(f"{'in all, and no difference':56} {done:>9,} steps")  # noqa: T201
    for kind, times_chosen in chosen.most_common():
        print(f"{kind:56} {times_chosen:>9,} times")  # noqa: T201


if __name__ == "__main__":
    main()
