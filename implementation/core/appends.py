"""Appends where responses are deferred: they take effect at once and are committed later.

An append that fails at once leaves no change. If one fails that has taken effect, later appends may
depend on it: `on_failure` handles that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from groupcheck.implementation.core.deferred import Append, Deferred, DeferredResponses
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.snapshots import CommittedSnapshots, GroupOffset
from groupcheck.implementation.log.log import Completed, Log
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode


class Appends:
    """Appends to the log for the coordinator."""

    __slots__ = ("_deferred", "_groups", "_log", "_snapshots", "on_failure")

    def __init__(
        self, log: Log, groups: Groups, deferred: DeferredResponses, snapshots: CommittedSnapshots
    ) -> None:
        self._log = log
        self._groups = groups
        self._deferred = deferred
        self._snapshots = snapshots
        # Called with the partition when an append fails that has taken effect.
        self.on_failure: Callable[[int], object] = groups.discard_unpersisted

    def append(
        self, partition: int, batch: Batch, completed: Completed, ends: Iterable[GroupOffset]
    ) -> None:
        """Append, and call `completed` at once, with the error if the append failed at once."""
        completed(self._append(partition, batch, ends).error or ErrorCode.NONE)

    def append_and_wait(
        self,
        partition: int,
        batch: Batch,
        completed: Completed,
        lost: Callable[[ErrorCode], object],
    ) -> None:
        """Append, and call `completed` when it is committed, or at once if it failed at once."""
        append = self._append(partition, batch, ())
        if append.error is None:
            released = partial(completed, ErrorCode.NONE)
            self._deferred.wait(partition, Deferred(released, lost))
        else:
            completed(append.error)

    def _append(self, partition: int, batch: Batch, ends: Iterable[GroupOffset]) -> Append:
        """Append a batch; its error is None while the result is not known."""
        append = Append()

        def appended(error: ErrorCode) -> None:
            append.error = error
            if append.taken_effect:
                self._complete(partition, error)

        self._log.append(partition, batch, appended)
        if append.error:
            self._groups.discard_unpersisted(partition)
        else:
            persisted = self._groups.mark_persisted(partition)
            if append.error is None:
                append.taken_effect = True
                self._deferred.add_append(partition, append)
                self._snapshots.note(append, persisted, batch, ends)
        return append

    def _complete(self, partition: int, error: ErrorCode) -> None:
        """Release what waits for the append, or handle its failure."""
        if error:
            self.on_failure(partition)
        else:
            self._snapshots.forget(self._deferred.release(partition))
