"""The outcome of each transition: one letter each, so that a model instance is one string."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """The outcome of one transition, stored as its letter.

    `ANSWERED` (a request) and `HAPPENED` (time or a fault) are covered. `NOT_CHOSEN`: the port took
    other branches of the same input, or answered it so late that a timeout may have passed first,
    or every path leads through such a branch. `AMBIGUOUS`: tried, but the observation fits several
    branches. `DIVERGED`: the port's answer was not allowed. `UNSUPPORTED`: the port has no such
    input. `UNTRIED`: not reached. `NOT_ASKED`: not among those to try.
    """

    ANSWERED = "a"
    HAPPENED = "h"
    DIVERGED = "d"
    NOT_CHOSEN = "n"
    AMBIGUOUS = "m"
    UNSUPPORTED = "l"
    UNTRIED = "u"
    NOT_ASKED = "-"


SHOWN: Final = frozenset({Kind.ANSWERED, Kind.HAPPENED})

# Over several runs a transition has the first of its outcomes in this order.
_ORDER: Final = {kind.value: place for place, kind in enumerate(Kind)}


def united(several: Iterable[str]) -> str:
    """Merge the outcomes of the same transitions in several runs: covered in any is covered."""
    return "".join(min(each, key=_ORDER.__getitem__) for each in zip(*several, strict=True))
