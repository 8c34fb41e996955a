"""Pairs of adjacent transitions of which the first leads to another state.

The unfolded graph has an additional node for each such transition, with the transitions of its
target. Self-loops are first in no pair: they change nothing, so the next transition is covered
without the pair.
"""

from __future__ import annotations

from random import Random

from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.coverage.transition_coverage import Coverage, Fork


class Second(Transition):
    """A transition as the second of a pair."""

    __slots__ = ()


def unfolded(space: StateSpace) -> StateSpace:
    """Return the graph with an additional node for each transition to another state."""
    size = len(space.nodes)
    firsts = _firsts(space)
    arrived = {hop: size + number for number, hop in enumerate(firsts)}
    out = [
        tuple(
            edge._replace(target=arrived.get(TransitionReference(node, place), node))
            for place, edge in enumerate(edges)
        )
        for node, edges in enumerate(space.edges)
    ]
    for node, place in firsts:
        out.append(tuple(map(Second._make, out[space.edges[node][place].target])))
    nodes = tuple(space.nodes[space.edges[node][place].target] for node, place in firsts)
    return space._replace(nodes=space.nodes + nodes, edges=tuple(out))


def _firsts(space: StateSpace) -> list[TransitionReference]:
    """Return the transitions that lead to another state."""
    return [
        TransitionReference(node, place)
        for node, edges in enumerate(space.edges)
        for place, edge in enumerate(edges)
        if edge.target != node
    ]


class PairCoverage(Coverage):
    """Which pairs of adjacent transitions a port has covered."""

    def __init__(self, space: StateSpace, random: Random) -> None:
        super().__init__(unfolded(space), random, lambda edge: isinstance(edge, Second))
        self._size = len(space.nodes)
        self._firsts = _firsts(space)

    def covered_pairs(self) -> set[tuple[TransitionReference, TransitionReference]]:
        """Return the covered pairs, as transitions of the original graph."""
        numbers, nodes = self.space.numbers, self.space.nodes
        return {
            (self._firsts[node - self._size], TransitionReference(numbers[nodes[node]], place))
            for node, place in self.shown
            if node >= self._size
        }

    def arrived(self, node: int, fork: Fork, target: int, fired: frozenset[tuple[str, ...]]) -> int:
        """Return the node for the transition by which the port reached `target`, if unambiguous."""
        edges = self.space.edges[node]
        taken = {
            edges[place].target
            for place in fork.edges
            if self.space.numbers[self.space.nodes[edges[place].target]] == target
            and (len(fork.edges) == 1 or edges[place].fired in fired)
        }
        return taken.pop() if len(taken) == 1 else target
