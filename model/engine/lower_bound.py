"""A lower bound of the steps of any suite of tests that takes certain transitions, with its proof.

A test begins at the initial state and ends anywhere. Let a suite step n(u, v) times from state u to
state v. Then:

- n(u, v) is at least the number of needed steps from u to v;
- flow conservation: out-flow never exceeds in-flow except at the initial state.

The least total of all such n is a minimum-cost flow, which networkx solves. If every transition of
a connected graph is needed, the bound is met: such an n splits into paths from the initial state
and cycles that can be inserted into them. This assumes tests of any length, and a system that takes
the wanted branch at every fork. A suite of short tests may need more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import networkx as nx

from groupcheck.model.engine.exploration import StateSpace

# The source of the flow: the node from which every test begins.
_AVAILABLE = -1


def every_transition(space: StateSpace) -> Iterable[tuple[int, int]]:
    """Source and target of every transition of a state space."""
    return ((node, edge.target) for node, edges in enumerate(space.edges) for edge in edges)


def least_steps(space: StateSpace, needed: Iterable[tuple[int, int]]) -> int:
    """The least number of steps of any suite with all the needed ones.

    A step is given as source and target; one that is needed twice is listed twice.
    """
    times = Counter(needed)
    surplus: Counter[int] = Counter()
    for (source, target), count in times.items():
        surplus[source] -= count
        surplus[target] += count
    del surplus[0]  # where every test may begin
    flow: nx.DiGraph[int] = nx.DiGraph()
    for node, edges in enumerate(space.edges):
        flow.add_node(node, demand=max(-surplus[node], 0))
        if surplus[node] > 0:
            flow.add_edge(_AVAILABLE, node, capacity=surplus[node])
        flow.add_edges_from(((node, target) for target in {e.target for e in edges}), weight=1)
    flow.add_edge(_AVAILABLE, 0)
    flow.nodes[_AVAILABLE]["demand"] = -sum(max(-count, 0) for count in surplus.values())
    on_the_way = int(nx.network_simplex(flow)[0])
    return times.total() + on_the_way
