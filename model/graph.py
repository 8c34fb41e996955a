"""What networkx says about an explored space: what is reachable, and the shortest way to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import networkx as nx

from groupcheck.model.explorer import Edge, Space
from groupcheck.model.step import Profile


class Hop(NamedTuple):
    """One labelled edge, by where it stands: the number of its node and its place there."""

    node: int
    edge: int


class UnreachableRuleError(Exception):
    """A profile declares a rule that no path of any of its spaces reaches."""


class StateGraph:
    """The labelled edges of a space as a networkx multigraph, keyed by their place."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        self.graph.add_nodes_from(range(len(space.nodes)))
        for source, edges in enumerate(space.edges):
            for place, edge in enumerate(edges):
                self.graph.add_edge(source, edge.target, key=place)
        self._before: dict[int, int] = dict(nx.bfs_predecessors(self.graph, 0))

    def unreachable(self) -> list[Hop]:
        """The labelled edges that no path from the initial state reaches."""
        reachable = nx.descendants(self.graph, 0) | {0}
        return [Hop(s, place) for s, _, place in self.graph.edges(keys=True) if s not in reachable]

    def path(self, node: int) -> list[Hop]:
        """A shortest path from the initial state to a node."""
        hops: list[Hop] = []
        while node:
            before = self._before[node]
            hops.append(Hop(before, min(map(int, self.graph[before][node]))))
            node = before
        return hops[::-1]

    def witness(self, hop: Hop) -> list[Hop]:
        """A shortest path that ends with that labelled edge."""
        return [*self.path(hop.node), hop]

    def edge(self, hop: Hop) -> Edge:
        """The labelled edge at that place."""
        return self.space.edges[hop.node][hop.edge]


def check_every_rule_is_reached(profile: Profile, spaces: Iterable[Space]) -> None:
    """Hold the declared rules against the explored edges.

    Raises:
        UnreachableRuleError: with the names of the rules that no labelled edge applies.
    """
    reached = {rule for space in spaces for rule in space.applied}
    missing = sorted(set(profile.rules) - reached)
    if missing:
        msg = f"profile {profile.name} declares rules that no path reaches: {', '.join(missing)}"
        raise UnreachableRuleError(msg)
