"""Appending to the log as a step of its own, complete at once or when told. No record format here.

In Kafka an append completes when enough replicas have it. Until then the coordinator goes on
with other requests, and what it does at completion must bear with whatever they changed.
"""

from __future__ import annotations

from collections.abc import Callable


class Appends:
    """Appends in the order of the log, and what each does on completion."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        # None while appends complete at once.
        self._held: list[Callable[[], None]] | None = None

    def append(self, complete: Callable[[], None]) -> None:
        """Append; `complete` is called when the append has completed, perhaps before returning."""
        if self._held is None:
            complete()
        else:
            self._held.append(complete)

    def hold(self) -> None:
        """Let appends stay incomplete from now on."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Complete what was held, in the order of the log, and let appends complete at once."""
        held, self._held = self._held, None
        for complete in held or ():
            complete()
