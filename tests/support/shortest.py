"""The shortest sequence of a model instance that reveals a faulty copy, found by trying them all.

An oracle for the shrinker, independent of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import NamedTuple

from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.trace import inputs_to
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.merge_steps import advances_merged
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from support.faults import FaultyPort

NONE = 1_000
"""Longer than any: there is no such sequence."""


class Way(NamedTuple):
    """A path without a difference: its steps, with consecutive times merged, and its last state."""

    length: int
    node: int
    waited: bool
    hidden: Hashable
    transitions: tuple[TransitionReference, ...]

    def with_edge(self, edge: Transition) -> int:
        """Its length with one more step."""
        return self.length + (not (self.waited and isinstance(edge.given, Advance)))


def shortest(space: StateSpace, port: FaultyPort, bound: int = NONE) -> int:
    """The length of the shortest sequence of a space with an answer that is not allowed.

    The search tries every transition after a shortest path to its node, the nearest first;
    consecutive advances of time count as one step. That proves the length: the port shows its
    inner state, which the search compares after every step, and hidden states count as different,
    so that one of several allowed paths to the same state is enough. The search ignores sequences
    that are not shorter than `bound`.
    """
    port.open(space.instance.profile.name, space.instance.broker)
    queue = deque([Way(0, 0, waited=False, hidden=port.hidden, transitions=())])
    done: set[tuple[int, bool, Hashable]] = set()
    found = bound
    while queue:
        way = queue.popleft()
        if way[1:4] in done:
            continue
        done.add(way[1:4])
        if way.length >= found:
            break
        state, steps = inputs_to(space, list(way.transitions))
        for place, edge in enumerate(space.edges[way.node]):
            length = way.with_edge(edge)
            if length >= found:
                continue
            transitions = (*way.transitions, TransitionReference(way.node, place))
            given = edge.given
            if isinstance(given, Request):
                given = space.canonical(state).restore(given, len(steps) + 1)
            if replay(_sequence(space, (*steps, given)), port) is not None:
                found = length
                continue
            waited = isinstance(edge.given, Advance)
            following = Way(length, edge.target, waited, port.hidden, transitions)
            if length > way.length:
                queue.append(following)
            else:
                queue.appendleft(following)
    return found


def _sequence(space: StateSpace, steps: tuple[Input, ...]) -> Sequence:
    instance = space.instance
    return advances_merged(Sequence(instance.profile.name, instance.broker, steps))
