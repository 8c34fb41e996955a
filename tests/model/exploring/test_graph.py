"""What networkx proves about the explored spaces."""

from __future__ import annotations

import networkx as nx
import pytest

from groupcheck.model.engine.rules import VersionRule
from groupcheck.model.exploring.explorer import Space
from groupcheck.model.exploring.graph import (
    Hop,
    StateGraph,
    UnreachableRuleError,
    check_every_rule_is_reached,
)
from groupcheck.model.exploring.path import realise
from groupcheck.model.profiles import PROFILES
from support.spaces import every_space

pytestmark = pytest.mark.untraced

PROFILE = PROFILES["2.7"]


@pytest.fixture(scope="module")
def spaces() -> dict[str, Space]:
    return every_space(PROFILE.name)


def test_every_labelled_edge_is_reachable(spaces: dict[str, Space]) -> None:
    for space in spaces.values():
        graph = StateGraph(space)
        assert graph.graph.number_of_edges() == space.edge_count
        assert graph.unreachable() == []


def test_an_edge_that_no_path_reaches_is_named(spaces: dict[str, Space]) -> None:
    space = spaces["membership"]
    island = space._replace(
        nodes=(*space.nodes, space.nodes[0]), edges=(*space.edges, space.edges[0][:1])
    )
    assert StateGraph(island).unreachable() == [Hop(len(space.nodes), 0)]


def test_a_declared_rule_that_no_path_reaches_is_an_error(spaces: dict[str, Space]) -> None:
    rule = VersionRule("heartbeat/on-a-sunday", "it is Sunday", "nowhere", (), ())
    profile = PROFILE._replace(rules={**PROFILE.rules, rule.id: rule})
    with pytest.raises(UnreachableRuleError, match="heartbeat/on-a-sunday"):
        check_every_rule_is_reached(profile, spaces.values())


@pytest.mark.slow
def test_a_witness_is_as_short_as_networkx_finds_it_and_replays_on_the_model(
    spaces: dict[str, Space],
) -> None:
    for space in spaces.values():
        graph = StateGraph(space)
        lengths = nx.single_source_shortest_path_length(graph.graph, 0)
        for node in range(len(space.nodes)):
            path = graph.path(node)
            assert len(path) == lengths[node]
            state, steps = realise(space, path)
            assert len(steps) == len(path)
            assert space.numbers[space.frame(state).node] == node


def test_the_witness_of_an_edge_ends_with_that_edge(spaces: dict[str, Space]) -> None:
    graph = StateGraph(spaces["storing"])
    hop = Hop(len(graph.space.nodes) - 1, 0)
    witness = graph.witness(hop)
    assert witness[-1] == hop
    assert graph.edge(hop) == graph.space.edges[hop.node][0]
