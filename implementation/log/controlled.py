"""A log whose appends complete or fail on demand, for tests of deferred responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from groupcheck.implementation.log.records import Batch, Completed, Log
from groupcheck.model.vocabulary import ErrorCode

# The errors of an append that come after the leader's append. Source: 2.7 DelayedProduce.scala:65.
LATE_ERRORS: Final = frozenset(
    {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
)


class ControlledLog:
    """A log whose appends can be held or made to fail.

    A held append is in the underlying log at once; only its completion is delayed. An append that
    fails leaves nothing in the log, except with one of `LATE_ERRORS`. Its completion is delayed
    like others, or not.

    Args:
        log: The underlying log.
        excludes_markers: Whether markers are neither held nor fail, as where the coordinator does
            not append them.
        fails_at_once: Whether an append that fails does so before `append` returns, even while
            others are held. Then no error is late.

    """

    __slots__ = ("_error", "_excludes_markers", "_failing", "_fails_at_once", "_held", "_log")

    def __init__(
        self, log: Log, *, excludes_markers: bool = False, fails_at_once: bool = False
    ) -> None:
        self._log = log
        self._fails_at_once = fails_at_once
        self._excludes_markers = excludes_markers
        self._failing = 0
        self._error = ErrorCode.NONE
        # None while nothing is held.
        self._held: list[Callable[[], None]] | None = None

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch, unless it has to fail; `completed` may be called only after a release."""
        if batch.marker is not None and self._excludes_markers:
            self._log.append(partition, batch, completed)
        elif self._failing:
            self._failing -= 1
            if self._fails_at_once:
                completed(self._error)
                return
            fail = partial(self._complete, completed, self._error)
            if self._error in LATE_ERRORS:
                self._log.append(partition, batch, lambda _error: fail())
            else:
                fail()
        else:
            self._log.append(partition, batch, partial(self._complete, completed))

    def read(self, partition: int) -> Iterable[Batch]:
        """All batches of a partition, held ones included."""
        return self._log.read(partition)

    def fail(self, number: int, error: ErrorCode) -> None:
        """Let the next `number` appends fail with this error; replaces an earlier setting."""
        self._failing, self._error = number, error

    def hold(self) -> None:
        """Hold the completion of all appends from now on."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Complete the held appends in the order of the log, and later ones at once."""
        held, self._held = self._held, None
        for complete in held or ():
            complete()

    def discard_held(self) -> None:
        """Drop the held completions: the coordinator has crashed."""
        if self._held is not None:
            self._held = []

    def _complete(self, completed: Completed, error: ErrorCode) -> None:
        if self._held is None:
            completed(error)
        else:
            self._held.append(partial(completed, error))
