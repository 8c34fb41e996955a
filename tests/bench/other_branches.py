"""Right ports that choose otherwise, the long form: `python tests/bench/other_branches.py [STEPS]`.

Tours of spaces of each profile, random steps among all that may be asked, and walks beyond the
spaces, with as many members as come, on ports that go other ways than the built-in one wherever
Kafka leaves something open (`support/other_branches.py`), until they have
taken a million steps, or STEPS: in some four minutes of one core. None may be blamed: it ends with
status 1 at the first finding. It tells how often there was something to choose of each sort. The
short form is among the tests.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from groupcheck.implementation.core.profiles import PROFILES as BUILT_IN
from groupcheck.model.exploring.explorer import explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import spaces
from groupcheck.reports.story import story
from support.other_branches import OtherBranches
from support.wandering import Walked, everything, toured, wandered, wandered_far

STEPS = 1_000_000
AT_ONCE = 5_000
WALKS = 1_500  # of 60 steps


def walks(seed: int) -> Iterator[tuple[str, OtherBranches, partial[Walked]]]:
    """The walks of one round: random ones, and a tour of each space."""
    for name in BUILT_IN:
        port = OtherBranches(seed)
        yield f"walks, {name}", port, partial(wandered_far, PROFILES[name], seed, WALKS, port)
        three = spaces(PROFILES[name], 3)["metadata"]
        port = OtherBranches(seed)
        yield f"tour, {name}, metadata of 3", port, partial(toured, explore(three), seed, port)
    for name in BUILT_IN:
        for number, instance in enumerate(everything(PROFILES[name], 3)):
            port = OtherBranches(seed)
            what = f"random steps, {name}, {'without' if number else 'with'} a limit of members"
            yield what, port, partial(wandered, instance, seed, AT_ONCE, port)
        for space, instance in spaces(PROFILES[name], 2).items():
            port = OtherBranches(seed)
            yield (
                f"tour, {name}, {space}",
                port,
                partial(toured, explore(instance), seed, port),
            )


def main(most: int) -> None:
    """Round after round, until there are enough steps."""
    started, done, chosen = time.process_time(), 0, Counter[str]()
    for what, port, walk in (each for seed in count() for each in walks(seed)):
        walked = walk()
        done, chosen = done + walked.steps, chosen + port.chosen
        print(f"{what:56} {walked.steps:>9,} steps {port.chosen.total():>9,} choices", flush=True)  # noqa: T201
        if walked.finding is not None:
            sys.exit(story(walked.finding))
        if done >= most:
            break
    seconds = time.process_time() - started
    print(f"{'in all, and nobody blamed':56} {done:>9,} steps in {seconds:.0f} s of one core")  # noqa: T201
    for sort, times in chosen.most_common():
        print(f"{sort:56} {times:>9,} times")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
