"""All groups by name and by partition, and which of them nobody may see yet. No rule is here."""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.partitions import Serving, partition_for


class Groups:
    """The groups of the partitions that are served.

    Where a version undoes what cannot be written, a group of which nothing is written yet is
    `unwritten` until something is written to its partition, and gone if that fails. Its timers are
    gone with it. In Kafka they go on under its name, and one that comes upon another group of that
    name fails in the middle of beginning a generation there.
    """

    __slots__ = ("_by_partition", "_unwritten", "by_id", "serving")

    def __init__(self, partitions: int) -> None:
        self.by_id: dict[str, Group] = {}
        self.serving = [Serving.UNLOADED] * partitions
        self._by_partition: list[dict[str, Group]] = [{} for _ in range(partitions)]
        self._unwritten: dict[int, dict[str, Group]] = {}

    def partition_of(self, group_id: str) -> int:
        """The partition that a group is or would be in."""
        return partition_for(group_id, len(self.serving))

    def of(self, partition: int) -> Iterable[Group]:
        """The groups of a partition, as they are now."""
        return tuple(self._by_partition[partition].values())

    def add(self, group: Group) -> None:
        """Add a group that is loaded."""
        self.by_id[group.group_id] = self._by_partition[group.partition][group.group_id] = group

    def create(self, group_id: str, now_ms: int, *, unwritten: bool) -> Group:
        """A new group."""
        group = Group(group_id, self.partition_of(group_id), now_ms)
        self.add(group)
        if unwritten:
            self._unwritten.setdefault(group.partition, {})[group_id] = group
        return group

    def discard(self, group: Group) -> None:
        """Forget a group."""
        del self.by_id[group.group_id]
        del self._by_partition[group.partition][group.group_id]
        self._unwritten.get(group.partition, {}).pop(group.group_id, None)

    def is_unwritten(self, group: Group) -> bool:
        """Whether nobody may see the group yet."""
        return group.group_id in self._unwritten.get(group.partition, ())

    def show(self, partition: int) -> Iterable[Group]:
        """Something is written to a partition; the groups that show from now on."""
        return self._unwritten.pop(partition, {}).values()

    def forget_unwritten(self, partition: int) -> None:
        """Something could not be written to a partition."""
        for group in self.show(partition):
            self.discard(group)
