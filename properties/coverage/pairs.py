"""Pairs of adjacent transitions of which the first leads to another state.

The unfolded graph has an additional node for each such transition, with the transitions of its
target. Self-loops are first in no pair: they change nothing, so the next transition is covered
without the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.coverage.covered import references
from groupcheck.properties.coverage.transition_coverage import Coverage


class Second(Transition):
    """A transition as the second of a pair."""

    __slots__ = ()


def unfolded(space: StateSpace, firsts: list[TransitionReference]) -> StateSpace:
    """Return the graph with an additional node for each of its transitions to another state."""
    size = len(space.nodes)
    targets = [space.edges[node][index].target for node, index in firsts]
    arrived = {transition: size + number for number, transition in enumerate(firsts)}
    out = [
        tuple(
            edge._replace(target=arrived.get(TransitionReference(node, index), node))
            for index, edge in enumerate(edges)
        )
        for node, edges in enumerate(space.edges)
    ]
    out += [tuple(map(Second._make, out[target])) for target in targets]
    nodes = tuple(space.nodes[target] for target in targets)
    return space._replace(nodes=space.nodes + nodes, edges=tuple(out))


class PairCoverage(Coverage):
    """Which pairs of adjacent transitions of a state space a port has covered."""

    def __init__(self, space: StateSpace, random: Random) -> None:
        self.firsts = [
            transition
            for transition in references(space)
            if space.edges[transition.node][transition.edge].target != transition.node
        ]
        wide = unfolded(space, self.firsts)
        super().__init__(wide, random, lambda edge: isinstance(edge, Second))
        self.explored, self._size = space, len(space.nodes)

    def covered_pairs(self) -> set[tuple[TransitionReference, TransitionReference]]:
        """Return the covered pairs, as transitions of the original graph."""
        numbers, nodes = self.space.numbers, self.space.nodes
        return {
            (self.firsts[node - self._size], TransitionReference(numbers[nodes[node]], index))
            for node, index in self.shown
            if node >= self._size
        }

    def arrived(self, taken: Sequence[TransitionReference], target: int) -> int:
        """Return the node for the branch that the port took, if it is unambiguous."""
        return self.after(taken[0]) if len(taken) == 1 else target
