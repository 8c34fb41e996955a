"""The explorer beside TLC on the same instances: the same counts, and how fast each finds them.

    python tests/bench/against_tlc.py [PROFILE] [MEMBERS]

TLC runs with two workers, and its time is that of the whole process, its start included. The
explorer runs alone: once as TLC does, with each member's name its own, and once with symmetry,
where one state stands for all that differ in names alone.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from groupcheck.model.explorer import Space, explore
from groupcheck.model.instance import Instance, real_spaces, virtual_spaces
from groupcheck.model.profiles import PROFILES
from support import tla


def main() -> int:
    """Print the table; 1 if the counts differ."""
    parser = argparse.ArgumentParser(description="The explorer beside TLC.")
    parser.add_argument("profile", nargs="?", default="2.7", choices=PROFILES)
    parser.add_argument("members", nargs="?", type=int, default=3, choices=(1, 2, 3))
    options = parser.parse_args()
    profile = PROFILES[options.profile]
    spaces = virtual_spaces(profile, options.members) | real_spaces(profile, options.members)
    gc.set_threshold(50_000)
    _say("space         states    edges      TLC  explorer  symmetry  states a second")
    agreed = True
    for name, instance in spaces.items():
        agreed &= _compare(name, instance)
    return 0 if agreed else 1


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - what a benchmark is for


def _compare(name: str, instance: Instance) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        text = tla.config(name, instance.profile.name, instance.members)
        started = time.perf_counter()
        checked = tla.check(Path(folder), text, workers=2)
        tlc_s = time.perf_counter() - started
    named, named_s = _timed(instance, symmetry=False)
    _, symmetric_s = _timed(instance, symmetry=True)
    states = len(named.nodes)
    rates = [round(states / seconds) for seconds in (tlc_s, named_s, symmetric_s)]
    _say(
        f"{name:12}{states:8,}{named.edge_count:9,}{rates[0]:9,}{rates[1]:10,}{rates[2]:10,}"
        f"  {rates[1] / rates[0]:.1f} and {rates[2] / rates[0]:.1f} times TLC"
    )
    return (checked.distinct, checked.generated) == (states, named.edge_count + 1)


def _timed(instance: Instance, *, symmetry: bool) -> tuple[Space, float]:
    started = time.perf_counter()
    space = explore(instance, symmetry=symmetry)
    return space, time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
