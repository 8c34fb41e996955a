"""Walks of tests, carried over to the state space of other rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference


def carried(
    tests: Iterable[Sequence[TransitionReference]], before: StateSpace, now: StateSpace
) -> Iterator[list[TransitionReference]]:
    """The transitions of tests in another state space of their instance, until one differs."""
    found: dict[TransitionReference, TransitionReference | None] = {}
    for test in tests:
        same: list[TransitionReference] = []
        for taken in test:
            if taken not in found:
                found[taken] = _same(taken, before, now)
            transition = found[taken]
            if transition is None:
                break
            same.append(transition)
        yield same


def _same(
    taken: TransitionReference, before: StateSpace, now: StateSpace
) -> TransitionReference | None:
    """The transition of `now` that differs only in the rules applied; None if there is none.

    There is none either if its responses leave open more states than they did `before`.
    """
    node = now.numbers.get(before.nodes[taken.node])
    if node is None:
        return None
    edge = before.edges[taken.node][taken.edge]
    asked = edge.given, edge.responses
    possible = {
        before.nodes[each.target]
        for each in before.edges[taken.node]
        if (each.given, each.responses) == asked
    }
    allowed = [
        (now.nodes[each.target], each.applied != edge.applied, index)
        for index, each in enumerate(now.edges[node])
        if (each.given, each.responses) == asked
    ]
    if not possible.issuperset(target for target, _, _ in allowed):
        return None
    reached = before.nodes[edge.target]
    same = [(differs, index) for target, differs, index in allowed if target == reached]
    return TransitionReference(node, min(same)[1]) if same else None
