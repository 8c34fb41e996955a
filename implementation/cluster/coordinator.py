"""The coordinator of groups on a broker: which partitions of the offsets topic it owns.

GroupMetadataManager.scala at tag 2.7.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from groupcheck.implementation.cluster.nodes import TopicPartition

OFFSETS_TOPIC: Final = "__consumer_offsets"

LOAD: Final = "load"
UNLOAD: Final = "unload"


class Task(NamedTuple):
    """What the thread of a coordinator does next: `load` or `unload` a partition."""

    kind: str
    partition: int


class OffsetsLog(Protocol):
    """The offsets topic, as its replicas have agreed on it."""

    def read(self, partition: int) -> set[TopicPartition]:
        """What has a committed offset."""
        ...

    def append(self, broker: int, partition: int, of: TopicPartition, *, committed: bool) -> bool:
        """Append an offset or a tombstone; whether the broker is the leader in the store."""
        ...


class GroupCoordinator:
    """The groups of one broker.

    Args:
        broker: its id.
        log: the offsets topic.
        leads: whether the broker leads a partition of it, as far as it knows.

    Attributes:
        tasks: of its thread, the oldest first.
        loading: partitions that it loads, or is about to.
        owned: partitions that it answers for.
        offsets: by partition, what its groups have committed an offset of.
    """

    def __init__(self, broker: int, log: OffsetsLog, leads: Callable[[int], bool]) -> None:
        self._broker = broker
        self._log = log
        self._leads = leads
        self.tasks: deque[Task] = deque()
        self.loading: set[int] = set()
        self.owned: set[int] = set()
        self.offsets: dict[int, set[TopicPartition]] = {}

    def elected(self, partition: int) -> None:
        """The broker leads a partition (GroupCoordinator.scala:910).

        A partition that is being loaded is not loaded again, though an unload may come between
        (GroupMetadataManager.scala, addLoadingPartition).
        """
        if partition not in self.loading:
            self.loading.add(partition)
            self.tasks.append(Task(LOAD, partition))

    def resigned(self, partition: int) -> None:
        """The broker leads a partition no longer (GroupCoordinator.scala:919)."""
        self.tasks.append(Task(UNLOAD, partition))

    def do_task(self) -> None:
        """Do the next task of the thread."""
        kind, partition = self.tasks.popleft()
        if kind == UNLOAD:
            self.owned.discard(partition)
            self.offsets.pop(partition, None)
            return
        # A broker that does not lead any more reads nothing, since its log has no end for it
        # (ReplicaManager.scala, getLogEndOffset). A group in the cache is not replaced.
        if partition not in self.offsets and self._leads(partition):
            self.offsets[partition] = set(self._log.read(partition))
        self.owned.add(partition)
        self.loading.discard(partition)

    def commit(self, partition: int, of: TopicPartition) -> None:
        """Commit an offset in a group of a partition that it owns and leads."""
        if self._log.append(self._broker, partition, of, committed=True):
            self.offsets.setdefault(partition, set()).add(of)

    def deleted(self, partitions: list[TopicPartition]) -> None:
        """Remove the offsets of deleted partitions (GroupCoordinator.scala:834)."""
        for partition, offsets in self.offsets.items():
            for of in partitions:
                if of in offsets:
                    offsets.discard(of)
                    if self._leads(partition):
                        self._log.append(self._broker, partition, of, committed=False)
