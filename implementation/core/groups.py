"""The groups by name and by partition of `__consumer_offsets`, and which partitions are served."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from struct import iter_unpack
from typing import Final

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import JoinTimer
from groupcheck.implementation.core.timers import NEVER

_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000


def partition_for(group_id: str, partitions: int) -> int:
    """The partition of a group, as Kafka computes it.

    That is the absolute value of Java's string hash, over UTF-16 units, modulo the number of
    partitions. The one hash whose absolute value is not an int32 counts as 0.
    """
    hashed = 0
    if group_id.isascii():
        for unit in group_id.encode():
            hashed = (hashed * 31 + unit) & _MASK
    else:
        for (unit,) in iter_unpack(">H", group_id.encode("utf-16-be", "surrogatepass")):
            hashed = (hashed * 31 + unit) & _MASK
    if hashed == _SIGN:
        return 0
    return (hashed if hashed < _SIGN else _MASK + 1 - hashed) % partitions


class Serving(Enum):
    """Whether this coordinator serves a partition."""

    SERVED = "served"
    LOADING = "loading"
    UNLOADED = "unloaded"


class Groups:
    """The groups of the served partitions.

    Where failed appends roll back, a new group is `unpersisted` until something is appended to its
    partition, and is discarded if that append fails. `forgotten` are the join timers of groups that
    were discarded, by group id: Kafka keeps a timer by that id, even if the group is discarded.
    """

    __slots__ = ("_by_partition", "_unpersisted", "by_id", "forgotten", "serving")

    def __init__(self, partitions: int) -> None:
        self.by_id: dict[str, Group] = {}
        self.serving = [Serving.UNLOADED] * partitions
        self._by_partition: list[dict[str, Group]] = [{} for _ in range(partitions)]
        self._unpersisted: dict[int, dict[str, Group]] = {}
        self.forgotten: dict[str, JoinTimer] = {}

    def partition_of(self, group_id: str) -> int:
        """The partition of a group, which need not exist."""
        return partition_for(group_id, len(self.serving))

    def of(self, partition: int) -> Iterable[Group]:
        """A snapshot of the groups of a partition."""
        return tuple(self._by_partition[partition].values())

    def add(self, group: Group) -> None:
        """Add a group that is loaded."""
        self.by_id[group.group_id] = self._by_partition[group.partition][group.group_id] = group

    def create(self, group_id: str, now_ms: int, *, unpersisted: bool) -> Group:
        """Create a group."""
        group = Group(group_id, self.partition_of(group_id), now_ms)
        self.add(group)
        if unpersisted:
            self._unpersisted.setdefault(group.partition, {})[group_id] = group
        return group

    def discard(self, group: Group) -> None:
        """Remove a group."""
        del self.by_id[group.group_id]
        del self._by_partition[group.partition][group.group_id]
        self._unpersisted.get(group.partition, {}).pop(group.group_id, None)

    def is_unpersisted(self, group: Group) -> bool:
        """Whether the group is not visible yet."""
        return group.group_id in self._unpersisted.get(group.partition, ())

    def mark_persisted(self, partition: int) -> Iterable[Group]:
        """Note an append to a partition; returns the groups that become visible."""
        return self._unpersisted.pop(partition, {}).values()

    def discard_unpersisted(self, partition: int) -> None:
        """Discard the unpersisted groups of a partition whose append failed."""
        for group in self.mark_persisted(partition):
            self.discard(group)
            timer = group.join_timer
            if timer is not None and timer.deadline_ms != NEVER:
                self.forgotten[group.group_id] = timer

    def pop_forgotten(self, partition: int) -> Iterable[JoinTimer]:
        """Remove and return the forgotten join timers of a partition."""
        names = [name for name in self.forgotten if self.partition_of(name) == partition]
        return [self.forgotten.pop(name) for name in names]
