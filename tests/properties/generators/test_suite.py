"""Suites: bounded tests that cover every transition, in nearly the minimum of steps."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.lower_bound import (
    every_transition,
    least_steps,
    least_steps_within,
)
from groupcheck.model.engine.trace import inputs_to
from groupcheck.properties.generators.frontier import NearestFrontier, Way
from groupcheck.properties.generators.suite import suite
from support.spaces import explored, explored_once

LIMIT = 60
MOST = 1.1  # the maximum ratio to the minimum of steps

# The instances of three members that are explored in a second.
SMALL = ("metadata", "administration")


def _all(space: StateSpace) -> set[TransitionReference]:
    return {
        TransitionReference(n, place)
        for n, edges in enumerate(space.edges)
        for place in range(len(edges))
    }


@pytest.mark.parametrize(
    ("name", "members"),
    [
        *[(name, 2) for name in ("membership", "storing", "order", "crowded", "reload")],
        pytest.param("failing", 2, marks=pytest.mark.slow),
        *[(name, 3) for name in SMALL],
    ],
)
def test_suite_covers_every_transition_in_at_most_a_tenth_more_than_the_least_steps(
    name: str, members: int
) -> None:
    space = (
        explored("2.7", name)
        if members == 2
        else explored_once(instances(PROFILES["2.7"], members)[name])
    )
    made = suite(space, LIMIT)
    assert {transition for test in made.tests for transition in test} == _all(space)
    assert max(map(len, made.tests)) <= LIMIT
    assert made.lower_bound == max(
        least_steps(space, every_transition(space)),
        least_steps_within(LIMIT, space, every_transition(space)),
    )
    assert made.lower_bound <= made.steps <= MOST * made.lower_bound


def test_each_test_of_a_suite_is_a_path_of_the_model() -> None:
    space = explored("2.7", "metadata")
    for test in suite(space, LIMIT).tests:
        state, steps = inputs_to(space, list(test))
        assert len(steps) == len(test)
        last = test[-1]
        assert (
            space.numbers[space.canonical(state).node] == space.edges[last.node][last.edge].target
        )


def test_short_tests_cover_exactly_the_transitions_within_their_length() -> None:
    space = explored("2.7", "metadata")
    graph: nx.DiGraph[int] = nx.DiGraph(every_transition(space))
    depth = nx.single_source_shortest_path_length(graph, 0)
    for limit in (1, 3):
        shown = {transition for test in suite(space, limit).tests for transition in test}
        assert shown == {transition for transition in _all(space) if depth[transition.node] < limit}


@given(st.integers(14, 100), st.integers(0, 9), st.data())
@settings(deadline=None, max_examples=20)
def test_the_tests_that_are_kept_and_the_others_cover_every_transition(
    limit: int, seed: int, data: st.DataObject
) -> None:
    space = explored("2.7", "metadata")
    before = suite(space, limit, seed).tests
    kept = tuple(data.draw(st.lists(st.sampled_from(before), unique=True)))
    made = suite(space, limit, seed, kept)
    assert made.tests[: made.kept] == kept
    assert {transition for test in made.tests for transition in test} == _all(space)
    assert max(map(len, made.tests)) <= limit
    for test in made.tests:
        nodes = [0, *(space.edges[node][place].target for node, place in test)]
        assert [transition.node for transition in test] == nodes[:-1]


def test_a_plan_without_a_limit_takes_exactly_the_least_steps() -> None:
    space = explored("2.7", "storing")
    assert suite(space, 100_000).steps == least_steps(space, every_transition(space))


@st.composite
def ways(draw: st.DrawFn) -> list[dict[int, Way]]:
    """Ways between at most eight nodes, of one to three tries."""
    size = draw(st.integers(1, 8))
    out = st.dictionaries(st.integers(0, size - 1), st.integers(1, 3), max_size=4)
    return [{v: Way(0, tries) for v, tries in draw(out).items()} for _ in range(size)]


@given(ways(), st.data())
@settings(deadline=None)
def test_each_way_is_a_nearest_while_there_is_less_and_less_to_be_tried(
    given_ways: list[dict[int, Way]], data: st.DataObject
) -> None:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(given_ways)))
    for node, out in enumerate(given_ways):
        graph.add_weighted_edges_from((node, v, way.tries) for v, way in out.items())
    nodes = st.sampled_from(range(len(given_ways)))
    left = data.draw(st.sets(nodes))
    nearest = NearestFrontier(given_ways, left.__contains__)
    for _ in range(8):
        start = data.draw(nodes)
        distance = nx.single_source_dijkstra_path_length(graph, start)
        path = nearest.find(start)
        if path is None:
            assert left.isdisjoint(distance)
            continue
        assert path[0] == start
        assert path[-1] in left
        assert nx.path_weight(graph, path, "weight") == min(
            distance[n] for n in left & set(distance)
        )
        left.discard(path[-1])
