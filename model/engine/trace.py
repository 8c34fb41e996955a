"""A path of a reduced state graph as a trace: the inputs and outcomes with the original names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.specification import Input, State


class TraceStep(NamedTuple):
    """One step of a trace."""

    given: Input
    outcome: Any


def trace_of(space: StateSpace, path: Iterable[TransitionReference]) -> list[TraceStep]:
    """A path from the initial state, step by step.

    A transition has the names of its source. In a trace every name stays the same throughout.
    """
    instance = space.instance
    state = instance.initial
    steps: list[TraceStep] = []
    for node, place in path:
        edge = space.edges[node][place]
        given = space.canonical(state).restore(edge.given, len(steps) + 1)
        outcome = next(
            outcome
            for outcome in instance.successors(state, given)
            if outcome[2] == edge.applied
            and space.numbers.get(space.canonical(outcome[0]).node) == edge.target
        )
        steps.append(TraceStep(given, outcome))
        state = outcome[0]
    return steps


def inputs_to(
    space: StateSpace, path: list[TransitionReference]
) -> tuple[State, tuple[Input, ...]]:
    """The state that a path leads to, and the inputs of its trace."""
    steps = trace_of(space, path)
    state = steps[-1].outcome[0] if steps else space.instance.initial
    return state, tuple(step.given for step in steps)
