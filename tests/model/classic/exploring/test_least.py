"""The least steps: no suite takes fewer, and the shortest suite takes no more."""

from __future__ import annotations

from collections import deque

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.engine.exploration import StateSpace, Transition, explore
from groupcheck.model.engine.lower_bound import (
    every_transition,
    least_steps,
    least_steps_within,
)
from support.spaces import explored

SPACE = explore(Instance(PROFILES["2.7"], members=1))

Step = tuple[int, int]

LONG = 40  # more steps than the shortest suite has


def _space(steps: list[Step]) -> StateSpace:
    """A space with an edge for each step, whose nodes are numbers."""
    size = 1 + max(map(max, steps))
    edges = tuple(
        tuple(Transition(Advance(n), (), v, ()) for n, (u, v) in enumerate(steps) if u == node)
        for node in range(size)
    )
    return SPACE._replace(nodes=SPACE.nodes[:1] * size, edges=edges)


@st.composite
def reachable(draw: st.DrawFn) -> list[Step]:
    """At most eight steps between at most five nodes, each of which can be reached."""
    targets = range(1, draw(st.integers(1, 5)))
    steps = [(draw(st.integers(0, target - 1)), target) for target in targets]
    nodes = st.integers(0, len(steps))
    steps += draw(st.lists(st.tuples(nodes, nodes), min_size=1, max_size=8 - len(steps)))
    return steps


def _shortest(steps: list[Step], needed: set[int], limit: int) -> int:
    """The steps of the shortest suite with all needed steps, found by trying all suites."""
    start = (0, 0, frozenset[int]())
    taken = {start: 0}
    queue = deque([start])
    while queue:
        node, length, had = queue.popleft()
        count = taken[node, length, had]
        if had >= needed:
            return count
        if taken.get((0, 0, had), count + 1) > count:  # another test begins
            taken[0, 0, had] = count
            queue.appendleft((0, 0, had))
        for number, (source, target) in enumerate(steps):
            after = (target, length + 1, had | {number})
            if source == node and length < limit and taken.get(after, count + 2) > count + 1:
                taken[after] = count + 1
                queue.append(after)
    raise AssertionError(steps)


@given(reachable())
@settings(deadline=None)
def test_the_least_steps_of_a_whole_graph_are_those_of_its_shortest_suite(
    steps: list[Step],
) -> None:
    shortest = _shortest(steps, set(range(len(steps))), LONG)
    space = _space(steps)
    assert least_steps(space, every_transition(space)) == least_steps(space, steps) == shortest


@given(reachable(), st.data())
@settings(deadline=None)
def test_no_suite_that_covers_a_part_of_a_graph_takes_fewer_than_its_least_steps(
    steps: list[Step], data: st.DataObject
) -> None:
    needed = data.draw(st.sets(st.sampled_from(range(len(steps)))))
    least = least_steps(_space(steps), [steps[number] for number in needed])
    assert len(needed) <= least <= _shortest(steps, needed, LONG)


@given(reachable(), st.integers(0, 3), st.data())
@settings(deadline=None)
def test_no_suite_of_short_tests_takes_fewer_than_their_least_steps(
    steps: list[Step], more: int, data: st.DataObject
) -> None:
    space = _space(steps)
    needed = data.draw(st.sets(st.sampled_from(range(len(steps)))))
    graph: nx.DiGraph[int] = nx.DiGraph(steps)
    depth = nx.single_source_shortest_path_length(graph, 0)
    limit = 1 + max(depth.values()) + more
    least = least_steps_within(limit, space, [steps[number] for number in needed])
    assert least <= _shortest(steps, needed, limit)


def test_a_limit_may_raise_the_least_steps() -> None:
    there_and_back = [(0, 1), *[(1, 2), (2, 1)] * 3]
    space = _space(there_and_back)
    assert least_steps(space, there_and_back) == 7
    assert _shortest(there_and_back, set(range(7)), 3) == 9
    assert least_steps_within(3, space, there_and_back) == 9


def test_the_least_steps_of_the_instances_of_two_members_are_those_in_the_documentation() -> None:
    spaces = {name: explored("2.7", name) for name in ("membership", "metadata", "storing")}
    assert {
        name: least_steps(space, every_transition(space)) for name, space in spaces.items()
    } == {"membership": 11_147, "metadata": 2_695, "storing": 11_719}
