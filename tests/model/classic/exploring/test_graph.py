"""Properties of the explored graphs, proved with networkx."""

from __future__ import annotations

import networkx as nx
import pytest

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.statistics import Degrees, statistics
from groupcheck.model.engine.trace import inputs_to
from support.spaces import every_instance

pytestmark = pytest.mark.untraced

PROFILE = PROFILES["0.10.2"]  # its instances are small


@pytest.fixture(scope="module")
def spaces() -> dict[str, StateSpace]:
    return every_instance(PROFILE.name)


def test_every_transition_is_reachable(spaces: dict[str, StateSpace]) -> None:
    for space in spaces.values():
        graph = StateGraph(space)
        assert graph.graph.number_of_edges() == space.transition_count
        assert graph.unreachable() == []


def test_an_unreachable_transition_is_named(spaces: dict[str, StateSpace]) -> None:
    space = spaces["membership"]
    island = space._replace(
        nodes=(*space.nodes, space.nodes[0]), edges=(*space.edges, space.edges[0][:1])
    )
    assert StateGraph(island).unreachable() == [TransitionReference(len(space.nodes), 0)]


def test_a_witness_is_as_short_as_networkx_finds_it_and_replays_on_the_model(
    spaces: dict[str, StateSpace],
) -> None:
    for space in (spaces["metadata"], spaces["storing"]):
        graph = StateGraph(space)
        lengths = nx.single_source_shortest_path_length(graph.graph, 0)
        for node in range(len(space.nodes)):
            path = graph.path(node)
            assert len(path) == lengths[node]
            state, steps = inputs_to(space, path)
            assert len(steps) == len(path)
            assert space.numbers[space.canonical(state).node] == node


def test_the_witness_of_a_transition_ends_with_it(spaces: dict[str, StateSpace]) -> None:
    graph = StateGraph(spaces["storing"])
    transition = TransitionReference(len(graph.space.nodes) - 1, 0)
    witness = graph.witness(transition)
    assert witness[-1] == transition
    assert graph.edge(transition) == graph.space.edges[transition.node][0]


def test_the_95th_percentile_is_of_the_nearest_rank(spaces: dict[str, StateSpace]) -> None:
    space = spaces["metadata"]
    loops = space.edges[0]
    star = space._replace(
        nodes=space.nodes[:20], edges=tuple(loops[: n + 1] for n in range(5)) + (loops[:1],) * 15
    )
    assert statistics(star).out_degree == Degrees(1, 1.5, 4, 5)
