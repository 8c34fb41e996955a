"""The progress of a run: what shows it, and the time of each phase."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Shows the progress; `total` is None where it is unknown."""

    def __call__(self, what: str, total: int | None, /) -> Callable[[int], None]:
        """Begin a phase; the returned function receives how much was done since its last call."""
        ...


def silent(_what: str, _total: int | None) -> Callable[[int], None]:
    """A progress that shows nothing."""
    return lambda _done: None


class Timed:
    """A progress that passes each phase on and measures it; a phase ends the one before.

    `seconds` has each phase by its name, in the order in which they began; phases of one name
    count together.
    """

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._now = ""
        self._since = 0.0

    def __call__(self, what: str, total: int | None, /) -> Callable[[int], None]:
        """Begin a phase."""
        self.end()
        self._now = what
        return self._progress(what, total)

    def end(self) -> None:
        """End the phase that is under way, if one is."""
        now = time.monotonic()
        if self._now:
            self.seconds[self._now] = self.seconds.get(self._now, 0.0) + now - self._since
        self._now, self._since = "", now
