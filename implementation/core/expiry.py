"""What ends offsets and groups: a cleanup once their time is up, or somebody's deletion.

One version removes from memory and then writes tombstones, whether or not that succeeds; another
writes first and removes what was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.offsets import Offset, TopicPartition
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.storing import group_tombstone, offset_tombstones
from groupcheck.implementation.log.log import Completed
from groupcheck.implementation.log.records import NO_TIMESTAMP, Batch, Record
from groupcheck.model.vocabulary import ErrorCode, GroupState


class Doomed(NamedTuple):
    """What is to go of a group: offsets, and perhaps the group itself."""

    group: Group
    partitions: tuple[TopicPartition, ...]
    whole: bool


class Removal:
    """The removal of offsets and groups."""

    __slots__ = ("_retention_ms", "_shared", "_timers", "_traits")

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._timers = shared.timers
        self._traits = shared.traits
        self._retention_ms = shared.config.offsets_retention_minutes * 60 * 1000

    # By time

    def cleanup(self) -> None:
        """Remove the offsets that have expired, and groups with nothing left."""
        for partition in range(len(self._shared.groups.serving)):
            groups = self._shared.groups.of(partition)
            if self._traits.writes_are_undone:
                doomed = [found for found in map(self._doomed, groups) if found is not None]
                self._write(partition, doomed, lambda _error: None)
            else:
                for group in groups:
                    expired = self._expired(group)
                    for gone in expired:
                        del group.offsets.committed[gone]
                    self._removed(group, expired)

    def _doomed(self, group: Group) -> Doomed | None:
        expired = () if group.offsets.committed == {} else self._expired(group)
        left = len(group.offsets.committed) > len(expired) or group.offsets.transactions
        whole = group.state is GroupState.EMPTY and not left
        return Doomed(group, expired, whole) if expired or whole else None

    def _expired(self, group: Group) -> tuple[TopicPartition, ...]:
        """The offsets of a group that have expired and are nobody's concern any more."""
        if not group.offsets.committed or not self._loses_to_time(group):
            return ()
        asks = group.state is not GroupState.EMPTY or self._traits.only_stable_expire
        return tuple(
            partition
            for partition, offset in group.offsets.committed.items()
            if self._has_expired(group, offset)
            and not (asks and group.is_subscribed(partition[0]))
            and not self._is_held(group, partition)
        )

    def _loses_to_time(self, group: Group) -> bool:
        """Whether time counts for the group in its state."""
        if group.protocol_type is None or group.state is GroupState.EMPTY:
            return True
        if self._traits.only_stable_expire and group.state is not GroupState.STABLE:
            return False
        return group.uses_consumer_protocol and group.subscribed is not None

    def _has_expired(self, group: Group, offset: Offset) -> bool:
        now_ms = self._timers.now_ms
        if offset.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= offset.expire_timestamp_ms
        base_ms = offset.commit_timestamp_ms
        if group.protocol_type is not None and group.state is GroupState.EMPTY:
            # All of them are kept as long after the last member has gone, if it is known when.
            base_ms = base_ms if group.state_since_ms == NO_TIMESTAMP else group.state_since_ms
        return now_ms - base_ms >= self._retention_ms

    def _is_held(self, group: Group, partition: TopicPartition) -> bool:
        """Whether something on its way keeps an offset."""
        if self._traits.commits_are_prepared:
            return partition in group.offsets.pending
        return group.offsets.in_transaction(partition)

    # By somebody

    def delete(self, partition: int, groups: list[Group], completed: Completed) -> None:
        """Delete groups of a partition with their offsets."""
        if self._traits.writes_are_undone:
            doomed = [Doomed(group, _all_of(group), whole=True) for group in groups]
            self._write(partition, doomed, completed)
            return
        for group in groups:
            group.state = GroupState.DEAD
            self._removed(group, group.offsets.remove(tuple(group.offsets.committed)))
        completed(ErrorCode.NONE)

    def delete_offsets(
        self, group: Group, partitions: list[TopicPartition], completed: Completed
    ) -> None:
        """Delete offsets of a group."""
        if self._traits.writes_are_undone:
            known = tuple(
                partition
                for partition in partitions
                if partition in group.offsets.committed or group.offsets.in_transaction(partition)
            )
            self._write(group.partition, [Doomed(group, known, whole=False)], completed)
            return
        if partitions:
            self._removed(group, group.offsets.remove(partitions))
        completed(ErrorCode.NONE)

    # How it is done

    def _removed(self, group: Group, removed: Iterable[TopicPartition]) -> None:
        """Write that offsets are gone, with the group if nothing is left of it."""
        if group.state is GroupState.EMPTY and group.offsets.is_empty:
            group.state = GroupState.DEAD
        records: tuple[Record, ...] = offset_tombstones(group, removed)
        if group.state is GroupState.DEAD:
            self._end(group)
            if group.generation_id > 0:
                records = (*records, group_tombstone(group))
        if records:
            self._shared.append(group.partition, Batch(records), lambda _error: None)

    def _write(self, partition: int, doomed: list[Doomed], completed: Completed) -> None:
        """Write that offsets and groups are gone, and then remove them."""
        records: list[Record] = []
        for group, partitions, whole in doomed:
            records += offset_tombstones(group, partitions)
            records += [group_tombstone(group)] if whole else []

        def written(error: ErrorCode) -> None:
            for group, partitions, whole in () if error else doomed:
                group.offsets.remove(partitions)
                _drop_empty_transactions(group)
                if whole:
                    self._end(group)
            completed(error)

        if records:
            self._shared.append(partition, Batch(tuple(records)), written)
        else:
            completed(ErrorCode.NONE)

    def _end(self, group: Group) -> None:
        for pending in group.pending_members.values():
            self._timers.cancel(pending)
        self._shared.groups.discard(group)


def _all_of(group: Group) -> tuple[TopicPartition, ...]:
    """Every partition of which a group has anything."""
    staged = (p for offsets in group.offsets.transactions.values() for p in offsets)
    return tuple(dict.fromkeys((*group.offsets.committed, *staged)))


def _drop_empty_transactions(group: Group) -> None:
    transactions = group.offsets.transactions
    for producer_id in [producer for producer, staged in transactions.items() if not staged]:
        del transactions[producer_id]
