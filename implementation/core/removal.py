"""The removal of offsets and groups: expired ones in a cleanup, others on request.

One version removes from memory and then appends tombstones, whether or not that succeeds. Another
appends first and then removes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.log_records import group_tombstone, offset_tombstones
from groupcheck.implementation.core.offsets import Offset, TopicPartition
from groupcheck.implementation.core.shared import Component, Shared
from groupcheck.implementation.log.records import NO_TIMESTAMP, Batch, Completed, Record
from groupcheck.model.vocabulary import ErrorCode, GroupState


class GroupRemoval(NamedTuple):
    """The offsets of a group to remove, and whether to remove the group itself."""

    group: Group
    partitions: tuple[TopicPartition, ...]
    with_group: bool


class Removal(Component):
    """The removal of offsets and groups."""

    __slots__ = ("_retention_ms",)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._retention_ms = self._config.offsets_retention_minutes * 60 * 1000

    # Expiry

    def cleanup(self) -> None:
        """Remove expired offsets and groups without offsets."""
        for partition in range(len(self._shared.groups.serving)):
            groups = self._shared.groups.of(partition)
            if self._behaviour.failed_appends_roll_back:
                removals = [
                    found for found in map(self._group_removal, groups) if found is not None
                ]
                self._append(partition, removals, lambda _error: None)
            else:
                for group in groups:
                    expired = self._expired(group)
                    for partition_of_offset in expired:
                        del group.offsets.committed[partition_of_offset]
                    self._append_tombstones(group, expired)

    def _group_removal(self, group: Group) -> GroupRemoval | None:
        expired = () if group.offsets.committed == {} else self._expired(group)
        has_offsets = len(group.offsets.committed) > len(expired) or group.offsets.transactions
        with_group = group.state is GroupState.EMPTY and not has_offsets
        return GroupRemoval(group, expired, with_group) if expired or with_group else None

    def _expired(self, group: Group) -> tuple[TopicPartition, ...]:
        """The expired offsets of a group that no member or pending commit needs."""
        if not group.offsets.committed or not self._can_expire(group):
            return ()
        checks_topics = (
            group.state is not GroupState.EMPTY or self._behaviour.expires_in_stable_only
        )
        return tuple(
            partition
            for partition, offset in group.offsets.committed.items()
            if self._is_expired(group, offset)
            and not (checks_topics and group.is_subscribed(partition[0]))
            and not self._is_pending(group, partition)
        )

    def _can_expire(self, group: Group) -> bool:
        """Whether offsets expire in the group's state."""
        if group.protocol_type is None or group.state is GroupState.EMPTY:
            return True
        if self._behaviour.expires_in_stable_only and group.state is not GroupState.STABLE:
            return False
        return group.uses_consumer_protocol and group.subscribed is not None

    def _is_expired(self, group: Group, offset: Offset) -> bool:
        now_ms = self._timers.now_ms
        if offset.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= offset.expire_timestamp_ms
        base_ms = offset.commit_timestamp_ms
        if group.protocol_type is not None and group.state is GroupState.EMPTY:
            # The retention of all offsets starts when the last member has left, if that time is
            # known.
            base_ms = base_ms if group.state_since_ms == NO_TIMESTAMP else group.state_since_ms
        return now_ms - base_ms >= self._retention_ms

    def _is_pending(self, group: Group, partition: TopicPartition) -> bool:
        """Whether a pending commit or an open transaction has the partition."""
        if self._behaviour.offsets_are_pending:
            return partition in group.offsets.pending
        return group.offsets.in_transaction(partition)

    # Deletion

    def delete(self, partition: int, groups: list[Group], completed: Completed) -> None:
        """Delete groups of a partition with their offsets."""
        if self._behaviour.failed_appends_roll_back:
            removals = [GroupRemoval(group, _all_of(group), with_group=True) for group in groups]
            self._append(partition, removals, completed)
            return
        for group in groups:
            group.state = GroupState.DEAD
            self._append_tombstones(group, group.offsets.remove(tuple(group.offsets.committed)))
        completed(ErrorCode.NONE)

    def delete_offsets(
        self, group: Group, partitions: list[TopicPartition], completed: Completed
    ) -> None:
        """Delete offsets of a group."""
        if self._behaviour.failed_appends_roll_back:
            known = tuple(
                partition
                for partition in partitions
                if partition in group.offsets.committed or group.offsets.in_transaction(partition)
            )
            removals = [GroupRemoval(group, known, with_group=False)]
            self._append(group.partition, removals, completed)
            return
        if partitions:
            self._append_tombstones(group, group.offsets.remove(partitions))
        completed(ErrorCode.NONE)

    # Tombstones

    def _append_tombstones(self, group: Group, removed: Iterable[TopicPartition]) -> None:
        """Append tombstones of removed offsets, and of the group if it is Empty without offsets."""
        if group.state is GroupState.EMPTY and group.offsets.is_empty:
            group.state = GroupState.DEAD
        records: tuple[Record, ...] = offset_tombstones(group, removed)
        if group.state is GroupState.DEAD:
            self._discard(group)
            if group.generation_id > 0:
                records = (*records, group_tombstone(group))
        if records:
            self._shared.append(group.partition, Batch(records), lambda _error: None)

    def _append(self, partition: int, removals: list[GroupRemoval], completed: Completed) -> None:
        """Append tombstones of offsets and groups, and then remove them."""
        records: list[Record] = []
        for group, partitions, with_group in removals:
            records += offset_tombstones(group, partitions)
            records += [group_tombstone(group)] if with_group else []

        def appended(error: ErrorCode) -> None:
            for group, partitions, with_group in () if error else removals:
                group.offsets.remove(partitions)
                _drop_empty_transactions(group)
                if with_group:
                    self._discard(group)
            completed(error)

        if records:
            self._shared.append(partition, Batch(tuple(records)), appended)
        else:
            completed(ErrorCode.NONE)

    def _discard(self, group: Group) -> None:
        for pending in group.pending_members.values():
            self._timers.cancel(pending)
        self._shared.groups.discard(group)


def _all_of(group: Group) -> tuple[TopicPartition, ...]:
    """All partitions of which a group has an offset of any kind."""
    staged = (p for offsets in group.offsets.transactions.values() for p in offsets)
    return tuple(dict.fromkeys((*group.offsets.committed, *staged)))


def _drop_empty_transactions(group: Group) -> None:
    transactions = group.offsets.transactions
    for producer_id in [producer for producer, staged in transactions.items() if not staged]:
        del transactions[producer_id]
