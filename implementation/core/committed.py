"""What is read while something is written that is not committed: what was there before.

Groups and offsets change as they are written. For each change there is kept what was there before
it, until it is committed; the oldest of these is what can be read. Of a group nothing is kept but
itself: who reads of one that shows is told all of it as it is by now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TypeVar

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.offsets import Offset, TopicPartition
from groupcheck.implementation.core.waiting import Write
from groupcheck.implementation.log.records import NO_PRODUCER_ID, Batch, GroupMetadataRecord

K = TypeVar("K")
V = TypeVar("V")
Older = dict[K, deque[V]]
GroupOffset = tuple[str, TopicPartition]

_NO_OFFSETS: Mapping[TopicPartition, Offset] = {}


class Committed:
    """The groups and offsets that can be read."""

    __slots__ = ("_groups", "_older_groups", "_older_offsets")

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        # None is what was not there; each is of one write, the oldest first.
        self._older_groups: Older[str, Group | None] = {}
        self._older_offsets: dict[str, Older[TopicPartition, Offset | None]] = {}

    # What can be read

    def group(self, group_id: str) -> Group | None:
        """The group of that name, if it shows."""
        older = self._older_groups.get(group_id)
        if older is not None:
            return older[0]
        group = self._groups.by_id.get(group_id)
        return None if group is None or self._groups.is_unwritten(group) else group

    def groups(self) -> Iterable[Group]:
        """All groups that show."""
        names = (
            {**self._groups.by_id, **self._older_groups}
            if self._older_groups
            else self._groups.by_id
        )
        return (group for name in names if (group := self.group(name)) is not None)

    def offsets(self, group_id: str, group: Group | None) -> Mapping[TopicPartition, Offset]:
        """The offsets of a group, which is given if there is one by now."""
        found = _NO_OFFSETS if group is None else group.offsets.committed
        older = self._older_offsets.get(group_id)
        if older is None:
            return found
        merged: dict[TopicPartition, Offset | None] = dict(found)
        merged.update((partition, values[0]) for partition, values in older.items())
        return {name: offset for name, offset in merged.items() if offset is not None}

    # What is written

    def note(
        self, write: Write, unwritten: Iterable[Group], batch: Batch, ends: Iterable[GroupOffset]
    ) -> None:
        """Keep what there is before a batch changes it.

        `unwritten` are the groups that it lets show, `ends` the offsets of which a marker may make
        others readable.
        """
        for group in unwritten:
            self._note_group(write, group.group_id, None)
        for record in batch.records:
            name = record.key.group
            if isinstance(record, GroupMetadataRecord):
                if record.value is None:
                    self._note_group(write, name, self._groups.by_id.get(name))
            elif batch.producer_id == NO_PRODUCER_ID:
                self._note_offset(write, name, record.key[1:])
        for name, partition in ends:
            self._note_offset(write, name, partition)

    def _note_group(self, write: Write, group_id: str, group: Group | None) -> None:
        self._older_groups.setdefault(group_id, deque()).append(group)
        write.noted.append(group_id)

    def _note_offset(self, write: Write, group_id: str, partition: TopicPartition) -> None:
        group = self._groups.by_id.get(group_id)
        offset = None if group is None else group.offsets.committed.get(partition)
        older = self._older_offsets.setdefault(group_id, {})
        older.setdefault(partition, deque()).append(offset)
        write.noted.append((group_id, partition))

    def forget(self, writes: Iterable[Write]) -> None:
        """Keep no more what was before these writes, the oldest that there are."""
        for write in writes:
            for noted in write.noted:
                if isinstance(noted, str):
                    _forget(self._older_groups, noted)
                else:
                    group_id, partition = noted
                    older = self._older_offsets[group_id]
                    _forget(older, partition)
                    if not older:
                        del self._older_offsets[group_id]


def _forget(older: Older[K, V], key: K) -> None:
    values = older[key]
    values.popleft()
    if not values:
        del older[key]
