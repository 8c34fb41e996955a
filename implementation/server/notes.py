"""Messages for the operator while the server runs: one line each, with a limit on repetition.

They never contain bytes that a client sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

QUIET_S: Final = 10.0
LONGEST: Final = 300


class Notes:
    """Writes lines for the operator.

    Args:
        say: writes a line.
        clock: the time in seconds.

    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def note(self, kind: str, what: str = "") -> None:
        """Write a line, unless there was one of its kind a moment ago: those are counted."""
        now = self._clock()
        if now < self._quiet_until.get(kind, 0):
            self._unsaid[kind] = self._unsaid.get(kind, 0) + 1
            return
        self._quiet_until[kind] = now + QUIET_S
        more = self._unsaid.pop(kind, 0)
        line = f"{kind}: {what}" if what else kind
        self._say(line[:LONGEST] + (f" (and {more} times since the last line)" if more else ""))
