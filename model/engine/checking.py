"""Checks invariants and temporal properties of an explored state space."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.lasso import MarkedStep, fair_cycle, graph_of
from groupcheck.model.engine.specification import Invariant, LeadsTo, Property

# A state, and whether the cause has come and the effect has not.
Node = tuple[int, bool]


class Violation(NamedTuple):
    """A property that does not hold, with a shortest counterexample.

    `path` leads from the initial state to the violation: to a state, or over a step. For a temporal
    property it leads to the `cycle`, which can be repeated forever; an empty cycle means that no
    further step is taken.
    """

    property: Property
    path: list[TransitionReference]
    cycle: list[TransitionReference]


def violations(space: StateSpace, properties: Iterable[Property]) -> list[Violation]:
    """The properties that do not hold in a state space."""
    graph = cache(lambda: StateGraph(space))  # not needed if all properties hold
    return [found for each in properties if (found := _violation(space, graph, each)) is not None]


def _violation(
    space: StateSpace, graph: Callable[[], StateGraph], checked: Property
) -> Violation | None:
    if isinstance(checked, LeadsTo):
        return _leads_to(space, checked)
    # States are numbered breadth first, so the first violation is a nearest one.
    for number, state in enumerate(space.nodes):
        if isinstance(checked, Invariant):
            if not checked.holds(state):
                return Violation(checked, graph().path(number), [])
            continue
        for place, edge in enumerate(space.edges[number]):
            if not checked.holds(state, edge.given, space.nodes[edge.target]):
                path = graph().witness(TransitionReference(number, place))
                return Violation(checked, path, [])
    return None


def _leads_to(space: StateSpace, leads_to: LeadsTo) -> Violation | None:
    met = [leads_to.effect(state) for state in space.nodes]
    causes = {n for n, s in enumerate(space.nodes) if not met[n] and leads_to.cause(s)}
    pending = _pending(space, causes, met)
    if not pending:
        return None
    fair = frozenset(
        {leads_to.fair(edge.given) for edges in space.edges for edge in edges} - {None}
    )
    steps = _pending_steps(space, pending, leads_to.fair, fair)
    # If the property holds, no distance is needed.
    first = 0, 0 in causes
    product = cache(lambda: _product(space, causes, met))
    depths = cache(lambda: nx.single_source_shortest_path_length(product(), first))
    cycle = fair_cycle(steps, fair, lambda number: depths()[number, True])
    if cycle is None:
        return None
    path = nx.shortest_path(product(), first, (cycle[0].here, True))
    return Violation(
        leads_to,
        [_reference(space, here, there) for (here, _), (there, _) in pairwise(path)],
        [_reference(space, s.here, s.there) for s in cycle if s.here != s.there],
    )


def _pending(space: StateSpace, causes: set[int], met: list[bool]) -> list[int]:
    """The states in which the cause may have come and the effect has not."""
    found, left = set(causes), list(causes)
    while left:
        after = {e.target for e in space.edges[left.pop()] if not met[e.target]} - found
        found |= after
        left += after
    return sorted(found)


def _pending_steps(
    space: StateSpace,
    pending: list[int],
    fair_action: Callable[[Any], Hashable],
    fair: frozenset[Hashable],
) -> Iterator[MarkedStep[int]]:
    """The transitions between pending states, and a stuttering step in each.

    A step has the mark of each fair action that it takes or that cannot change the state before.
    """
    among = set(pending)
    for source in pending:
        taken: dict[int, set[Hashable]] = {}
        for edge in space.edges[source]:
            if edge.target != source:
                taken.setdefault(edge.target, set()).add(fair_action(edge.given))
        unable = fair.difference(*taken.values())
        yield MarkedStep(source, source, unable)
        for target, actions in taken.items():
            if target in among:
                yield MarkedStep(source, target, unable | (actions & fair))


def _product(space: StateSpace, causes: set[int], met: list[bool]) -> nx.DiGraph[Node]:
    """The transitions, with whether the cause has come and the effect has not."""
    product: nx.DiGraph[Node] = graph_of(
        ((source, before), (e.target, e.target in causes or (before and not met[e.target])))
        for source, edges in enumerate(space.edges)
        for before in ((False,) if met[source] else (False, True))
        for e in edges
    )
    product.add_node((0, 0 in causes))  # it may have no transition
    return product


def _reference(space: StateSpace, source: int, target: int) -> TransitionReference:
    edges = space.edges[source]
    return TransitionReference(source, next(i for i, e in enumerate(edges) if e.target == target))
