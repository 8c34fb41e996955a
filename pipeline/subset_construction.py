"""Subset construction: the states that an automaton may be in after the symbols observed so far.

A transition with the symbol None is an epsilon transition: it is not observed. A transition may
change a counter; the changes of successive transitions are combined.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar


class CounterChange(NamedTuple):
    """A change of a counter: it restarts at 0 or becomes `unknown`, and is then incremented."""

    restarts: bool = False
    increments: int = 0
    unknown: bool = False

    def of(self, counter: int | None) -> int | None:
        """The counter after the change; None if unknown."""
        before = 0 if self.restarts else counter
        return None if self.unknown or before is None else before + self.increments

    def then(self, other: CounterChange) -> CounterChange:
        """This change followed by another."""
        if other.restarts or other.unknown:
            return other
        return self._replace(increments=self.increments + other.increments)


UNCHANGED: Final = CounterChange()
MAX_INCREMENTS: Final = 1  # of epsilon transitions: without a limit, a cycle of them never ends
S = TypeVar("S", bound=Hashable)
Targets = dict[tuple[CounterChange, int], tuple[str, ...]]  # with the rules of each transition


class Automaton(Generic[S]):
    """States by number; `transitions` has those of each state, by symbol."""

    def __init__(self) -> None:
        self.transitions: list[dict[S | None, Targets]] = []

    def new_state(self) -> int:
        """Add a state without transitions."""
        self.transitions.append({})
        return len(self.transitions) - 1

    def add(
        self,
        start: int,
        symbol: S | None,
        target: int,
        change: CounterChange = UNCHANGED,
        rules: tuple[str, ...] = (),
    ) -> None:
        """Add a transition by these rules of the model."""
        self.transitions[start].setdefault(symbol, {}).setdefault((change, target), rules)

    def observed(self, observe: Callable[[S], S | None]) -> Automaton[S]:
        """The automaton with each symbol as `observe` returns it; None if it is not observed."""
        result: Automaton[S] = Automaton()
        for transitions in self.transitions:
            state = result.transitions[result.new_state()]
            for symbol, targets in transitions.items():
                state.setdefault(None if symbol is None else observe(symbol), {}).update(targets)
        return result


class Step(NamedTuple):
    """The states after a symbol.

    Args:
        change: of the counter, by the transition with the symbol.
        closure: the sets of states after epsilon transitions, each with the change of the counter.
        description: the result of the user's `describe` for the targets of the transition.

    """

    change: CounterChange
    closure: tuple[tuple[CounterChange, int], ...]
    description: Any


class Subsets(Generic[S]):
    """Sets of states, by number; each is made once.

    Args:
        automaton: the automaton.
        describe: a function of the targets of a transition, for `Step.description`.

    """

    def __init__(
        self, automaton: Automaton[S], describe: Callable[[frozenset[int]], Any] = len
    ) -> None:
        self._transitions = automaton.transitions
        self._describe = describe
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._steps: dict[tuple[int, Hashable], tuple[Step, ...]] = {}
        self._packed: dict[int, bytes] = {}
        self.all = self.number(frozenset(range(len(automaton.transitions))))

    def step(self, number: int, key: Hashable, matches: Callable[[S], bool]) -> tuple[Step, ...]:
        """The states after a symbol that `matches`; equal keys are equal functions `matches`."""
        if (number, key) not in self._steps:
            targets: dict[CounterChange, set[int]] = {}
            for symbol, found in self.next_symbols(number).items():
                if matches(symbol):
                    for change, target in found:
                        targets.setdefault(change, set()).add(target)
            self._steps[number, key] = tuple(
                Step(change, self.closure(states), self._describe(frozenset(states)))
                for change, states in targets.items()
            )
        return self._steps[number, key]

    def closure(self, states: Iterable[int]) -> tuple[tuple[CounterChange, int], ...]:
        """The sets of states that epsilon transitions reach, by the change of the counter."""
        reached = {(UNCHANGED, state) for state in states}
        pending = list(reached)
        while pending:
            before, state = pending.pop()
            for change, target in self._transitions[state].get(None, ()):
                after = before.then(change)
                if (after, target) not in reached and after.increments <= MAX_INCREMENTS:
                    reached.add((after, target))
                    pending.append((after, target))
        sets: dict[CounterChange, set[int]] = {}
        for change, state in reached:
            sets.setdefault(change, set()).add(state)
        return tuple((change, self.number(frozenset(each))) for change, each in sets.items())

    def next_symbols(self, number: int) -> dict[S, Targets]:
        """The symbols that may be observed next, with the targets of each."""
        symbols: dict[S, Targets] = {}
        for state in self._sets[number]:
            for symbol, targets in self._transitions[state].items():
                if symbol is not None:
                    symbols.setdefault(symbol, {}).update(targets)
        return symbols

    def number(self, states: frozenset[int]) -> int:
        """The number of a set."""
        if states not in self._numbers:
            self._numbers[states] = len(self._sets)
            self._sets.append(states)
        return self._numbers[states]

    def union(self, one: int, other: int) -> int:
        """The number of the union of two sets."""
        return one if one == other else self.number(self._sets[one] | self._sets[other])

    def size(self, number: int) -> int:
        """The number of states in a set."""
        return len(self._sets[number])

    def packed(self, number: int) -> bytes:
        """A set as a bit for each state, because its number differs between processes."""
        if number not in self._packed:
            bits = bytearray(len(self._transitions) // 8 + 1)
            for state in self._sets[number]:
                bits[state // 8] |= 1 << state % 8
            self._packed[number] = zlib.compress(bits)
        return self._packed[number]

    def unpacked(self, packed: bytes) -> int:
        """The number of a set that another process packed."""
        bits = zlib.decompress(packed)
        states = range(len(self._transitions))
        return self.number(frozenset(s for s in states if bits[s // 8] >> s % 8 & 1))
