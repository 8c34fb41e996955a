"""One group's committed offsets and those whose append is under way. No rule of access here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

TopicPartition = tuple[str, int]


class OffsetAndMetadata(NamedTuple):
    """A committed offset; two commits of the same at the same millisecond are the same."""

    committed_offset: int
    committed_leader_epoch: int
    metadata: str
    commit_timestamp_ms: int


Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class GroupOffsets:
    """The offsets of one group."""

    __slots__ = ("committed", "pending")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, OffsetAndMetadata] = {}
        # The latest commit of each partition that is not known to be complete.
        self.pending: dict[TopicPartition, OffsetAndMetadata] = {}

    def prepare_commit(self, offsets: Offsets) -> None:
        """Note that these offsets are about to be appended."""
        self.pending.update(offsets)

    def complete_commit(self, offsets: Offsets) -> None:
        """Make appended offsets readable; to be called in the order of the log."""
        for partition, offset in offsets.items():
            staged = self.pending.get(partition)
            if staged is None:
                # An equal commit has completed and cleared both: the value is already there.
                continue
            self.committed[partition] = offset
            if staged == offset:
                del self.pending[partition]
