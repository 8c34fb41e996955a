"""Subset construction: the states that an automaton may be in after the symbols seen so far.

The symbols are those of the user. A move with the symbol None is not seen. A move may have a
weight, such as what it does to a counter; weights of successive moves are combined.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar


class Weight(Protocol):
    """What a move does besides its change of state."""

    def then(self, other: Self) -> Self:
        """This, and then another."""


class Unweighted(NamedTuple):
    """The weight of moves that only change the state."""

    def then(self, other: Unweighted) -> Unweighted:
        """The same."""
        return other


UNWEIGHTED: Final = Unweighted()
S = TypeVar("S", bound=Hashable)
W = TypeVar("W", bound=Weight)


class Automaton(Generic[S, W]):
    """States by number; `moves` has for each symbol the weights and targets, with the rules."""

    def __init__(self) -> None:
        self.moves: list[dict[S | None, dict[tuple[W, int], tuple[str, ...]]]] = []

    def new(self) -> int:
        """Add a state without moves."""
        self.moves.append({})
        return len(self.moves) - 1

    def add(
        self, start: int, symbol: S | None, weight: W, target: int, rules: tuple[str, ...] = ()
    ) -> None:
        """Add a move by these rules of the model."""
        self.moves[start].setdefault(symbol, {}).setdefault((weight, target), rules)

    def seen_as(self, look: Callable[[S], S | None]) -> Automaton[S, W]:
        """The automaton for an observer that cannot distinguish, or see, some symbols."""
        found: Automaton[S, W] = Automaton()
        for moves in self.moves:
            state = found.moves[found.new()]
            for symbol, targets in moves.items():
                state.setdefault(None if symbol is None else look(symbol), {}).update(targets)
        return found


class Reached(NamedTuple, Generic[W]):
    """The states after a symbol.

    Args:
        weight: of the move.
        then: the sets of states after further moves that are not seen, each with their weight.
        about: what the user's `describe` returns for the targets of the move.

    """

    weight: W
    then: tuple[tuple[W, int], ...]
    about: Any


class Subsets(Generic[S, W]):
    """Sets of states, by number; each is made once.

    Args:
        automaton: the automaton.
        unit: the weight that changes nothing.
        within: which combined weights are followed.
        describe: a function of the states that a move leads to, for `Reached.about`.

    """

    def __init__(
        self,
        automaton: Automaton[S, W],
        unit: W,
        within: Callable[[W], bool] = lambda _: True,
        describe: Callable[[frozenset[int]], Any] = len,
    ) -> None:
        self._moves = automaton.moves
        self._unit, self._within, self._describe = unit, within, describe
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._steps: dict[tuple[int, Hashable], tuple[Reached[W], ...]] = {}
        self._packed: dict[int, bytes] = {}
        self.all = self.number(frozenset(range(len(automaton.moves))))

    def step(
        self, number: int, key: Hashable, matches: Callable[[S], bool]
    ) -> tuple[Reached[W], ...]:
        """The states after a symbol that `matches`; `key` stands for `matches`."""
        if (number, key) not in self._steps:
            targets: dict[W, set[int]] = {}
            for state in self._sets[number]:
                for symbol, moves in self._moves[state].items():
                    if symbol is not None and matches(symbol):
                        for weight, target in moves:
                            targets.setdefault(weight, set()).add(target)
            self._steps[number, key] = tuple(
                Reached(weight, self.closed(each), self._describe(frozenset(each)))
                for weight, each in targets.items()
            )
        return self._steps[number, key]

    def closed(self, states: Iterable[int]) -> tuple[tuple[W, int], ...]:
        """The sets of states that are reached from states by moves that are not seen."""
        seen = {(self._unit, state) for state in states}
        todo = list(seen)
        while todo:
            before, state = todo.pop()
            for weight, target in self._moves[state].get(None, ()):
                after = before.then(weight)
                if (after, target) not in seen and self._within(after):
                    seen.add((after, target))
                    todo.append((after, target))
        sets: dict[W, set[int]] = {}
        for weight, state in seen:
            sets.setdefault(weight, set()).add(state)
        return tuple((weight, self.number(frozenset(each))) for weight, each in sets.items())

    def next(self, number: int) -> dict[S, dict[tuple[W, int], tuple[str, ...]]]:
        """The symbols that may be seen next, with the moves of each."""
        found: dict[S, dict[tuple[W, int], tuple[str, ...]]] = {}
        for state in self._sets[number]:
            for symbol, moves in self._moves[state].items():
                if symbol is not None:
                    found.setdefault(symbol, {}).update(moves)
        return found

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
        """A set as a bit for each state: its number is another in every process."""
        if number not in self._packed:
            bits = bytearray(len(self._moves) // 8 + 1)
            for state in self._sets[number]:
                bits[state // 8] |= 1 << state % 8
            self._packed[number] = zlib.compress(bits)
        return self._packed[number]

    def unpacked(self, packed: bytes) -> int:
        """The number of a set that `packed` returned in another process."""
        bits = zlib.decompress(packed)
        states = range(len(self._moves))
        return self.number(frozenset(s for s in states if bits[s // 8] >> s % 8 & 1))
