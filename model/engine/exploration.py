"""Exhaustive exploration, breadth first: every reachable state and every transition."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from groupcheck.model.engine.specification import (
    AnyOutcome,
    CanonicalState,
    Input,
    Specification,
    State,
)

MOST_PLACED: Final = 10_000  # successors whose canonical state is kept


class Transition(NamedTuple):
    """A transition of the state graph; its source is the state that lists it.

    The input and the responses are in the names of the source; `target` is the number of a state.
    `applied` are the rules applied. If several outcomes are the same transition, they are those of
    the first.
    """

    given: Input
    responses: tuple[Any, ...]
    target: int
    applied: tuple[str, ...]


class StateSpace(NamedTuple):
    """The explored state space of a model instance.

    States have numbers: 0 is the initial one. `edges` has the transitions of each state, `applied`
    the number of outcomes in which each rule was applied.
    """

    instance: Any
    nodes: tuple[State, ...]
    numbers: dict[State, int]
    edges: tuple[tuple[Transition, ...], ...]
    depth: int
    applied: Counter[str]

    @property
    def transition_count(self) -> int:
        """The number of transitions."""
        return sum(map(len, self.edges))

    def canonical(self, state: State) -> Any:  # noqa: ANN401 - the specification's own type
        """The canonical form of a state."""
        return self.instance.canonical(state)


class Reached(NamedTuple):
    """One outcome of an input, and the number of the state that it leads to.

    `names` are the names in the outcome's own state, in the order of the target's.
    """

    given: Input
    responses: tuple[Any, ...]
    target: int
    names: tuple[str, ...]
    applied: tuple[str, ...]


class Seen(NamedTuple):
    """One outcome of an input: the number of the target, and original to canonical names."""

    given: Input
    outcome: Any
    target: int
    names: dict[str, str]


class TooManyStatesError(Exception):
    """A state space has more states than the limit."""


See = Callable[[int, Seen], None]
Within = Callable[[State], bool]


class Frontier:
    """The states found so far, and the expansion of one of them. Every exploration uses it."""

    def __init__(
        self, instance: Specification, see: See | None = None, within: Within | None = None
    ) -> None:
        self.nodes: list[State] = []
        self.names: list[tuple[str, ...]] = []
        self.numbers: dict[State, int] = {}
        self.applied: Counter[str] = Counter()
        self._instance = instance
        self._see = see
        self._within = within
        # Most non-canonical successors recur, from this state or one near it.
        self._placed: dict[State, tuple[int, tuple[str, ...]]] = {}

    def place(self, state: State) -> tuple[int, tuple[str, ...]]:
        """The number of a state, and its own names in the order of the canonical names."""
        number = self.numbers.get(state)  # most successors are canonical already
        if number is not None:
            return number, self.names[number]
        placed = self._placed.get(state)
        if placed is not None:
            return placed
        form: CanonicalState = self._instance.canonical(state)
        number = self.numbers.setdefault(form.node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(form.node)
            self.names.append(tuple(form.names.values()))
        placed = self._placed[state] = number, tuple(form.names)
        return placed

    def expand(self, number: int) -> list[Reached]:
        """Every outcome of every input of a state."""
        node, instance, within = self.nodes[number], self._instance, self._within
        if len(self._placed) > MOST_PLACED:
            self._placed.clear()
        return [
            self._reached(number, given, outcome)
            for given in instance.inputs(node)
            for outcome in instance.successors(node, given)
            if within is None or within(outcome[0])
        ]

    def count(self, outcomes: Iterable[Reached], times: int = 1) -> None:
        """Count the rules of the outcomes, once for each of `states` states."""
        for outcome in outcomes:
            for rule in set(outcome.applied):
                self.applied[rule] += times

    def _reached(self, number: int, given: Input, outcome: AnyOutcome) -> Reached:
        target, names = self.place(outcome[0])
        if self._see is not None:
            renamed = dict(zip(names, self.names[target], strict=True))
            self._see(number, Seen(given, outcome, target, renamed))
        # Responses have no order: they are sorted, so that equal transitions are one.
        return Reached(given, tuple(sorted(outcome[1])), target, names, outcome[2])


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the garbage collector: exploring makes no cycles, and every pass visits all states."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@without_collector()
def explore(
    instance: Specification,
    progress: Callable[[int], None] = lambda _count: None,
    *,
    symmetry: bool = True,
    most_states: int | None = None,
    within: Within | None = None,
) -> StateSpace:
    """Explore a model instance completely.

    Args:
        instance: the specification with its constants.
        progress: called with the number of states expanded since its last call.
        symmetry: whether one state represents all that differ from it in names. Without it the
            outcomes of one of them are renamed for the others.
        most_states: the limit; None for no limit.
        within: whether a state belongs to the space, of those that the specification admits.

    Raises:
        TooManyStatesError: there are more than `most_states`.
    """
    reduced = Frontier(instance, within=within)
    reduced.place(instance.initial)
    unreduced = None if symmetry else instance.unreduced()
    found = unreduced or reduced
    edges: list[tuple[Transition, ...]] = []
    depth, last_of_level = 0, 0
    for number, _ in enumerate(reduced.nodes):  # grows during the loop
        outcomes = reduced.expand(number)
        if unreduced is None:
            expanded = [_each_once(outcomes)]
        else:
            unreduced.add(reduced.nodes, reduced.names)
            expanded = [
                tuple(map(Transition._make, rows)) for rows in unreduced.edges(number, outcomes)
            ]
        edges += expanded
        reduced.count(outcomes, len(expanded))
        progress(len(expanded))
        if most_states is not None and len(found.nodes) > most_states:
            msg = f"more than {most_states:,} states"
            raise TooManyStatesError(msg)
        if number == last_of_level and len(reduced.nodes) > number + 1:
            depth, last_of_level = depth + 1, len(reduced.nodes) - 1
    return StateSpace(
        instance, tuple(found.nodes), found.numbers, tuple(edges), depth, reduced.applied
    )


def part(
    instance: Specification,
    nodes: Iterable[State],
    see: See | None = None,
) -> StateSpace:
    """A part of a reduced state space: these states, in their order, with their transitions.

    Their successors follow, without transitions; `depth` is 0. `see` is called with each outcome,
    which is cheaper than computing them again.
    """
    frontier = Frontier(instance, see)
    for node in nodes:
        frontier.place(node)
    edges: list[tuple[Transition, ...]] = []
    for number in range(len(frontier.nodes)):
        outcomes = frontier.expand(number)
        edges.append(_each_once(outcomes))
        frontier.count(outcomes)
    edges += [()] * (len(frontier.nodes) - len(edges))
    return StateSpace(
        instance, tuple(frontier.nodes), frontier.numbers, tuple(edges), 0, frontier.applied
    )


def _each_once(outcomes: Iterable[Reached]) -> tuple[Transition, ...]:
    found: dict[tuple[object, ...], Transition] = {}
    for given, responses, target, _, applied in outcomes:
        found.setdefault((given, responses, target), Transition(given, responses, target, applied))
    return tuple(found.values())
