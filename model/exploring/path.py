"""A path of the state graph as what a client really sends: from the graph back to a coordinator."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.model.exploring.explorer import Space
from groupcheck.model.exploring.graph import Hop
from groupcheck.model.state import Coordinator
from groupcheck.model.step import Outcome
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import Request


class Taken(NamedTuple):
    """One step of a path: a concrete input, and what came of it."""

    given: Input
    outcome: Outcome


def along(space: Space, hops: list[Hop]) -> list[Taken]:
    """A path from the initial state of a space reduced by symmetry, step by step.

    Each edge is labelled in the names of its own node; here every member keeps the one symbol it
    got when it joined.
    """
    instance = space.instance
    state = instance.initial
    steps: list[Taken] = []
    for hop in hops:
        edge = space.edges[hop.node][hop.edge]
        given = edge.given
        if isinstance(given, Request):
            given = space.frame(state).restore(given, len(steps) + 1)
        outcome = next(
            outcome
            for outcome in successors(state, given, instance.profile, instance.config)
            if outcome.fired == edge.fired
            and space.numbers.get(space.frame(outcome.coordinator).node) == edge.target
        )
        steps.append(Taken(given, outcome))
        state = outcome.coordinator
    return steps


def realise(space: Space, hops: list[Hop]) -> tuple[Coordinator, tuple[Input, ...]]:
    """A path as concrete inputs, with the state it leads to."""
    steps = along(space, hops)
    state = steps[-1].outcome.coordinator if steps else space.instance.initial
    return state, tuple(step.given for step in steps)
