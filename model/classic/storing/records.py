"""The log of the group's records: an appended record is in it at once.

`log` has what the completion of an append does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final

from groupcheck.model.classic.rules.transactions import (
    drop_pending_and_producers,
    end,
    mark_newest,
    mark_older,
    pend,
    pending_of,
)
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    Group,
    GroupRecord,
    Log,
    Member,
    Offset,
    OffsetsAppend,
    TopicPartition,
    put,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.appended import (
    GroupRemoved,
    Marker,
    OffsetsRecorded,
    OffsetsRemoved,
)
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED, note_written
from groupcheck.model.classic.storing.rollback import finish_append
from groupcheck.model.engine.rules import Behaviour, Version
from groupcheck.model.vocabulary import ErrorCode

AREA: Final = "log"

LOADED_ARE_STATIC: Final = Behaviour(
    "loaded-members-count-as-static",
    AREA,
    "members that are loaded from the log count as static members, because a null "
    "group.instance.id counts as one (until KAFKA-10497)",
    at("", "", "GMM:1429"),
)
REMOVALS_ARE_APPENDED: Final = Behaviour(
    "removals-are-appended",
    AREA,
    "offsets and groups are removed by appending tombstones: if the append fails, nothing is "
    "removed; a group without a record gets a tombstone too",
    at("", "", "", "CR:873"),
)
# The errors of an append that come after the leader's append.
LATE_ERRORS: Final = frozenset(
    {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
)
LATE_ERRORS_ARE_APPENDED: Final = Behaviour(
    "late-errors-are-appended",
    AREA,
    "an append that ends with REQUEST_TIMED_OUT or NOT_ENOUGH_REPLICAS_AFTER_APPEND is in the "
    "log, where a load finds it: both errors occur after the leader's append",
    at("DelayedProduce.scala:64", "DelayedProduce.scala:64", "DelayedProduce.scala:65"),
)
EMPTIED_GROUPS_ARE_LOADED: Final = Behaviour(
    "emptied-groups-are-loaded",
    AREA,
    "a load creates an Empty group if all of its offsets were deleted or aborted, unless the log "
    "has been compacted since",
    at("", "", "", "OMM:1148"),
)
TOMBSTONES_END_TRANSACTIONS: Final = Behaviour(
    "tombstones-end-transactions",
    AREA,
    "the tombstone of an offset also removes the pending offsets of its partition, and a "
    "producer without pending offsets needs no marker",
    at("", "", "", "OMM:1191"),
)


def show_group(step: Step) -> None:
    """Show the group: something was written to its partition."""
    if step.group is not None and step.group.not_persisted:
        step.group = step.group._replace(not_persisted=False)


def next_error(step: Step) -> ErrorCode:
    """The error of the next append, NONE if it succeeds; counts the append."""
    failing = step.failing
    if failing is None:
        return ErrorCode.NONE
    step.failed = failing.error
    left = failing.number - 1
    step.failing = failing._replace(number=left) if left else None
    return failing.error


def possible_errors(version: Version, errors: Iterable[ErrorCode]) -> tuple[ErrorCode, ...]:
    """Those of these errors that an append of the version can end with.

    4.1 appends with acks=1, so there is no late error (CoordinatorPartitionWriter.java:171).
    """
    late = not ANSWERS_ARE_DEFERRED.holds_in(version)
    return tuple(error for error in errors if late or error not in LATE_ERRORS)


def is_written(step: Step, error: ErrorCode) -> bool:
    """Whether the record of an append that ends with this error, or with none, is in the log."""
    late = error in LATE_ERRORS and LATE_ERRORS_ARE_APPENDED(step)
    return late or error is ErrorCode.NONE


def record_group(step: Step, assignments: dict[str, bytes]) -> None:
    """Append the group with these assignments (2.7 GroupMetadataManager.scala:1256).

    Of a member's protocols only the chosen one is recorded.
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
        step.log = step.log._replace(group=record, emptied=False)


def _loaded(step: Step, member: Member, assignments: dict[str, bytes]) -> Member:
    """A member as a load restores it; its id may have been revealed by then."""
    name = step.existing.protocol_name
    return member._replace(
        protocols=tuple(p for p in member.protocols if p.name == name),
        revealed=True,
        session_left_ms=None,
        awaiting_join=None,
        awaiting_sync=None,
        assignment=assignments[member.member_id],
        unsynced=False,
        null_instance=LOADED_ARE_STATIC(step),
    )


