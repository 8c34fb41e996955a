"""Pairs of adjacent transitions: each is one transition of the unfolded graph."""

from __future__ import annotations

from random import Random

import pytest

from groupcheck.properties.coverage.covered import covered_space, references
from groupcheck.properties.coverage.pairs import PairCoverage, Second
from groupcheck.properties.generators.tour import Walk, stepper
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Port
from support.model_port import ModelPort
from support.spaces import explored

LIMIT = 60


def test_unfolded_graph_has_a_transition_and_a_bit_for_each_pair() -> None:
    space = explored("2.7", "metadata")
    coverage = PairCoverage(space, Random(0))
    wide = coverage.space
    assert len(wide.nodes) == len(space.nodes) + len(coverage.firsts)
    for number, (node, place) in enumerate(coverage.firsts, len(space.nodes)):
        edge = space.edges[node][place]
        assert edge.target != node
        assert wide.nodes[number] == space.nodes[edge.target]
        arriving = {
            n for n, edges in enumerate(wide.edges) if any(e.target == number for e in edges)
        }
        assert {space.numbers[wide.nodes[n]] for n in arriving} == {node}
        assert [(e.given, e.responses) for e in wide.edges[number]] == [
            (e.given, e.responses) for e in space.edges[edge.target]
        ]
    coverage.shown = {
        transition for transition in references(wide) if transition.node >= len(space.nodes)
    }
    pairs = coverage.covered_pairs()
    assert all(space.edges[n][e].target == second.node != n for (n, e), second in pairs)
    covered = covered_space(space, "d", (), pairs)
    assert covered.pairs == covered.pairs_shown == len(pairs) == len(coverage.shown) == 9_393


@pytest.mark.parametrize("port", [BuiltinPort(), ModelPort()])
def test_walk_covers_fewer_pairs_than_it_takes_steps(port: Port) -> None:
    coverage = PairCoverage(explored("2.7", "metadata"), Random(0))
    walk = Walk(coverage, stepper(coverage, port), LIMIT)
    assert walk.go() is None
    edges = coverage.space.edges
    seconds = sum(
        isinstance(edges[transition.node][transition.edge], Second) for transition in coverage.shown
    )
    assert 0 < seconds < walk.steps <= LIMIT
