"""Suites: bounded tests that cover every transition of an instance, planned on the graph alone.

At a fork the plan assumes that the coordinator takes the wanted branch. For a port that may take
another one, `tour` plans in the same way and continues from the branch that the port took.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.lower_bound import every_transition, least_steps
from groupcheck.properties.coverage.transition_coverage import Coverage

Path = tuple[TransitionReference, ...]


class Suite(NamedTuple):
    """Tests, each a path from the initial state; `lower_bound` is the proved minimum of steps.

    The first `kept` are from an earlier suite.
    """

    tests: tuple[Path, ...]
    lower_bound: int
    kept: int = 0

    @property
    def steps(self) -> int:
        """The steps of all tests."""
        return sum(map(len, self.tests))


def suite(space: StateSpace, limit: int, seed: int = 0, kept: tuple[Path, ...] = ()) -> Suite:
    """Tests of at most `limit` steps that cover every transition reachable within them.

    The `kept` tests are part of the suite, and the transitions that they cover are not planned
    again.
    """
    coverage = Coverage(space, Random(seed), forks_obey=True)
    coverage.skip({transition for test in kept for transition in test})
    tests = (*kept, *_tests(coverage, limit))
    return Suite(tests, least_steps(space, every_transition(space)), len(kept))


def _tests(coverage: Coverage, limit: int) -> Iterator[Path]:
    while coverage.way(0, limit - 1) is not None:
        node, test = 0, list[TransitionReference]()
        while (way := coverage.way(node, limit - len(test) - 1)) is not None:
            for transition in way:
                test.append(transition)
                node = coverage.after(transition)
            test.append(coverage.go(node))
            node = coverage.after(test[-1])
        yield tuple(test)
