"""The least steps: a proved lower bound on any suite of tests that takes certain steps.

A test begins at the initial state and ends anywhere. Whatever the suite, let it step n(u, v) times
from state u to state v. Two things are true of n:

- it is at least the number of steps from u to v that are needed;
- no state but the initial one is left more often than it is come to, as no test begins there.

The least total of all n for which both are true is a minimum-cost flow, which networkx solves. A
suite is such an n, so it takes no fewer steps. Where every edge of a connected graph is needed the
bound is met: such an n falls apart into paths that begin at the initial state, and into circles
that can be put into them. But it presumes that a test may be as long as it likes, and that at a
fork the coordinator takes the branch that is wanted. A suite of short tests, or a coordinator that
chooses as it likes, needs more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import networkx as nx

from groupcheck.model.exploring.explorer import Space

# Stands for wherever a step can begin without another having led there.
_AVAILABLE = -1


def every_edge(space: Space) -> Iterable[tuple[int, int]]:
    """The steps that show every labelled edge of a space, each by itself."""
    return ((node, edge.target) for node, edges in enumerate(space.edges) for edge in edges)


def least_steps(space: Space, needed: Iterable[tuple[int, int]]) -> int:
    """How many steps any suite takes at the least in which there is each of those that are needed.

    A step is told by the nodes where it begins and ends; one that is needed twice is there twice.
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
