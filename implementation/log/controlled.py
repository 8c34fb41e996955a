"""A log whose appends complete or fail when told, for tests of what waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from groupcheck.implementation.log.log import Completed, Log
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode


class ControlledLog:
    """A log whose appends can be held back and told to fail, for tests of what waits for them.

    Held appends are in the log below at once: only those who wait for them are told later. One
    that is told to fail leaves nothing there, and waits its turn like others, or not.

    Args:
        log: Where appends go.
        spare_markers: Whether markers neither wait nor fail, as where it is not the coordinator
            that writes them.
        fails_at_once: Whether one that is told to fail does so before `append` returns, though
            others are held.

    """

    __slots__ = ("_error", "_failing", "_fails_at_once", "_held", "_log", "_spare_markers")

    def __init__(
        self, log: Log, *, spare_markers: bool = False, fails_at_once: bool = False
    ) -> None:
        self._log = log
        self._fails_at_once = fails_at_once
        self._spare_markers = spare_markers
        self._failing = 0
        self._error = ErrorCode.NONE
        # None while nobody has to wait.
        self._held: list[Callable[[], None]] | None = None

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch, unless it is to fail; `completed` may be told no sooner than released."""
        if batch.marker is not None and self._spare_markers:
            self._log.append(partition, batch, completed)
        elif self._failing:
            self._failing -= 1
            tell = completed if self._fails_at_once else partial(self._complete, completed)
            tell(self._error)
        else:
            self._log.append(partition, batch, partial(self._complete, completed))

    def read(self, partition: int) -> Iterable[Batch]:
        """Every batch of a partition, those held among them."""
        return self._log.read(partition)

    def fail(self, number: int, error: ErrorCode) -> None:
        """Let the next so many appends fail with this error, instead of any told before."""
        self._failing, self._error = number, error

    def hold(self) -> None:
        """Let whoever appends from now on wait."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Tell those who wait, in the order of the log, and later ones at once."""
        held, self._held = self._held, None
        for tell in held or ():
            tell()

    def forget(self) -> None:
        """Tell nobody of what is held: whoever waits has crashed."""
        if self._held is not None:
            self._held = []

    def _complete(self, completed: Completed, error: ErrorCode) -> None:
        if self._held is None:
            completed(error)
        else:
            self._held.append(partial(completed, error))
