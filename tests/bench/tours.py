"""Suites of every space for three members: `python tests/bench/tours.py [--walk] [SPACE ...]`.

For each space: the labelled edges, the share of them that the suite shows, its tests and steps, the
least steps that are proved, their ratio, and how many tests a second are planned. With `--walk` the
built-in coordinator, which chooses at random where Kafka leaves it open, is walked instead: the
tests a second are then run, with the model beside each step. All of it takes minutes.
"""

from __future__ import annotations

import argparse
import gc
import time
from random import Random
from typing import NamedTuple

from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import spaces
from groupcheck.properties.coverage.edges_shown import Coverage
from groupcheck.properties.generators.suite import suite
from groupcheck.properties.generators.tour import tour
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.reports.terminal import percent

STEPS = 60  # of a test, as `verify` has it


class Measured(NamedTuple):
    """One row of the table."""

    edges: int
    shown: int
    tests: int
    steps: int
    least: int
    seconds: float


def planned(space: Space) -> Measured:
    """The suite of a space."""
    started = time.process_time()
    made = suite(space, STEPS)
    seconds = time.process_time() - started
    shown = {hop for test in made.tests for hop in test}
    return Measured(space.edge_count, len(shown), len(made.tests), made.steps, made.least, seconds)


def walked(space: Space) -> Measured:
    """A tour of the built-in coordinator."""
    coverage = Coverage(space, Random(0))
    started = time.process_time()
    tests = [steps for steps, _ in tour(coverage, BuiltinPort(), STEPS)]
    seconds = time.process_time() - started
    return Measured(
        space.edge_count,
        len(coverage.shown),
        len(tests),
        sum(tests),
        coverage.least_steps(),
        seconds,
    )


def row(name: str, found: Measured) -> str:
    """A row in words."""
    return (
        f"{name:24} {found.edges:>8,} {percent(found.shown, found.edges):>7} {found.tests:>7,}"
        f" {found.steps:>10,} {found.least:>10,} {found.steps / found.least:>6.3f}"
        f" {found.tests / found.seconds:>8,.0f}"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("space", nargs="*")
    parser.add_argument("--walk", action="store_true", help="walk the built-in coordinator")
    parser.add_argument("--members", type=int, default=3, help="1 to 3 (3)")
    parser.add_argument("--profile", default="2.7")
    options = parser.parse_args()
    gc.set_threshold(50_000)  # as the commands do
    heads = ("edges", "shown", "tests", "steps", "least", "ratio", "tests/s")
    print(f"{'space':24} {{:>8}} {{:>7}} {{:>7}} {{:>10}} {{:>10}} {{:>6}} {{:>8}}".format(*heads))  # noqa: T201
    for name, instance in spaces(PROFILES[options.profile], options.members).items():
        if not options.space or name in options.space:
            found = (walked if options.walk else planned)(explore(instance))
            print(row(name, found), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
