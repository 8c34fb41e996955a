"""How a labelled edge came out: a letter for each, so that a whole space is one string."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """How one labelled edge came out; its letter is what is kept of it.

    `ANSWERED` and `HAPPENED` were shown: a request, and time or a fault. `NOT_CHOSEN` is a branch
    of a fork whose other branches the port took; `AMBIGUOUS` was tried, but what was seen fits more
    than one branch; `DIVERGED` was answered unlawfully; `LEFT_OUT` is an input that the port does
    not support; `NOT_ASKED` is none of those that were to be tried.
    """

    ANSWERED = "a"
    HAPPENED = "h"
    DIVERGED = "d"
    NOT_CHOSEN = "n"
    AMBIGUOUS = "m"
    LEFT_OUT = "l"
    UNTRIED = "u"
    NOT_ASKED = "-"


SHOWN: Final = frozenset({Kind.ANSWERED, Kind.HAPPENED})

# What is said of an edge that came out otherwise in another run: the first that it was in any.
_ORDER: Final = {kind.value: place for place, kind in enumerate(Kind)}


def united(several: Iterable[str]) -> str:
    """The kinds of the same edges in several runs, put together: shown is what was shown in any."""
    return "".join(min(each, key=_ORDER.__getitem__) for each in zip(*several, strict=True))
