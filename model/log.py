"""Storing is a step of its own: appends that complete at once, or when they are released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.model.rebalance import maybe_prepare_rebalance
from groupcheck.model.records import next_error, record_group, record_offsets
from groupcheck.model.session import propagate_assignment
from groupcheck.model.state import FailAppends, GroupAppend, OffsetsAppend, put
from groupcheck.model.step import Rule, Step, gc, gmm
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

HOLD = Rule("log/hold", "appends stay incomplete from now on", gmm(323))
RELEASE = Rule("log/release", "the held appends complete", gmm(323))
STABILISE = Rule(
    "log/assignments-stored",
    "the assignments are stored, so every parked SyncGroup is answered",
    gc(432),
)
TOO_LATE = Rule(
    "log/assignments-outdated",
    "the assignments are stored too late: the group has moved on, and nothing comes of it",
    gc(427),
)
COMMITTED = Rule("log/offsets-stored", "the offsets are stored and can be read", gmm(406))
FAIL = Rule("log/fail", "the next appends fail", gmm(276))
NOT_STABILISED = Rule(
    "log/assignments-failed",
    "the assignments cannot be stored, so every parked SyncGroup is told, and a rebalance begins",
    gc(429),
)
NOT_COMMITTED = Rule(
    "log/offsets-failed", "the offsets cannot be stored, and the commit is told", gmm(430)
)
OUTLIVED = Rule(
    "log/offsets-outlive-group",
    "the offsets are stored, but the group they were for is unloaded: nothing more comes of them",
    gmm(405),
)
RULES = (
    HOLD,
    RELEASE,
    STABILISE,
    TOO_LATE,
    COMMITTED,
    FAIL,
    NOT_STABILISED,
    NOT_COMMITTED,
    OUTLIVED,
)

UNAVAILABLE = dict.fromkeys(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)
ELSEWHERE = dict.fromkeys(
    (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR), ErrorCode.NOT_COORDINATOR
)
TOO_LARGE = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)

# What the error of an append is to SyncGroup (GroupMetadataManager.scala:283).
GROUP_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **UNAVAILABLE,
    **ELSEWHERE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}

# And to OffsetCommit (GroupMetadataManager.scala:430).
COMMIT_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **UNAVAILABLE,
    **ELSEWHERE,
    **dict.fromkeys(TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
}


def store_assignments(step: Step, assignments: dict[str, bytes]) -> None:
    """The leader's assignments go to the log, nothing for those it forgot.

    Source: GroupCoordinator.scala:415.
    """
    group = step.existing
    given = tuple((m.member_id, assignments.get(m.member_id, b"")) for m in group.members)
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_group(step, dict(given))
    append(step, GroupAppend(group.generation_id, given, error))


def store_offsets(step: Step, entry: OffsetsAppend) -> None:
    """Offsets go to the log."""
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_offsets(step, entry.offsets)
    append(step, entry._replace(error=error))


def append(step: Step, entry: GroupAppend | OffsetsAppend) -> None:
    """Append to the log; the completion comes now, or with the release."""
    if step.holding:
        step.appends = (*step.appends, entry)
    else:
        complete_append(step, entry)


def hold_appends(step: Step) -> None:
    """From now on appends do not complete."""
    step.fire(HOLD)
    step.holding = True


def fail_appends(step: Step, given: FailAppends) -> None:
    """The next appends fail; those that are held already do not."""
    step.fire(FAIL)
    step.failing = given if given.number else None


def release_appends(step: Step) -> None:
    """Complete what was held, in order."""
    step.fire(RELEASE)
    held, step.appends, step.holding = step.appends, (), False
    for entry in held:
        complete_append(step, entry)


def complete_append(step: Step, entry: GroupAppend | OffsetsAppend) -> None:
    """What the completion of an append brings about."""
    if isinstance(entry, GroupAppend):
        complete_group_append(step, entry)
    else:
        complete_offsets_append(step, entry)


def complete_group_append(step: Step, entry: GroupAppend) -> None:
    """The assignments reach the members, if the group still waits.

    Source: GroupCoordinator.scala:427.
    """
    group = step.existing
    if group.state is not GroupState.COMPLETING_REBALANCE or (
        group.generation_id != entry.generation_id
    ):
        step.fire(TOO_LATE)
        return
    if entry.error is not ErrorCode.NONE:
        step.fire(NOT_STABILISED)
        propagate_assignment(step, step.profile.group_errors.get(entry.error, entry.error))
        maybe_prepare_rebalance(step)
        return
    step.fire(STABILISE)
    assigned = dict(entry.assignments)
    step.group = group._replace(
        members=tuple(m._replace(assignment=assigned[m.member_id]) for m in group.members)
    )
    propagate_assignment(step, ErrorCode.NONE)
    step.group = step.existing._replace(state=GroupState.STABLE)


def complete_offsets_append(step: Step, entry: OffsetsAppend) -> None:
    """The offsets become readable and the commit is answered (GroupMetadataManager.scala:406)."""
    stored = {partition for partition, _ in entry.offsets}
    failed = entry.error is not ErrorCode.NONE
    step.fire(NOT_COMMITTED if failed else OUTLIVED if entry.outlived else COMMITTED)
    if not entry.outlived:
        group = step.existing
        offsets = group.offsets
        for partition, offset in () if failed else entry.offsets:
            offsets = put(offsets, partition, offset)
        unstable = tuple(
            (partition, request_id)
            for partition, request_id in group.unstable
            if partition not in stored or request_id != entry.request_id
        )
        step.group = group._replace(offsets=offsets, unstable=unstable)
    error = step.profile.commit_errors.get(entry.error, entry.error)
    errors = dict.fromkeys(stored, error)
    errors |= dict.fromkeys(entry.refused, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    step.answer(entry.request_id, commit_response(errors))


def commit_response(errors: dict[tuple[str, int], ErrorCode]) -> OffsetCommitResponse:
    """The answer to OffsetCommit, topics and partitions in order."""
    topics: dict[str, list[OffsetCommitResponsePartition]] = {}
    for (topic, index), error in sorted(errors.items()):
        topics.setdefault(topic, []).append(OffsetCommitResponsePartition(index, error))
    return OffsetCommitResponse(
        tuple(OffsetCommitResponseTopic(name, tuple(found)) for name, found in topics.items())
    )
