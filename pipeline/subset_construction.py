"""Subset construction: the states that an automaton may be in after the symbols seen so far.

The symbols are those of the user. A move with the symbol None is not seen. A move may change a
counter; the changes of successive moves are combined.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar


class Count(NamedTuple):
    """What happens to a counter: it restarts at 0 or becomes `unknown`, and then it grows."""

    restarts: bool = False
    grows: int = 0
    unknown: bool = False

    def of(self, counter: int | None) -> int | None:
        """The counter after it; None if unknown."""
        before = 0 if self.restarts else counter
        return None if self.unknown or before is None else before + self.grows

    def then(self, other: Count) -> Count:
        """This, and then another."""
        if other.restarts or other.unknown:
            return other
        return self._replace(grows=self.grows + other.grows)


SAME: Final = Count()
MOST_GROWS: Final = 1  # without a limit, moves that are not seen would count on for ever
S = TypeVar("S", bound=Hashable)
Moves = dict[tuple[Count, int], tuple[str, ...]]  # the counts and targets, with the rules


class Automaton(Generic[S]):
    """States by number; `moves` has the moves of each state, by symbol."""

    def __init__(self) -> None:
        self.moves: list[dict[S | None, Moves]] = []

    def new(self) -> int:
        """Add a state without moves."""
        self.moves.append({})
        return len(self.moves) - 1

    def add(
        self,
        start: int,
        symbol: S | None,
        target: int,
        count: Count = SAME,
        rules: tuple[str, ...] = (),
    ) -> None:
        """Add a move by these rules of the model."""
        self.moves[start].setdefault(symbol, {}).setdefault((count, target), rules)

    def seen_as(self, look: Callable[[S], S | None]) -> Automaton[S]:
        """The automaton for an observer that cannot distinguish, or see, some symbols."""
        found: Automaton[S] = Automaton()
        for moves in self.moves:
            state = found.moves[found.new()]
            for symbol, targets in moves.items():
                state.setdefault(None if symbol is None else look(symbol), {}).update(targets)
        return found


class Reached(NamedTuple):
    """The states after a symbol.

    Args:
        change: of the counter, by the move.
        then: the sets of states after further moves that are not seen, each with their change.
        about: what the user's `describe` returns for the targets of the move.

    """

    change: Count
    then: tuple[tuple[Count, int], ...]
    about: Any


class Subsets(Generic[S]):
    """Sets of states, by number; each is made once.

    Args:
        automaton: the automaton.
        describe: a function of the states that a move leads to, for `Reached.about`.

    """

    def __init__(
        self,
        automaton: Automaton[S],
        describe: Callable[[frozenset[int]], Any] = len,
    ) -> None:
        self._moves = automaton.moves
        self._describe = describe
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._steps: dict[tuple[int, Hashable], tuple[Reached, ...]] = {}
        self._packed: dict[int, bytes] = {}
        self.all = self.number(frozenset(range(len(automaton.moves))))

    def step(self, number: int, key: Hashable, matches: Callable[[S], bool]) -> tuple[Reached, ...]:
        """The states after a symbol that `matches`; `key` stands for `matches`."""
        if (number, key) not in self._steps:
            targets: dict[Count, set[int]] = {}
            for state in self._sets[number]:
                for symbol, moves in self._moves[state].items():
                    if symbol is not None and matches(symbol):
                        for count, target in moves:
                            targets.setdefault(count, set()).add(target)
            self._steps[number, key] = tuple(
                Reached(count, self.closed(each), self._describe(frozenset(each)))
                for count, each in targets.items()
            )
        return self._steps[number, key]

    def closed(self, states: Iterable[int]) -> tuple[tuple[Count, int], ...]:
        """The sets of states that are reached from states by moves that are not seen."""
        seen = {(SAME, state) for state in states}
        todo = list(seen)
        while todo:
            before, state = todo.pop()
            for count, target in self._moves[state].get(None, ()):
                after = before.then(count)
                if (after, target) not in seen and after.grows <= MOST_GROWS:
                    seen.add((after, target))
                    todo.append((after, target))
        sets: dict[Count, set[int]] = {}
        for count, state in seen:
            sets.setdefault(count, set()).add(state)
        return tuple((count, self.number(frozenset(each))) for count, each in sets.items())

    def next(self, number: int) -> dict[S, Moves]:
        """The symbols that may be seen next, with the moves of each."""
        found: dict[S, Moves] = {}
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