def record_empty(step: Step) -> None:
    """Append a group without members; no request waits for that (but see `leave_group`)."""
    error = next_error(step)
    if is_written(step, error):
        record_group(step, {})
    finish_append(step, error)


def record_new(step: Step) -> None:
    """Append a group that was just created, with only its id."""
    note_written(step)
    record = GroupRecord(0, None, None, None, ())
    step.append_record(record)
    if step.log is not None:
        step.log = step.log._replace(group=record, emptied=False)


def remove_group(step: Step) -> None:
    """Append the tombstone of the group; no request waits for it or fails with it."""
    if not is_written(step, next_error(step)):
        return
    step.append_record(GroupRemoved())
    if step.log is not None:
        step.log = step.log._replace(group=None)


def remove_from_log(
    step: Step, partitions: Collection[TopicPartition], *, with_group: bool
) -> None:
    """Append the tombstones of offsets, and of the group if it was ever recorded, at once.

    No request waits for it or fails with it (2.7 GroupMetadataManager.scala:843), except where a
    failure undoes the removal (`removal_fails`). Offsets of an open transaction stay in the log,
    except where tombstones end transactions.
    """
    recorded = with_group and (REMOVALS_ARE_APPENDED(step) or step.existing.generation_id > 0)
    if not (partitions or recorded) or not is_written(step, next_error(step)):
        return
    note_written(step)
    if partitions:
        step.append_record(OffsetsRemoved(tuple(sorted(partitions))))
    if recorded:
        step.append_record(GroupRemoved())
    change = drop_pending_and_producers if TOMBSTONES_END_TRANSACTIONS(step) else mark_newest
    _change(step, lambda log: _without_offsets(change(log, partitions), partitions))
    if step.log is not None and recorded:
        step.log = step.log._replace(group=None, emptied=False)


def removal_fails(step: Step, *, removes: bool) -> bool:
    """Whether a removal cannot be written, so that nothing is removed.

    Source: 4.1 CoordinatorRuntime.java:873.
    """
    return REMOVALS_ARE_APPENDED(step) and removes and step.failing is not None


def fail_removal(step: Step) -> None:
    """Append a removal that fails."""
    finish_append(step, next_error(step))


def _without_offsets(log: Group, partitions: Collection[TopicPartition]) -> Group:
    kept = tuple(entry for entry in log.offsets if entry[0] not in partitions)
    return log._replace(offsets=kept)


def record_offsets(step: Step, entry: OffsetsAppend) -> None:
    """Append committed offsets, of a transaction or not."""
    note_written(step)
    partitions = tuple(partition for partition, _ in entry.offsets)
    step.append_record(OffsetsRecorded(partitions, entry.producer_id))
    if entry.producer_id is not None:
        _change(step, lambda log: pend(log, entry.producer_id or 0, dict(entry.offsets), None))
        return
    for partition, offset in entry.offsets:
        _change(step, partial(_commit, partition=partition, offset=offset))


def record_marker(step: Step, producer_id: int, *, committed: bool) -> None:
    """Append the marker that ends a transaction; the leader of the partition does."""
    note_written(step)
    step.append_record(Marker(producer_id, committed))
    _change(
        step, lambda log: end(log, producer_id, pending_of(log, producer_id) if committed else ())
    )


def _commit(log: Group, partition: TopicPartition, offset: Offset) -> Group:
    log = mark_older(log, partition)
    return log._replace(offsets=put(log.offsets, partition, offset))


def _change(step: Step, change: Callable[[Group], Group]) -> None:
    """Change the offsets in the log, with a function that changes those of a group."""
    if step.log is None:
        return
    log = step.log
    changed = change(
        Group(offsets=log.offsets, transactions=log.transactions, producers=log.producers)
    )
    had = log.emptied or _has_offsets(log)
    log = log._replace(
        offsets=changed.offsets, transactions=changed.transactions, producers=changed.producers
    )
    emptied = had and log.group is None and not _has_offsets(log)
    step.log = log._replace(emptied=emptied and EMPTIED_GROUPS_ARE_LOADED(step))


def _has_offsets(log: Log) -> bool:
    return bool(log.offsets or log.transactions)


PARTS: Final = (
    LOADED_ARE_STATIC,
    REMOVALS_ARE_APPENDED,
    LATE_ERRORS_ARE_APPENDED,
    EMPTIED_GROUPS_ARE_LOADED,
    TOMBSTONES_END_TRANSACTIONS,
)
