"""Counting: exploration, breadth first, that keeps numbers and no transitions.

It is for specifications of actions, and runs each rule a few times for millions of states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from groupcheck.model.engine.actions import Action, ActionSpecification, ActionStep
from groupcheck.model.engine.columns import Columns, Effect, Learned, WiderError, Words
from groupcheck.model.engine.exploration import TooManyStatesError
from groupcheck.model.engine.noting import UnfitError
from groupcheck.model.engine.specification import Input, Invariant, Outcome, State

CHUNK: Final = 2**16  # words expanded at once: half a megabyte, which fits in a cache


class Counted(NamedTuple):
    """The numbers of a state space, as in a `StateSpace`.

    `broken` has the words of each invariant that does not hold, and the inputs of a shortest path
    to a state that violates it.
    """

    states: int
    transitions: int
    depth: int
    applied: Counter[str]
    broken: dict[str, list[Input]]


def count(
    instance: ActionSpecification,
    invariants: Iterable[Invariant] = (),
    progress: Callable[[int], None] = lambda _count: None,
    *,
    most_states: int | None = None,
) -> Counted:
    """Explore a model instance completely, and count.

    Args:
        instance: the specification with its constants. What a rule does depends on the state alone.
        invariants: those to check in every state.
        progress: called with the number of states expanded since its last call.
        most_states: the limit; None for no limit.

    Raises:
        TooManyStatesError: there are more than `most_states`.
        UnfitError: the instance has symmetry or inputs of its own, or its states cannot be columns.
    """
    kind = type(instance)
    for name in ("inputs", "successors", "canonical"):
        if getattr(kind, name) is not getattr(ActionSpecification, name):
            msg = f"{kind.__name__} has its own `{name}`"
            raise UnfitError(msg)
    counting = _Counting(instance, invariants)
    states = 0
    while len(counting.levels[-1]):
        states += len(counting.levels[-1])
        if most_states is not None and states > most_states:
            msg = f"more than {most_states:,} states"
            raise TooManyStatesError(msg)
        counting.expand(progress)
    depth = len(counting.levels) - 2  # the last level is empty
    return Counted(states, counting.transitions, depth, counting.applied, counting.broken)


class _Counting:
    """The states found so far, and the expansion of the last level of them."""

    def __init__(self, instance: ActionSpecification, invariants: Iterable[Invariant]) -> None:
        self.levels = [np.zeros(1, np.uint64)]  # each sorted
        self.transitions = 0
        self.applied: Counter[str] = Counter()
        self.broken: dict[str, list[Input]] = {}
        self._seen: list[Words] = []  # all states of the levels before; each sorted
        self._columns = Columns(instance.initial)
        tables = instance.version.tables
        self._actions = {
            given: Learned(self._columns, partial(_outcomes, instance, given))
            for given in (Action(name, each) for name in tables for each in instance.subjects(name))
        }
        self._invariants = {
            each.words: Learned(self._columns, partial(_broken, each)) for each in invariants
        }

    def expand(self, progress: Callable[[int], None]) -> None:
        """Check the invariants in the last level, and find the next one."""
        found: list[Words] = []
        done = 0
        while done < len(self.levels[-1]):
            words = self.levels[-1][done : done + CHUNK]
            places = self._columns.masks, self._columns.shifts
            try:
                self._check(words)
                new, transitions, applied = self._expanded(words)
            except WiderError:
                self._columns.place()
                for kept in (self.levels, self._seen, found):
                    kept[:] = [self._columns.placed(each, *places) for each in kept]
                continue
            found += new
            self.transitions += transitions
            self.applied += applied
            done += len(words)
            progress(len(words))
        self._note(self.levels[-1])
        self.levels.append(self._unseen(found))

    def _expanded(self, words: Words) -> tuple[list[Words], int, Counter[str]]:
        """The other states that follow, the number of transitions, and the rules applied."""
        found, transitions = [], 0
        applied: Counter[str] = Counter()
        for learned in self._actions.values():
            for outcomes, some in learned.outcomes(words):
                after = [self._columns.after(some, each) for each in outcomes]
                transitions += _distinct(outcomes, after)
                found += [each[each != some] for each in after]
                for each in outcomes:
                    applied.update(dict.fromkeys(each.applied, len(some)))
        return found, transitions, applied

    def _unseen(self, found: list[Words]) -> Words:
        words: Words = np.concatenate([*found, self.levels[0]])  # with a seen one, so not empty
        words.sort()  # np.unique takes 25 times as long
        words = words[np.append(words[:-1] != words[1:], [True])]
        for seen in self._seen:
            at = np.searchsorted(seen[:-1], words)  # the place of each word, if it is there
            words = words[seen[at] != words]
        return words

    def _note(self, level: Words) -> None:
        """Keep few arrays of the states seen, each at least twice as long as the next."""
        while self._seen and len(self._seen[-1]) < 2 * len(level):
            level = np.concatenate([self._seen.pop(), level])
            level.sort()
        self._seen.append(level)

    def _check(self, words: Words) -> None:
        for name, learned in self._invariants.items():
            if name not in self.broken:
                for _, some in learned.outcomes(words):
                    self.broken[name] = self._path(some[0])
                    break

    def _path(self, word: np.uint64) -> list[Input]:
        """The inputs of a shortest path to a state of the last level."""
        path: list[Input] = []
        for level in reversed(self.levels[:-1]):
            given, word = next(self._sources(level, word))
            path.insert(0, given)
        return path

    def _sources(self, level: Words, word: np.uint64) -> Iterator[tuple[Input, np.uint64]]:
        for given, learned in self._actions.items():
            for outcomes, some in learned.outcomes(level):
                for each in outcomes:
                    for source in some[self._columns.after(some, each) == word]:
                        yield given, source


def _outcomes(instance: ActionSpecification, given: Action, state: State) -> Iterable[Outcome]:
    """The outcomes of an action, none where no rule of it holds."""
    step = ActionStep(instance.version, state)
    rules = instance.version.tables[given.name]
    holds = any(rule.holds(step, given.subject) for rule in rules)
    return instance.successors(state, given) if holds else ()


def _broken(invariant: Invariant, state: State) -> Iterable[Outcome]:
    """An outcome where the invariant does not hold."""
    return () if invariant.holds(state) else (Outcome(state),)


def _distinct(outcomes: list[Effect], after: list[Words]) -> int:
    """The number of transitions: those with the same responses and target are one."""
    number = len(outcomes) * len(after[0])
    for at, (outcome, words) in enumerate(zip(outcomes, after, strict=True)):
        repeated = np.zeros(len(words), bool)
        for earlier, others in zip(outcomes[:at], after[:at], strict=True):
            if earlier.responses == outcome.responses:
                repeated |= others == words
        number -= int(repeated.sum())
    return number
