"""Committed snapshots: the groups and offsets that reads return while appends are not committed.

Groups and offsets change when a record is appended. For each change the older value is kept until
the append is committed; reads return the oldest. Of a group only its existence is kept: a read of a
visible group returns its current state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TypeVar

from groupcheck.implementation.core.deferred import Append
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.offsets import Offset, TopicPartition
from groupcheck.implementation.log.records import NO_PRODUCER_ID, Batch, GroupMetadataRecord

K = TypeVar("K")
V = TypeVar("V")
Older = dict[K, deque[V]]
GroupOffset = tuple[str, TopicPartition]

_NO_OFFSETS: Mapping[TopicPartition, Offset] = {}


class CommittedSnapshots:
    """The groups and offsets as reads see them."""

    __slots__ = ("_groups", "_older_groups", "_older_offsets")

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        # One older value for each uncommitted append, the oldest first; None if there was none.
        self._older_groups: Older[str, Group | None] = {}
        self._older_offsets: dict[str, Older[TopicPartition, Offset | None]] = {}

    # Reads

    def group(self, group_id: str) -> Group | None:
        """The group of that name, if it is visible."""
        older = self._older_groups.get(group_id)
        if older is not None:
            return older[0]
        group = self._groups.by_id.get(group_id)
        return None if group is None or self._groups.is_unpersisted(group) else group

    def groups(self) -> Iterable[Group]:
        """All visible groups."""
        names = (
            {**self._groups.by_id, **self._older_groups}
            if self._older_groups
            else self._groups.by_id
        )
        return (group for name in names if (group := self.group(name)) is not None)

    def offsets(self, group_id: str, group: Group | None) -> Mapping[TopicPartition, Offset]:
        """The offsets of a group; `group` is its current state, if it exists."""
        found = _NO_OFFSETS if group is None else group.offsets.committed
        older = self._older_offsets.get(group_id)
        if older is None:
            return found
        merged: dict[TopicPartition, Offset | None] = dict(found)
        merged.update((partition, values[0]) for partition, values in older.items())
        return {name: offset for name, offset in merged.items() if offset is not None}

    # Appends

    def note(
        self, append: Append, persisted: Iterable[Group], batch: Batch, ends: Iterable[GroupOffset]
    ) -> None:
        """Keep the values that a batch changes.

        `persisted` are the groups that become visible, `ends` the offsets that a marker may make
        readable.
        """
        for group in persisted:
            self._note_group(append, group.group_id, None)
        for record in batch.records:
            name = record.key.group
            if isinstance(record, GroupMetadataRecord):
                if record.value is None:
                    self._note_group(append, name, self._groups.by_id.get(name))
            elif batch.producer_id == NO_PRODUCER_ID:
                self._note_offset(append, name, record.key[1:])
        for name, partition in ends:
            self._note_offset(append, name, partition)

    def _note_group(self, append: Append, group_id: str, group: Group | None) -> None:
        self._older_groups.setdefault(group_id, deque()).append(group)
        append.changed.append(group_id)

    def _note_offset(self, append: Append, group_id: str, partition: TopicPartition) -> None:
        group = self._groups.by_id.get(group_id)
        offset = None if group is None else group.offsets.committed.get(partition)
        older = self._older_offsets.setdefault(group_id, {})
        older.setdefault(partition, deque()).append(offset)
        append.changed.append((group_id, partition))

    def discard(self, appends: Iterable[Append]) -> None:
        """Drop the values from before these appends, which are the oldest ones."""
        for append in appends:
            for changed in append.changed:
                if isinstance(changed, str):
                    _discard(self._older_groups, changed)
                else:
                    group_id, partition = changed
                    older = self._older_offsets[group_id]
                    _discard(older, partition)
                    if not older:
                        del self._older_offsets[group_id]


def _discard(older: Older[K, V], key: K) -> None:
    values = older[key]
    values.popleft()
    if not values:
        del older[key]
