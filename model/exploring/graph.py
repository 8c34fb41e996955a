"""What networkx says about an explored space: what is reachable, and the shortest way to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import networkx as nx

from groupcheck.model.exploring.explorer import Edge, Space
from groupcheck.model.step import Profile


class Hop(NamedTuple):
    """One labelled edge, by where it stands: the number of its node and its place there."""

    node: int
    edge: int


class Component(NamedTuple):
    """A strongly connected component: its nodes, and whether no edge leads out of it."""

    nodes: tuple[int, ...]
    terminal: bool


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
        self._before: dict[int, int] = {t: s for s, t in nx.bfs_edges(self.graph, 0)}

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

    def witness_of(self, rule: str) -> list[Hop] | None:
        """A shortest path that ends with a labelled edge applying that rule, if there is one."""
        # Nodes are numbered breadth first, so the first that has such an edge is a nearest one.
        for node, edges in enumerate(self.space.edges):
            for place, edge in enumerate(edges):
                if rule in edge.fired:
                    return self.witness(Hop(node, place))
        return None

    def components(self) -> list[Component]:
        """The strongly connected components, the largest first.

        In a terminal one the system stays for good; within any, it can always come back.
        """
        edges = self.space.edges
        found = [
            Component(
                tuple(sorted(members)),
                all(edge.target in members for node in members for edge in edges[node]),
            )
            for members in nx.strongly_connected_components(self.graph)
        ]
        return sorted(found, key=lambda component: (-len(component.nodes), component.nodes))

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
