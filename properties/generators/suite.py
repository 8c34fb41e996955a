"""Suites: bounded tests that cover every transition of an instance, planned on the graph alone.

First, the least flow: how often the shortest suite of tests of any length takes each step. Second,
walks that take exactly these steps. Third, each walk is cut into tests where that costs the fewest
steps, because a test first takes a shortest path from the initial state to its part of the walk.

At a fork the plan assumes that the coordinator takes the wanted branch. For a port that may take
another one, `tour` plans as it goes, from the branch that the port took.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import chain, groupby
from random import Random
from typing import Final, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.lower_bound import (
    Step,
    every_transition,
    least_flow,
    least_steps,
    least_steps_within,
)

Path = tuple[TransitionReference, ...]

_Plan = list[list[TransitionReference]]  # for each state the transitions to take there

_END: Final = -1  # the index of the transition from the end of a walk to the initial state
_ONE_STEP: Final = 1 << 32  # greater than the sum of all depths


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
    covered = {transition for test in kept for transition in test}
    graph = _Graph(space)
    plan = graph.plan(covered)
    tests = list(kept)
    for walk in graph.walks(plan, Random(seed)):
        first = {transition: place for place, transition in reversed([*enumerate(walk)])}
        new = [first[each] == place and each not in covered for place, each in enumerate(walk)]
        for start, end in graph.cuts(walk, new, limit):
            tests.append((*graph.path(walk[start].node), *walk[start:end]))
            covered.update(tests[-1])
    least = least_steps(space, every_transition(space)) if kept else sum(map(len, plan))
    within = least_steps_within(limit, space, every_transition(space))
    return Suite(tuple(tests), max(least, within), len(kept))


class _Graph:
    """The graph of a state space, with a shortest path from the initial state to every other.

    States are numbered breadth first, so the first transition to a state ends such a path.
    """

    def __init__(self, space: StateSpace) -> None:
        self._space = space
        self._depth = [0] * len(space.nodes)
        self._before: dict[int, TransitionReference] = {}
        self._first: dict[Step, TransitionReference] = {}
        self._transitions = [
            [TransitionReference(node, index) for index in range(len(edges))]
            for node, edges in enumerate(space.edges)
        ]
        for transition in chain.from_iterable(self._transitions):
            node, target = transition.node, self._after(transition)
            self._first.setdefault((node, target), transition)
            if target and target not in self._before:
                self._before[target] = transition
                self._depth[target] = self._depth[node] + 1

    def _after(self, transition: TransitionReference) -> int:
        node, index = transition
        return 0 if index == _END else self._space.edges[node][index].target

    def path(self, node: int) -> list[TransitionReference]:
        """A shortest path from the initial state."""
        path: list[TransitionReference] = []
        while node:
            path.append(self._before[node])
            node = path[-1].node
        return path[::-1]

    def plan(self, covered: set[TransitionReference]) -> _Plan:
        """The transitions not covered, and those of the least flow besides.

        Of the flows with the fewest steps it is the one whose targets have the least depths, since
        tests are best cut near the initial state.
        """
        plan = [[each for each in out if each not in covered] for out in self._transitions]
        needed = Counter((each.node, self._after(each)) for out in plan for each in out)
        flow = least_flow(self._space, needed, lambda step: _ONE_STEP + self._depth[step[1]])
        for step, count in flow.items():
            plan[step[0]] += [self._first[step]] * count
        return plan

    def walks(self, plan: _Plan, random: Random) -> Iterator[list[TransitionReference]]:
        """Walks that together take the transitions of a plan."""
        surplus = [-len(out) for out in plan]
        for transition in chain.from_iterable(plan):
            surplus[self._after(transition)] += 1
        left = [
            [*random.sample(out, len(out)), *[TransitionReference(node, _END)] * surplus[node]]
            for node, out in enumerate(plan)
        ]
        for node in range(len(left)):
            circuit = self._circuit(node, left)
            for ends, walk in groupby(circuit, lambda transition: transition.edge == _END):
                if not ends:
                    yield list(walk)

    def _circuit(
        self, start: int, left: list[list[TransitionReference]]
    ) -> list[TransitionReference]:
        """A closed walk of all transitions in reach, by Hierholzer's algorithm; removes them."""
        circuit: list[TransitionReference] = []
        ahead: list[TransitionReference] = []
        node = start
        while True:
            while left[node]:
                ahead.append(left[node].pop())
                node = self._after(ahead[-1])
            if not ahead:
                return circuit[::-1]
            circuit.append(ahead.pop())
            node = circuit[-1].node

    def cuts(
        self, walk: list[TransitionReference], new: list[bool], limit: int
    ) -> Iterator[tuple[int, int]]:
        """Start and end of the parts that need the fewest steps, with the paths to their starts.

        Only the new transitions need to be in a part. `fewest[i]` is the number of steps for those
        from i on; `ends` are the possible ends of a part from i, the best first.
        """
        size = len(walk)
        fewest, following = [0] * (size + 1), [0] * size
        ends = deque([size])
        for i in range(size - 1, -1, -1):
            depth = self._depth[walk[i].node]
            # The end of the longest part never increases: the next depth is at most one greater.
            while ends and ends[0] > i + limit - depth:
                ends.popleft()
            steps = depth + ends[0] - i + fewest[ends[0]] if ends else 0
            if not ends or (not new[i] and fewest[i + 1] <= steps):
                fewest[i] = fewest[i + 1]
            else:
                fewest[i], following[i] = steps, ends[0]
            while ends and ends[-1] + fewest[ends[-1]] > i + fewest[i]:
                ends.pop()
            ends.append(i)
        i = 0
        while i < size:
            if following[i]:
                yield i, following[i]
            i = following[i] or i + 1
