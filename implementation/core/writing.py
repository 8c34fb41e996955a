"""Appends where answers wait: what is written takes effect, and is committed later or not at all.

An append that fails at once leaves all as it was, what waits too. If one fails that has taken
effect already, more may have been made on top of it: what is done then is decided elsewhere
(`on_failure`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from groupcheck.implementation.core.committed import Committed, GroupOffset
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.waiting import Waiter, Waiting, Write
from groupcheck.implementation.log.log import Completed, Log
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode


class Writing:
    """The way from the coordinator to its log."""

    __slots__ = ("_committed", "_groups", "_log", "_waiting", "on_failure")

    def __init__(self, log: Log, groups: Groups, waiting: Waiting, committed: Committed) -> None:
        self._log = log
        self._groups = groups
        self._waiting = waiting
        self._committed = committed
        # What is done if an append to a partition fails that has taken effect.
        self.on_failure: Callable[[int], object] = groups.forget_unwritten

    def append(
        self, partition: int, batch: Batch, completed: Completed, ends: Iterable[GroupOffset]
    ) -> None:
        """Append; `completed` is told at once that it is done, or why it cannot be."""
        completed(self._written(partition, batch, ends).error or ErrorCode.NONE)

    def append_and_wait(
        self,
        partition: int,
        batch: Batch,
        completed: Completed,
        lost: Callable[[ErrorCode], object],
    ) -> None:
        """Append; `completed` is told when it is committed, or at once why it cannot be."""
        write = self._written(partition, batch, ())
        if write.error is None:
            released = partial(completed, ErrorCode.NONE)
            self._waiting.wait(partition, Waiter(released, lost))
        else:
            completed(write.error)

    def _written(self, partition: int, batch: Batch, ends: Iterable[GroupOffset]) -> Write:
        """An append that is on its way, or of which it is known how it went."""
        write = Write()

        def settled(error: ErrorCode) -> None:
            write.error = error
            if write.taken_effect:
                self._settle(partition, error)

        self._log.append(partition, batch, settled)
        if write.error:
            self._groups.forget_unwritten(partition)
        else:
            shown = self._groups.show(partition)
            if write.error is None:
                write.taken_effect = True
                self._waiting.write(partition, write)
                self._committed.note(write, shown, batch, ends)
        return write

    def _settle(self, partition: int, error: ErrorCode) -> None:
        """An append that has taken effect is committed, or has failed; be it lost meanwhile."""
        if error:
            self.on_failure(partition)
        else:
            self._committed.forget(self._waiting.release(partition))
