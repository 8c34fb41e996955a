"""Subset construction: where an automaton may be after what was seen of it, made as it is needed.

What the labels mean is not known here. Steps that are not seen have the label None.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

L = TypeVar("L", bound=Hashable)
NOWHERE: Final = -1


class Automaton(Generic[L]):
    """States by number, and for each its moves: label, target and the rules applied on the way."""

    def __init__(self) -> None:
        self.moves: list[dict[L | None, dict[int, tuple[str, ...]]]] = []

    def new(self) -> int:
        """Another state, without moves."""
        self.moves.append({})
        return len(self.moves) - 1

    def add(
        self, start: int, labels: Iterable[L | None], target: int, rules: tuple[str, ...]
    ) -> None:
        """A way along these labels, through states of its own."""
        seen = [label for label in labels if label is not None]
        for label in seen[:-1]:
            between = self.new()
            self.moves[start].setdefault(label, {})[between] = rules
            start = between
        self.moves[start].setdefault(seen[-1] if seen else None, {}).setdefault(target, rules)

    def seen_as(self, look: Callable[[L], L | None]) -> Automaton[L]:
        """The same, of which less is seen: what a label looks like, None if it is not seen."""
        found: Automaton[L] = Automaton()
        for moves in self.moves:
            state = found.moves[found.new()]
            for label, targets in moves.items():
                state.setdefault(None if label is None else look(label), {}).update(targets)
        return found


class Subsets(Generic[L]):
    """Sets of states, by number; each is made once."""

    def __init__(self, automaton: Automaton[L], initial: int) -> None:
        self._moves = automaton.moves
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._steps: dict[tuple[int, frozenset[L]], int] = {}
        self._told: dict[int, bytes] = {}
        self.initial = self._number({initial})
        self.anywhere = self._number(range(len(automaton.moves)))

    def step(self, number: int, labels: frozenset[L]) -> int:
        """Where one of these labels leads to from there; `NOWHERE` if none of them can be seen."""
        found = self._steps.get((number, labels))
        if found is None:
            targets = {
                target
                for state in self._sets[number]
                for label in labels
                for target in self._moves[state].get(label, ())
            }
            found = self._steps[number, labels] = self._number(targets) if targets else NOWHERE
        return found

    def next(self, number: int) -> dict[L, set[str]]:
        """What can be seen next there, each with the rules by which it may be."""
        found: dict[L, set[str]] = {}
        for state in self._sets[number]:
            for label, targets in self._moves[state].items():
                if label is not None:
                    found.setdefault(label, set()).update(*targets.values())
        return found

    def size(self, number: int) -> int:
        """How many states it has."""
        return len(self._sets[number])

    def told(self, number: int) -> bytes:
        """The set itself, a bit for each state: its number is another in every process."""
        if number not in self._told:
            bits = bytearray(len(self._moves) // 8 + 1)
            for state in self._sets[number]:
                bits[state // 8] |= 1 << state % 8
            self._told[number] = zlib.compress(bits)
        return self._told[number]

    def known(self, told: bytes) -> int:
        """The number of a set here that was told elsewhere."""
        bits = zlib.decompress(told)
        return self._number(s for s in range(len(self._moves)) if bits[s // 8] >> s % 8 & 1)

    def _number(self, states: Iterable[int]) -> int:
        """The number of those states, and of all that can be reached from them unseen."""
        found = set(states)
        ahead = list(found)
        while ahead:
            for target in self._moves[ahead.pop()].get(None, ()):
                if target not in found:
                    found.add(target)
                    ahead.append(target)
        closed = frozenset(found)
        if closed not in self._numbers:
            self._numbers[closed] = len(self._sets)
            self._sets.append(closed)
        return self._numbers[closed]
