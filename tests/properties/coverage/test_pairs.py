"""Pairs of adjacent transitions: each is one transition of the unfolded graph."""

from __future__ import annotations

from random import Random

import pytest

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.properties.coverage.pairs import PairCoverage, Second, unfolded
from groupcheck.properties.generators.tour import Walk
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Port
from support.model_port import ModelPort
from support.spaces import explored

LIMIT = 60


def _first(space: StateSpace, wide: StateSpace, node: int) -> set[int]:
    """Return the original nodes with a transition into that node of the unfolded graph."""
    return {
        space.numbers[wide.nodes[source]]
        for source, edges in enumerate(wide.edges)
        if any(edge.target == node for edge in edges)
    }


def test_unfolded_graph_has_a_transition_for_each_pair() -> None:
    space = explored("2.7", "metadata")
    wide = unfolded(space)
    size = len(space.nodes)
    pairs = sum(isinstance(edge, Second) for edges in wide.edges for edge in edges)
    firsts = [(n, e) for n, edges in enumerate(space.edges) for e in edges if e.target != n]
    assert pairs == sum(len(space.edges[edge.target]) for _, edge in firsts) == 9_393
    assert len(wide.nodes) == size + len(firsts)
    for number, (source, edge) in enumerate(firsts, size):
        assert wide.nodes[number] == space.nodes[edge.target]
        assert _first(space, wide, number) == {source}
        assert [(e.given, e.responses) for e in wide.edges[number]] == [
            (e.given, e.responses) for e in space.edges[edge.target]
        ]


@pytest.mark.parametrize("port", [BuiltinPort(), ModelPort()])
def test_walk_covers_fewer_pairs_than_it_takes_steps(port: Port) -> None:
    coverage = PairCoverage(explored("2.7", "metadata"), Random(0))
    walk = Walk(coverage, port, LIMIT)
    assert walk.go() is None
    edges = coverage.space.edges
    seconds = sum(isinstance(edges[hop.node][hop.edge], Second) for hop in coverage.shown)
    assert 0 < seconds < walk.steps <= LIMIT
