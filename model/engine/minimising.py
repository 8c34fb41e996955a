"""Trace minimisation: removes steps in halves, quarters and one by one, until each is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from groupcheck.model.engine.specification import Input

Found = TypeVar("Found")
Steps = tuple[Input, ...]


def minimised(
    found: Found,
    steps_of: Callable[[Found], Steps],
    trial: Callable[[Iterator[Steps]], Found | None],
) -> Found:
    """The finding without steps that it does not need.

    `trial` runs the candidates in turn, and returns the first that is such a finding.
    """
    size = len(steps_of(found)) // 2
    while size:
        smaller = trial(without(steps_of(found), size))
        if smaller is None:
            size //= 2
        else:
            found = smaller
            size = min(size, len(steps_of(found)) // 2)
    return found


def without(steps: Steps, size: int) -> Iterator[Steps]:
    """The steps without each run of `size` of them; the last step stays."""
    for start in range(0, len(steps) - 1, max(size // 2, 1)):
        yield steps[:start] + steps[min(start + size, len(steps) - 1) :]
