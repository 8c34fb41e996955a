"""Measures the time of each phase of a run, and passes its progress on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupcheck.properties.verify import Progress


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
