"""How tests save time: expensive parameters are marked, and shared exploration is not traced.

Coverage is not measured while `spaces.py` explores: it would take twice as long, and the thousandth
state runs the same lines as the tenth.
This module imports nothing whose coverage is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def slow_if(slow: Callable[[T], bool], values: Iterable[T]) -> list[Any]:
    """Parameters of a test; those that are expensive have the mark `slow`."""
    return exhaustive_if(lambda _value: False, values, slow)


def exhaustive_if(
    exhaustive: Callable[[T], bool],
    values: Iterable[T],
    slow: Callable[[T], bool] = lambda _value: False,
) -> list[Any]:
    """Parameters of a test; the largest have the mark `exhaustive`, others may have `slow`."""

    def marked(value: T) -> object:
        if exhaustive(value):
            return pytest.param(value, marks=pytest.mark.exhaustive)
        return pytest.param(value, marks=pytest.mark.slow) if slow(value) else value

    return list(map(marked, values))


def few_or_many(few: int, many: int) -> list[Any]:
    """How often a test tries something at random: few times by default, many if it may be slow."""
    return [few, pytest.param(many, marks=pytest.mark.slow)]


@contextmanager
def untraced() -> Iterator[None]:
    """Run without the trace function, and put it back."""
    tracing = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracing)
