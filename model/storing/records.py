"""The log as the group's records make it: what is appended is there at once, what fails never is.

When an append completes, and what comes of it, is the matter of `log`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from groupcheck.model.rules.transactions import (
    end,
    forget_with_producers,
    mark_newest,
    mark_older,
    pend,
    pending_of,
)
from groupcheck.model.state import (
    Group,
    GroupRecord,
    Member,
    Offset,
    OffsetsAppend,
    TopicPartition,
    put,
)
from groupcheck.model.step import Step
from groupcheck.model.storing.appended import GroupRemoved, Marker, OffsetsRecorded, OffsetsRemoved
from groupcheck.model.storing.committed import note_written
from groupcheck.model.storing.revert import settle
from groupcheck.model.vocabulary import ErrorCode


def show_group(step: Step) -> None:
    """Something is written to the group's partition: the group shows, if that was hiding it."""
    if step.group is not None and step.group.unwritten:
        step.group = step.group._replace(unwritten=False)


def next_error(step: Step) -> ErrorCode:
    """How the next append ends: with an error if it is one of those that are to fail."""
    failing = step.failing
    if failing is None:
        return ErrorCode.NONE
    step.failed = failing.error
    left = failing.number - 1
    step.failing = failing._replace(number=left) if left else None
    return failing.error


def record_group(step: Step, assignments: dict[str, bytes]) -> None:
    """The group with these assignments (GroupMetadataManager.scala:1256).

    Of what a member offers only the protocol that was chosen is recorded.
    """
    note_written(step)
    group = step.existing
    members = tuple(_loaded(step, member, assignments) for member in group.members)
    record = GroupRecord(
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader,
        members,
        group.empty_left_ms,
    )
    step.append_record(record)
    if step.log is not None:
        step.log = step.log._replace(group=record)


def _loaded(step: Step, member: Member, assignments: dict[str, bytes]) -> Member:
    """A member as it will be when it is loaded, and may have been told its id by then."""
    name = step.existing.protocol_name
    return member._replace(
        protocols=tuple(p for p in member.protocols if p.name == name),
        told=True,
        session_left_ms=None,
        awaiting_join=None,
        awaiting_sync=None,
        assignment=assignments[member.member_id],
        unsynced=False,
        null_instance=step.profile.traits.loaded_count_as_static,
    )


def record_empty(step: Step) -> None:
    """A group without members; nobody waits for it (but see `leave_group`)."""
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_group(step, {})
    settle(step, error)


def record_new(step: Step) -> None:
    """A group that has just come into being: nothing but its name."""
    note_written(step)
    record = GroupRecord(0, None, None, None, ())
    step.append_record(record)
    if step.log is not None:
        step.log = step.log._replace(group=record)


def remove_group(step: Step) -> None:
    """The record that removes the group; nobody waits for it, nor is told if it fails."""
    if next_error(step) is not ErrorCode.NONE:
        return
    step.append_record(GroupRemoved())
    if step.log is not None:
        step.log = step.log._replace(group=None)


def remove_from_log(
    step: Step, partitions: Collection[TopicPartition], *, with_group: bool
) -> None:
    """The records that remove offsets, and the group if it was ever recorded, in one append.

    Nobody waits for it, nor is told if it fails (GroupMetadataManager.scala:843), unless that
    undoes it (`removal_fails`). Offsets of a transaction that is open stay in the log, unless what
    removes an offset removes them too.
    """
    traits = step.profile.traits
    recorded = with_group and (traits.removals_are_written or step.existing.generation_id > 0)
    if not (partitions or recorded) or next_error(step) is not ErrorCode.NONE:
        return
    note_written(step)
    if partitions:
        step.append_record(OffsetsRemoved(tuple(sorted(partitions))))
    if recorded:
        step.append_record(GroupRemoved())
    if step.log is not None and recorded:
        step.log = step.log._replace(group=None)
    ends = traits.tombstones_end_transactions
    change = forget_with_producers if ends else mark_newest
    _change(step, lambda log: _without_offsets(change(log, partitions), partitions))


def removal_fails(step: Step, *, removes: bool) -> bool:
    """Whether what there is to remove cannot be written, where it stays then.

    Source: 4.1 CoordinatorRuntime.java:873.
    """
    written = step.profile.traits.removals_are_written and removes
    if not written or step.failing is None:
        return False
    settle(step, next_error(step))
    return True


def _without_offsets(log: Group, partitions: Collection[TopicPartition]) -> Group:
    kept = tuple(entry for entry in log.offsets if entry[0] not in partitions)
    return log._replace(offsets=kept)


def record_offsets(step: Step, entry: OffsetsAppend) -> None:
    """Offsets that are committed, of a transaction or not."""
    note_written(step)
    partitions = tuple(partition for partition, _ in entry.offsets)
    step.append_record(OffsetsRecorded(partitions, entry.producer_id))
    if entry.producer_id is not None:
        _change(step, lambda log: pend(log, entry.producer_id or 0, dict(entry.offsets), None))
        return
    for partition, offset in entry.offsets:
        _change(step, partial(_commit, partition=partition, offset=offset))


def record_marker(step: Step, producer_id: int, *, committed: bool) -> None:
    """The marker that ends a transaction, with whoever leads the partition."""
    note_written(step)
    step.append_record(Marker(producer_id, committed))
    _change(
        step, lambda log: end(log, producer_id, pending_of(log, producer_id) if committed else ())
    )


def _commit(log: Group, partition: TopicPartition, offset: Offset) -> Group:
    log = mark_older(log, partition)
    return log._replace(offsets=put(log.offsets, partition, offset))


def _change(step: Step, change: Callable[[Group], Group]) -> None:
    """Change the offsets in the log, by what changes those of a group."""
    if step.log is None:
        return
    log = step.log
    changed = change(
        Group(offsets=log.offsets, transactions=log.transactions, producers=log.producers)
    )
    step.log = log._replace(
        offsets=changed.offsets, transactions=changed.transactions, producers=changed.producers
    )
