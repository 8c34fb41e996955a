"""Lassos: a path to a cycle that a system can repeat forever, under fairness.

Fairness is a set of marks, all of which a cycle must have: its steps carry them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

import networkx as nx

N = TypeVar("N", bound=Hashable)
Marks = frozenset[Hashable]


class MarkedStep(NamedTuple, Generic[N]):
    """A step of a graph with the marks that it adds to a cycle."""

    here: N
    there: N
    marks: Marks


def graph_of(pairs: Iterable[tuple[N, N]]) -> nx.DiGraph[N]:
    """A graph of edges."""
    graph: nx.DiGraph[N] = nx.DiGraph()  # DiGraph(edges) imports pandas
    graph.add_edges_from(pairs)
    return graph


def fair_cycle(
    steps: Iterable[MarkedStep[N]], wanted: Marks, depth: Callable[[N], int], first: Hashable = None
) -> list[MarkedStep[N]] | None:
    """The cycle with all wanted marks that can be completed soonest; None if there is none.

    For each step with the mark `first` (any step, if that is None) the shortest such cycle is
    taken. Of these, the one with the least sum of steps and depth is returned, from its node of
    least depth; `depth` is the number of steps to a node.
    """
    steps = list(dict.fromkeys(steps))
    components = nx.strongly_connected_components(graph_of(step[:2] for step in steps))
    within = {node: number for number, nodes in enumerate(components) for node in nodes}
    inside: dict[N, list[MarkedStep[N]]] = {}
    marks: dict[int, set[Hashable]] = {}
    for step in steps:
        if within[step.here] == within[step.there]:
            inside.setdefault(step.here, []).append(step)
            marks.setdefault(within[step.here], set()).update(step.marks)
    shortest: list[MarkedStep[N]] | None = None
    fewest = math.inf
    for step in (each for found in inside.values() for each in found):
        fit = wanted <= marks[within[step.here]] and (first is None or first in step.marks)
        # No cycle is completed before its first node is reached.
        if fit and depth(step.here) + 1 < fewest:
            cycle = _entered(_shortest_cycle(inside, step, wanted), depth)
            if depth(cycle[0].here) + len(cycle) < fewest:
                shortest, fewest = cycle, depth(cycle[0].here) + len(cycle)
    return shortest


def _shortest_cycle(
    inside: dict[N, list[MarkedStep[N]]], first: MarkedStep[N], wanted: Marks
) -> list[MarkedStep[N]]:
    """The shortest cycle over a step with all marks: breadth first over nodes and marks so far."""
    start = first.there, first.marks & wanted
    before: dict[tuple[N, Marks], tuple[tuple[N, Marks], MarkedStep[N]] | None] = {start: None}
    queue = deque([start])
    goal = first.here, wanted
    while goal not in before:
        node, sofar = at = queue.popleft()
        for step in inside[node]:
            after = step.there, sofar | (step.marks & wanted)
            if after not in before:
                before[after] = at, step
                queue.append(after)
    cycle: list[MarkedStep[N]] = []
    while (came := before[goal]) is not None:
        goal, step = came
        cycle.append(step)
    return [first, *reversed(cycle)]


def _entered(cycle: list[MarkedStep[N]], depth: Callable[[N], int]) -> list[MarkedStep[N]]:
    """The cycle from its node of least depth."""
    first = min(range(len(cycle)), key=lambda place: depth(cycle[place].here))
    return [*cycle[first:], *cycle[:first]]
