"""Columns: states as words of 64 bits, and actions that are run once for many of them.

Each field of a state, also of the records in it, is a column: some bits of the word, which have the
number of a value. An action is run in one state of those that have the same values in the columns
that it reads; NumPy applies its outcomes to the words of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.noting import UnfitError, Unread, noting, value
from groupcheck.model.engine.specification import AnyOutcome, State

BITS: Final = 64
MANY: Final = 16  # values of a column: not every one is looked for

Words = NDArray[np.uint64]
Act = Callable[[State], Iterable[AnyOutcome]]


class Effect(NamedTuple):
    """One outcome: the new numbers of columns, the responses, and the rules applied."""

    numbers: dict[int, int]
    responses: tuple[Any, ...]
    applied: tuple[str, ...]


class WiderError(Exception):
    """A column needs more bits."""


class _Record(NamedTuple):
    """A named tuple, or a tuple of named tuples: a part is a record or the number of a column."""

    kind: type
    parts: tuple[Any, ...]


class Columns:
    """The columns of a state: the numbers of their values, and their bits in a word."""

    def __init__(self, initial: State) -> None:
        self.numbers: list[dict[Any, int]] = []
        self._shape = self._record(initial)
        self.place()

    def _record(self, part: Any) -> Any:  # noqa: ANN401 - of any field
        if _is_named(part) or (type(part) is tuple and part and all(map(_is_named, part))):
            return _Record(type(part), tuple(map(self._record, part)))
        self.numbers.append({part: 0})
        return len(self.numbers) - 1

    def place(self) -> None:
        """Give each column the bits that its values need."""
        widths = [(len(numbers) - 1).bit_length() for numbers in self.numbers]
        *self.shifts, total = accumulate(widths, initial=0)
        if total > BITS:
            msg = f"a state has more than {BITS} bits"
            raise UnfitError(msg)
        places = zip(widths, self.shifts, strict=True)
        self.masks = [(1 << width) - 1 << shift for width, shift in places]

    def placed(self, words: Words, masks: Sequence[int], shifts: Sequence[int]) -> Words:
        """Words whose columns had these places, with the present ones; their order remains."""
        placed = np.zeros_like(words)
        for mask, before, now in zip(masks, shifts, self.shifts, strict=True):
            placed |= (words & np.uint64(mask)) >> np.uint64(before) << np.uint64(now)
        return placed

    def after(self, words: Words, effect: Effect) -> Words:
        """The words of the next states."""
        keep, new = 2**BITS - 1, 0
        for column, number in effect.numbers.items():
            keep &= ~self.masks[column]
            new |= number << self.shifts[column]
        return words & np.uint64(keep) | np.uint64(new)

    def run(self, act: Act, word: int) -> tuple[dict[int, int], list[Effect]]:
        """Run an action in a state: the numbers of the columns that it reads, and its outcomes.

        Raises:
            UnfitError: the next state has other columns.
        """
        numbers: dict[int, int] = {}

        def read(column: int) -> Any:  # noqa: ANN401 - of any field
            if column not in numbers:
                numbers[column] = (word & self.masks[column]) >> self.shifts[column]
            return list(self.numbers[column])[numbers[column]]

        unread = [Unread(partial(read, column)) for column in range(len(self.numbers))]
        outcomes = [
            Effect(self._changes(unread, state), tuple(sorted(responses)), applied)
            for state, responses, applied, *_ in act(_noting(self._shape, unread))
        ]
        return numbers, outcomes

    def _changes(self, unread: list[Unread], state: State) -> dict[int, int]:
        """The numbers of the columns that are not as they were."""
        changes = {}
        for column, part in _parts(self._shape, state):
            if part is not unread[column]:
                numbers = self.numbers[column]
                changes[column] = numbers.setdefault(value(part), len(numbers))
        return changes

    def check(self) -> None:
        """Raise an error if a column needs more bits.

        Raises:
            WiderError: it does.
        """
        for numbers, mask, shift in zip(self.numbers, self.masks, self.shifts, strict=True):
            if len(numbers) - 1 > mask >> shift:
                raise WiderError


def _is_named(part: object) -> bool:
    return isinstance(part, tuple) and hasattr(part, "_fields")


def _noting(shape: Any, unread: list[Unread]) -> Any:  # noqa: ANN401 - a record or a field
    if not isinstance(shape, _Record):
        return unread[shape]
    return noting(shape.kind, (_noting(part, unread) for part in shape.parts))


def _parts(shape: Any, record: Any) -> Iterator[tuple[int, Any]]:  # noqa: ANN401
    if not isinstance(shape, _Record):
        yield shape, record
        return
    kind: Any = shape.kind
    if not isinstance(record, kind) or len(record) != len(shape.parts):
        msg = "a record becomes another value, or a tuple of records changes its length"
        raise UnfitError(msg)
    for part, each in zip(shape.parts, tuple.__iter__(record), strict=True):
        yield from _parts(part, each)


class _Case:
    """States that are alike to an action so far; it reads a column next, or has these outcomes."""

    def __init__(self) -> None:
        self.column: int | None = None
        self.cases: dict[int, _Case] = {}  # by the number in the column
        self.outcomes: list[Effect] | None = None


class Learned:
    """What an action reads and does, in the cases that have occurred."""

    def __init__(self, columns: Columns, act: Act) -> None:
        self._columns = columns
        self._act = act
        self._all = _Case()

    def outcomes(self, words: Words) -> Iterator[tuple[list[Effect], Words]]:
        """The outcomes in each case that has any, and its words.

        Raises:
            UnfitError: the action depends on more than the state, or the next state does not fit.
            WiderError: the action was run, and a column needs more bits.
        """
        waiting = [(self._all, words)]
        while waiting:
            case, some = waiting.pop()
            if case.outcomes is None and case.column is None:
                self._learn(int(some[0]))
            if case.outcomes is None:
                waiting += self._divided(case, some)
            elif case.outcomes:
                yield case.outcomes, some

    def _learn(self, word: int) -> None:
        read, outcomes = self._columns.run(self._act, word)
        case = self._all
        for column, number in read.items():
            if case.column not in (None, column):
                msg = "what an action reads depends on more than the state"
                raise UnfitError(msg)
            case.column = column
            case = case.cases.setdefault(number, _Case())
        case.outcomes = outcomes
        self._columns.check()

    def _divided(self, case: _Case, words: Words) -> Iterator[tuple[_Case, Words]]:
        column = case.column
        assert column is not None  # noqa: S101 - for the type
        here = words & np.uint64(self._columns.masks[column])
        shift = self._columns.shifts[column]
        present: Iterable[int] = range(len(self._columns.numbers[column]))
        if len(self._columns.numbers[column]) > MANY:
            counts = np.bincount((here >> np.uint64(shift)).astype(np.int64))
            present = np.flatnonzero(counts).tolist()
        for number in present:
            some = words[here == np.uint64(number << shift)]
            if len(some):
                yield case.cases.setdefault(number, _Case()), some
