"""What the coordinator asks of a log. Where it is kept, and in which bytes, is not decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode

Completed = Callable[[ErrorCode], None]


class Log(Protocol):
    """The partitions of `__consumer_offsets` that this coordinator leads."""

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch; `completed` is told how it went, perhaps before this returns.

        An append that fails leaves nothing in the log. Appends to one partition complete in
        their order, but that one may fail before this returns. `completed` is called on the
        thread that the coordinator runs on.
        """
        ...

    def read(self, partition: int) -> Iterable[Batch]:
        """Every batch of a partition that still matters, in the order of the log."""
        ...
