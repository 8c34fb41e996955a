"""Checks invariants and temporal properties of an explored state space."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import networkx as nx

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.lasso import MarkedStep, fair_cycle
from groupcheck.model.engine.specification import Invariant, LeadsTo

# A state, and whether the cause has come and the effect has not.
Node = tuple[int, bool]


class Violation(NamedTuple):
    """A property that does not hold, with a shortest counterexample.

    `path` leads from the initial state to the violation. For a temporal property it leads to the
    `cycle`, which can be repeated forever; an empty cycle means that no further step is taken.
    """

    property: Invariant | LeadsTo
    path: list[TransitionReference]
    cycle: list[TransitionReference]


def violations(space: StateSpace, properties: Iterable[Invariant | LeadsTo]) -> list[Violation]:
    """The properties that do not hold in a state space."""
    graph = StateGraph(space)
    found = (
        _invariant(graph, each) if isinstance(each, Invariant) else _leads_to(graph, each)
        for each in properties
    )
    return [violation for violation in found if violation is not None]


def _invariant(graph: StateGraph, invariant: Invariant) -> Violation | None:
    for number, node in enumerate(graph.space.nodes):  # breadth first, so the first is a nearest
        if not invariant.holds(node):
            return Violation(invariant, graph.path(number), [])
    return None


def _leads_to(graph: StateGraph, leads_to: LeadsTo) -> Violation | None:
    steps = list(_pending_steps(graph.space, leads_to))
    first = 0, _is_pending(graph.space, leads_to, 0, before=False)
    product: nx.DiGraph[Node] = nx.DiGraph()
    product.add_node(first)
    product.add_edges_from(step[:2] for step in steps)
    depths = nx.single_source_shortest_path_length(product, first)
    fair = {mark for step in steps for mark in step.marks}
    pending = [step for step in steps if step.here[1] and step.there[1] and step.here in depths]
    cycle = fair_cycle(pending, frozenset(fair), depths.__getitem__)
    if cycle is None:
        return None
    path = nx.shortest_path(product, first, cycle[0].here)
    return Violation(
        leads_to,
        [_reference(graph, here[0], there[0]) for here, there in pairwise(path)],
        [_reference(graph, s.here[0], s.there[0]) for s in cycle if s.here != s.there],
    )


def _pending_steps(space: StateSpace, leads_to: LeadsTo) -> Iterator[MarkedStep[Node]]:
    """The transitions, and a stuttering step in each state.

    A step has the mark of each fair action that it takes or that cannot change the state before.
    """
    fair = {leads_to.fair(edge.given) for edges in space.edges for edge in edges} - {None}
    for source, edges in enumerate(space.edges):
        able = {leads_to.fair(edge.given) for edge in edges if edge.target != source}
        for before in (False, True):
            here = source, before
            if before and leads_to.effect(space.nodes[source]):
                continue
            ends: dict[int, set[Hashable]] = {source: set()}
            for edge in edges:
                ends.setdefault(edge.target, set()).add(leads_to.fair(edge.given))
            for target, taken in ends.items():
                marks = frozenset(fair - able | (taken if target != source else set())) - {None}
                there = target, _is_pending(space, leads_to, target, before=before)
                yield MarkedStep(here, there, marks)


def _is_pending(space: StateSpace, leads_to: LeadsTo, number: int, *, before: bool) -> bool:
    state = space.nodes[number]
    return (before or leads_to.cause(state)) and not leads_to.effect(state)


def _reference(graph: StateGraph, source: int, target: int) -> TransitionReference:
    edges = graph.space.edges[source]
    return TransitionReference(source, next(i for i, e in enumerate(edges) if e.target == target))
