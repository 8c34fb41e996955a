"""How something may go on unfinished for ever: the cycles of a graph, under fairness.

What the nodes are is for others to say, and whence they come: a graph is judged alike whether it is
of a space in memory or what is left of one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import networkx as nx

N = TypeVar("N", bound=Hashable)


class Going(NamedTuple, Generic[N]):
    """A step over which something goes on unfinished, from here to there.

    `covers` are the places, among what the version is known for of the law, of what the step
    belongs to.
    """

    here: N
    there: N
    tick: bool
    covers: tuple[int, ...] = ()

    def is_for(self, why: int | None) -> bool:
        """Whether it is looked at if nothing that Kafka is known for is, or but one such thing."""
        return not self.covers or why in self.covers


class Leg(NamedTuple, Generic[N]):
    """A part of a cycle: by a tick, or by whatever step comes first."""

    here: N
    there: N
    tick: bool


class Course(Generic[N]):
    """How what a law wants finished may go on unfinished, from node to node."""

    def __init__(self, goings: Iterable[Going[N]], why: int | None = None) -> None:
        """Put together those that are for `why`, in the order in which the nodes were found."""
        self._pairs: dict[tuple[N, N], None] = {}
        self._ticks: dict[tuple[N, N], None] = {}
        for going in goings:
            if going.is_for(why):
                self._pairs.setdefault(going[:2])
                if going.tick:
                    self._ticks.setdefault(going[:2])

    def cycle(self, depth: Callable[[N], int], holding: Callable[[N], bool]) -> list[Leg[N]] | None:
        """Of the shortest fair cycles over each tick the soonest gone through, from its entry.

        None if there is no such cycle. `depth` is the number of steps to a node, which is `holding`
        if appends are held there.
        """
        components = nx.strongly_connected_components(_graph(self._pairs))
        within = {node: number for number, nodes in enumerate(components) for node in nodes}
        inside = _graph((a, b) for a, b in self._pairs if within[a] == within[b])
        free: dict[int, list[N]] = {}
        for node in inside:
            if not holding(node):
                free.setdefault(within[node], []).append(node)
        shortest: list[Leg[N]] | None = None
        steps = math.inf
        for here, there in self._ticks:
            # No cycle is gone through sooner than its first node is reached.
            if within[here] != within[there] or depth(here) + 1 >= steps:
                continue
            for over in free.get(within[here], []) if holding(here) else [here]:
                cycle = _entered(_cycle(inside, here, over, there), depth)
                if depth(cycle[0].here) + len(cycle) < steps:
                    shortest, steps = cycle, depth(cycle[0].here) + len(cycle)
        return shortest


def _graph(pairs: Iterable[tuple[N, N]]) -> nx.DiGraph[N]:
    graph: nx.DiGraph[N] = nx.DiGraph()
    graph.add_edges_from(pairs)  # as an argument they would have pandas imported, to look at them
    return graph


def _cycle(inside: nx.DiGraph[N], here: N, over: N, there: N) -> list[Leg[N]]:
    """The shortest cycle through a tick, which comes first, and then over a node."""
    back: list[N] = nx.shortest_path(inside, there, over)
    back += nx.shortest_path(inside, over, here)[1:]
    return [Leg(here, there, tick=True), *(Leg(a, b, tick=False) for a, b in pairwise(back))]


def _entered(cycle: list[Leg[N]], depth: Callable[[N], int]) -> list[Leg[N]]:
    """The cycle from the node to which there is the shortest path."""
    first = min(range(len(cycle)), key=lambda place: depth(cycle[place].here))
    return [*cycle[first:], *cycle[:first]]
