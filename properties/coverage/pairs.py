"""Pairs of adjacent edges: what comes right after an edge that leads to another state.

A space is unfolded: besides its nodes there is one for each edge that has led elsewhere, and it is
left by the same edges as the node that it has led to. Edges that lead back to their own node are
first in no pair: nothing has changed by then, so that what follows is covered as an edge.
"""

from __future__ import annotations

from random import Random

from groupcheck.model.exploring.explorer import Edge, Space
from groupcheck.model.exploring.graph import Hop
from groupcheck.properties.coverage.edges_shown import Coverage, Fork


class Second(Edge):
    """An edge as the second of a pair."""

    __slots__ = ()


def unfolded(space: Space) -> Space:
    """The space with a node more for each edge that leads elsewhere."""
    size = len(space.nodes)
    firsts = _firsts(space)
    arrived = {hop: size + number for number, hop in enumerate(firsts)}
    out = [
        tuple(
            edge._replace(target=arrived.get(Hop(node, place), node))
            for place, edge in enumerate(edges)
        )
        for node, edges in enumerate(space.edges)
    ]
    for node, place in firsts:
        out.append(tuple(map(Second._make, out[space.edges[node][place].target])))
    nodes = tuple(space.nodes[space.edges[node][place].target] for node, place in firsts)
    return space._replace(nodes=space.nodes + nodes, edges=tuple(out))


def _firsts(space: Space) -> list[Hop]:
    """The edges that lead elsewhere."""
    return [
        Hop(node, place)
        for node, edges in enumerate(space.edges)
        for place, edge in enumerate(edges)
        if edge.target != node
    ]


class PairCoverage(Coverage):
    """Which pairs of adjacent edges of a space a port has shown."""

    def __init__(self, space: Space, random: Random) -> None:
        super().__init__(unfolded(space), random, lambda edge: isinstance(edge, Second))
        self._size = len(space.nodes)
        self._firsts = _firsts(space)

    def shown_pairs(self) -> set[tuple[Hop, Hop]]:
        """The pairs that were shown, by the edges of the space that is not unfolded."""
        numbers, nodes = self.space.numbers, self.space.nodes
        return {
            (self._firsts[node - self._size], Hop(numbers[nodes[node]], place))
            for node, place in self.shown
            if node >= self._size
        }

    def arrived(self, node: int, fork: Fork, target: int, fired: frozenset[tuple[str, ...]]) -> int:
        """The node of the edge by which the port has come to `target`, if there is no doubt."""
        edges = self.space.edges[node]
        taken = {
            edges[place].target
            for place in fork.edges
            if self.space.numbers[self.space.nodes[edges[place].target]] == target
            and (len(fork.edges) == 1 or edges[place].fired in fired)
        }
        return taken.pop() if len(taken) == 1 else target
