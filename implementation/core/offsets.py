"""One group's offsets: committed, on their way, in open transactions. Who may is not said here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groupcheck.implementation.core.config import Choose
from groupcheck.implementation.log.records import OffsetCommitValue

TopicPartition = tuple[str, int]
Offsets = tuple[tuple[TopicPartition, OffsetCommitValue], ...]


class Offset(NamedTuple):
    """A committed offset, flat because there are many; `position` is where in the log it stands."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    position: int


class Staged(NamedTuple):
    """An offset in an open transaction; without a `position` it is not known to be in the log."""

    value: OffsetCommitValue
    position: int | None


class NotAppendedError(Exception):
    """A transaction has ended of which something is not in the log."""


class GroupOffsets:
    """The offsets of one group."""

    __slots__ = ("committed", "pending", "transactions")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Offset] = {}
        # The latest commit of each partition that is not known to be complete.
        self.pending: dict[TopicPartition, OffsetCommitValue] = {}
        # By producer what it has committed since its last marker.
        self.transactions: dict[int, dict[TopicPartition, Staged]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing of any kind."""
        return not (self.committed or self.pending or self.transactions)

    def in_transaction(self, partition: TopicPartition) -> bool:
        """Whether an open transaction has an offset of that partition."""
        return any(partition in staged for staged in self.transactions.values())

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether what can be read of a partition may soon be something else."""
        return partition in self.pending or self.in_transaction(partition)

    def put(self, partition: TopicPartition, value: OffsetCommitValue, position: int) -> None:
        """Make an offset readable, unless what can be read stands later in the log."""
        known = self.committed.get(partition)
        if known is None or known.position < position:
            self.committed[partition] = Offset(*value, position)

    # Commits

    def set(self, offsets: Offsets, position: int) -> None:
        """Make appended offsets readable, those of one partition in their order."""
        for partition, value in offsets:
            self.committed[partition] = Offset(*value, position)

    def prepare(self, offsets: Offsets) -> None:
        """Note that these offsets are about to be appended."""
        self.pending.update(offsets)

    def complete(self, offsets: Offsets, position: int) -> None:
        """Make appended offsets readable; to be called in the order of the log."""
        for partition, value in offsets:
            staged = self.pending.get(partition)
            if staged is None:
                # An equal commit has completed and cleared both, or the offset was removed.
                continue
            self.put(partition, value, position)
            if staged == value:
                del self.pending[partition]

    def fail(self, offsets: Offsets) -> None:
        """Note that these offsets were not appended."""
        for partition, value in offsets:
            if self.pending.get(partition) == value:
                del self.pending[partition]

    # Transactions

    def stage(self, producer_id: int, offsets: Offsets, position: int | None) -> None:
        """Note what a producer commits, or without a position is about to commit."""
        staged = self.transactions.setdefault(producer_id, {})
        for partition, value in offsets:
            staged[partition] = Staged(value, position)

    def complete_stage(self, producer_id: int, offsets: Offsets, position: int) -> None:
        """Note that what a producer was about to commit is in the log."""
        staged = self.transactions.get(producer_id, {})
        for partition, value in offsets:
            known = staged.get(partition)
            if known is not None and known.value == value:
                staged[partition] = Staged(value, position)

    def fail_stage(self, producer_id: int, offsets: Offsets) -> None:
        """Note that it is not in the log, whatever there is of those partitions."""
        staged = self.transactions.get(producer_id)
        if staged is None:
            return
        for partition, _ in offsets:
            staged.pop(partition, None)
        if not staged:
            del self.transactions[producer_id]

    def end(self, producer_id: int, choose: Choose, *, committed: bool) -> None:
        """End a producer's transaction: what it committed can be read, or is forgotten.

        Raises:
            NotAppendedError: something of it is not known to be in the log; what comes before
                that, in an order that nobody knows, can be read.
        """
        left = self.transactions.pop(producer_id, {})
        if not committed:
            return
        in_any_order = None in {staged.position for staged in left.values()}
        while left:
            partitions = tuple(left)
            chosen = choose(partitions) if in_any_order and len(left) > 1 else partitions[0]
            value, position = left.pop(chosen)
            if position is None:
                raise NotAppendedError
            self.put(chosen, value, position)

    # Removal

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove all that there is of these partitions; those that could be read."""
        removed = []
        for partition in partitions:
            self.pending.pop(partition, None)
            for staged in self.transactions.values():
                staged.pop(partition, None)
            if self.committed.pop(partition, None) is not None:
                removed.append(partition)
        return removed
