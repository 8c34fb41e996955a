"""The graph of a state space, in networkx: reachability, shortest paths, components."""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx

from groupcheck.model.engine.exploration import StateSpace, Transition


class TransitionReference(NamedTuple):
    """A transition, as the number of its source and its index there."""

    node: int
    edge: int


class Component(NamedTuple):
    """A strongly connected component: its states, and whether no transition leaves it."""

    nodes: tuple[int, ...]
    terminal: bool


class StateGraph:
    """The transitions of a state space as a networkx multigraph, keyed by their index."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        self.graph.add_nodes_from(range(len(space.nodes)))
        for source, edges in enumerate(space.edges):
            for place, edge in enumerate(edges):
                self.graph.add_edge(source, edge.target, key=place)
        self._before: dict[int, int] = {t: s for s, t in nx.bfs_edges(self.graph, 0)}

    def unreachable(self) -> list[TransitionReference]:
        """The transitions that no path from the initial state reaches."""
        reachable = nx.descendants(self.graph, 0) | {0}
        return [
            TransitionReference(s, place)
            for s, _, place in self.graph.edges(keys=True)
            if s not in reachable
        ]

    def path(self, node: int) -> list[TransitionReference]:
        """A shortest path from the initial state to a state."""
        transitions: list[TransitionReference] = []
        while node:
            before = self._before[node]
            transitions.append(TransitionReference(before, min(map(int, self.graph[before][node]))))
            node = before
        return transitions[::-1]

    def witness(self, transition: TransitionReference) -> list[TransitionReference]:
        """A shortest path that ends with that transition."""
        return [*self.path(transition.node), transition]

    def witness_of(self, rule: str) -> list[TransitionReference] | None:
        """A shortest path that ends with a transition that applies the rule; None if none does."""
        # States are numbered breadth first, so the first with such a transition is a nearest one.
        for node, edges in enumerate(self.space.edges):
            for place, edge in enumerate(edges):
                if rule in edge.applied:
                    return self.witness(TransitionReference(node, place))
        return None

    def components(self) -> list[Component]:
        """The strongly connected components, the largest first.

        The system never leaves a terminal one.
        """
        edges = self.space.edges
        found = [
            Component(
                tuple(sorted(nodes)),
                all(edge.target in nodes for node in nodes for edge in edges[node]),
            )
            for nodes in nx.strongly_connected_components(self.graph)
        ]
        return sorted(found, key=lambda component: (-len(component.nodes), component.nodes))

    def edge(self, transition: TransitionReference) -> Transition:
        """The transition itself."""
        return self.space.edges[transition.node][transition.edge]
