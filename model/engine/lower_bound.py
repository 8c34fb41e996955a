"""A lower bound of the steps of any suite of tests that takes certain transitions, with its proof.

A test begins at the initial state and ends anywhere. Let a suite step n(u, v) times from state u to
state v. Then:

- n(u, v) is at least the number of needed steps from u to v;
- flow conservation: out-flow never exceeds in-flow except at the initial state.

The least total of all such n is a minimum-cost flow, which networkx solves. If every transition of
a connected graph is needed, the bound is met: such an n splits into paths from the initial state
and cycles that can be inserted into them. This assumes tests of any length, and a system that takes
the wanted branch at every fork. A suite of short tests may need more.

If each test has at most L steps, let a step that leaves the initial state weigh 0, a step that
stays there 1, and any other L / (L - 1). Let a of the m steps of a test stay there. If m > a,
at least one leaves it, and the test weighs at most a + (m - a - 1) L / (L - 1), which is at most m
because m - a <= L. So no suite weighs more than it has steps, and the least weight of all such n is
a lower bound too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import networkx as nx

from groupcheck.model.engine.exploration import StateSpace

Step = tuple[int, int]  # its source and its target

# The source of the flow: the node from which every test begins.
_AVAILABLE = -1


def every_transition(space: StateSpace) -> Iterable[Step]:
    """Source and target of every transition of a state space."""
    return ((node, edge.target) for node, edges in enumerate(space.edges) for edge in edges)


def least_flow(
    space: StateSpace, needed: Counter[Step], weight: Callable[[Step], int] = lambda _step: 1
) -> Counter[Step]:
    """The steps that a flow of the least weight takes besides the needed ones, and how often."""
    surplus: Counter[int] = Counter()
    for (source, target), count in needed.items():
        surplus[source] -= count
        surplus[target] += count
    del surplus[0]  # where every test may begin
    flow: nx.DiGraph[int] = nx.DiGraph()
    for node, edges in enumerate(space.edges):
        flow.add_node(node, demand=max(-surplus[node], 0))
        if surplus[node] > 0:
            flow.add_edge(_AVAILABLE, node, capacity=surplus[node])
        for target in {edge.target for edge in edges} - {node}:
            flow.add_edge(node, target, weight=weight((node, target)))
    flow.add_edge(_AVAILABLE, 0)
    flow.nodes[_AVAILABLE]["demand"] = -sum(max(-count, 0) for count in surplus.values())
    _, times = nx.network_simplex(flow)
    del times[_AVAILABLE]
    steps = ((node, *to) for node, out in times.items() for to in out.items())
    return Counter({(node, target): count for node, target, count in steps if count})


def least_steps(space: StateSpace, needed: Iterable[Step]) -> int:
    """The least number of steps of any suite with all the needed ones."""
    times = Counter(needed)
    return times.total() + least_flow(space, times).total()


def least_steps_within(limit: int, space: StateSpace, needed: Iterable[Step]) -> int:
    """A bound for tests of at most `limit` steps; it may be less than that for any length."""
    times = Counter(needed)
    if limit == 1:
        return times.total()

    def weight(step: Step) -> int:
        """Its weight, times `limit` - 1."""
        if step[0] != 0:
            return limit
        return limit - 1 if step[1] == 0 else 0

    flow = times + least_flow(space, times, weight)
    weighed = sum(weight(step) * count for step, count in flow.items())
    return -(-weighed // (limit - 1))
