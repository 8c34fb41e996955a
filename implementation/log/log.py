"""The interface of a log, as the coordinator uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode

Completed = Callable[[ErrorCode], None]


class Log(Protocol):
    """The partitions of `__consumer_offsets` that this coordinator leads."""

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch; `completed` is called with the result, perhaps before this returns.

        A failed append leaves nothing in the log. Appends to one partition complete in their order,
        except that one may fail before this returns. `completed` is called on the coordinator's
        thread.
        """
        ...

    def read(self, partition: int) -> Iterable[Batch]:
        """All batches of a partition that compaction keeps, in the order of the log."""
        ...
