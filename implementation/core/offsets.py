"""The offsets of one group: committed, pending, and in open transactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groupcheck.implementation.core.config import Choose
from groupcheck.implementation.log.records import OffsetCommitValue

TopicPartition = tuple[str, int]
Offsets = tuple[tuple[TopicPartition, OffsetCommitValue], ...]


class Offset(NamedTuple):
    """A committed offset, flat because there are many; `position` is its position in the log."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    position: int


class Staged(NamedTuple):
    """An offset in an open transaction; `position` is None until it is appended."""

    value: OffsetCommitValue
    position: int | None


class NotAppendedError(Exception):
    """A transaction ends, and one of its offsets is not known to be appended."""


class GroupOffsets:
    """The offsets of one group."""

    __slots__ = ("committed", "pending", "transactions")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Offset] = {}
        # The latest commit of each partition that is not known to be appended.
        self.pending: dict[TopicPartition, OffsetCommitValue] = {}
        # For each producer, what it has committed since its last marker.
        self.transactions: dict[int, dict[TopicPartition, Staged]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there are no offsets of any kind."""
        return not (self.committed or self.pending or self.transactions)

    def in_transaction(self, partition: TopicPartition) -> bool:
        """Whether an open transaction has an offset of the partition."""
        return any(partition in staged for staged in self.transactions.values())

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether the partition is pending, or is in an open transaction."""
        return partition in self.pending or self.in_transaction(partition)

    def put(self, partition: TopicPartition, value: OffsetCommitValue, position: int) -> None:
        """Make an offset readable, unless a later one in the log is."""
        known = self.committed.get(partition)
        if known is None or known.position < position:
            self.committed[partition] = Offset(*value, position)

    # Commits

    def set(self, offsets: Offsets, position: int) -> None:
        """Make appended offsets readable, in their order."""
        for partition, value in offsets:
            self.committed[partition] = Offset(*value, position)

    def prepare(self, offsets: Offsets) -> None:
        """Mark offsets pending before they are appended."""
        self.pending.update(offsets)

    def complete(self, offsets: Offsets, position: int) -> None:
        """Make appended offsets readable; called in the order of the log."""
        for partition, value in offsets:
            staged = self.pending.get(partition)
            if staged is None:
                # An equal commit has completed and cleared both, or the offset was removed.
                continue
            self.put(partition, value, position)
            if staged == value:
                del self.pending[partition]

    def fail(self, offsets: Offsets) -> None:
        """Clear offsets that were not appended from pending."""
        for partition, value in offsets:
            if self.pending.get(partition) == value:
                del self.pending[partition]

    # Transactions

    def stage(self, producer_id: int, offsets: Offsets, position: int | None) -> None:
        """Add a producer's offsets, without a position before they are appended."""
        staged = self.transactions.setdefault(producer_id, {})
        for partition, value in offsets:
            staged[partition] = Staged(value, position)

    def complete_stage(self, producer_id: int, offsets: Offsets, position: int) -> None:
        """Set the position of a producer's appended offsets."""
        staged = self.transactions.get(producer_id, {})
        for partition, value in offsets:
            known = staged.get(partition)
            if known is not None and known.value == value:
                staged[partition] = Staged(value, position)

    def fail_stage(self, producer_id: int, offsets: Offsets) -> None:
        """Drop a producer's partitions whose append failed."""
        staged = self.transactions.get(producer_id)
        if staged is None:
            return
        for partition, _ in offsets:
            staged.pop(partition, None)
        if not staged:
            del self.transactions[producer_id]

    def end(self, producer_id: int, choose: Choose, *, committed: bool) -> None:
        """End a producer's transaction: its offsets become readable, or are dropped.

        Raises:
            NotAppendedError: an offset is not known to be appended. Those before it, in an order
                that Kafka does not define, are readable.
        """
        staged = self.transactions.pop(producer_id, {})
        if not committed:
            return
        in_any_order = None in {offset.position for offset in staged.values()}
        while staged:
            partitions = tuple(staged)
            chosen = choose(partitions) if in_any_order and len(staged) > 1 else partitions[0]
            value, position = staged.pop(chosen)
            if position is None:
                raise NotAppendedError
            self.put(chosen, value, position)

    # Removal

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove everything about these partitions; returns those that were readable."""
        removed = []
        for partition in partitions:
            self.pending.pop(partition, None)
            for staged in self.transactions.values():
                staged.pop(partition, None)
            if self.committed.pop(partition, None) is not None:
                removed.append(partition)
        return removed
