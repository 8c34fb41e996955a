"""Storing is a step of its own: appends that complete at once, or when they are released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from groupcheck.model.rules.rebalance import PREPARING, listed_members, maybe_prepare_rebalance
from groupcheck.model.rules.replacement import replace
from groupcheck.model.rules.session import propagate_assignment, rearm_session
from groupcheck.model.rules.transactions import drop_failed, mark_in_log, mark_older
from groupcheck.model.state import (
    Append,
    FailAppends,
    Group,
    GroupAppend,
    HeldAnswer,
    Member,
    OffsetsAppend,
    StaticAppend,
    TopicPartition,
    Written,
    put,
)
from groupcheck.model.step import Rule, Step, gc, gm, gmm, source
from groupcheck.model.storing.records import next_error, record_group, record_new, record_offsets
from groupcheck.model.storing.revert import forget, settle
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    TxnOffsetCommitResponse,
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
NEW_ID_STORED = Rule(
    "log/new-id-stored", "the new id of a static member is stored, and it is told", gc(1073)
)
TOLD_ALREADY = Rule(
    "log/new-id-outdated",
    "the new id of a static member is stored too late: it was answered or is gone",
    gm(373),
)
TXN_STORED = Rule(
    "log/transaction-stored",
    "the offsets of a transaction are stored, and its marker is awaited before they can be read",
    gmm(408),
)
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
NEW_ID_FAILED = Rule(
    "log/new-id-failed",
    "the new id of a static member cannot be stored: it has its old one again, and is told",
    gc(1062),
)
TXN_FAILED = Rule(
    "log/transaction-failed",
    "the offsets of a transaction cannot be stored: they are forgotten, and the commit is told",
    gm(632),
)
COMMITTED_AT_LAST = Rule(
    "log/answer-released",
    "all that was written before the answer is committed, so it is given",
    source("CoordinatorRuntime.java")(1947),
)
RULES = (
    HOLD,
    RELEASE,
    STABILISE,
    TOO_LATE,
    COMMITTED,
    NEW_ID_STORED,
    TOLD_ALREADY,
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


def store_assignments(step: Step, assignments: dict[str, bytes], request_id: int) -> None:
    """The leader's assignments go to the log, nothing for those it forgot.

    Source: GroupCoordinator.scala:415.
    """
    group = step.existing
    given = tuple((m.member_id, assignments.get(m.member_id, b"")) for m in group.members)
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_group(step, dict(given))
    kept_id = request_id if step.profile.traits.answers_wait else None
    append(step, GroupAppend(group.generation_id, given, error, kept_id))


def store_offsets(step: Step, entry: OffsetsAppend) -> None:
    """Offsets go to the log."""
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_offsets(step, entry)
    append(step, entry._replace(error=error))


def store_new_id(step: Step, entry: StaticAppend, old: Member, before: Group) -> None:
    """The new id of a static member goes to the log, with what everybody was assigned before.

    It had the place of `old` in the group `before` it came back.
    """
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_group(step, {m.member_id: m.assignment for m in step.existing.members})
    else:
        entry = entry._replace(replaced=old.member_id, was_told=old.told, error=error)
        if step.profile.traits.failures_are_undone:
            entry = entry._replace(before=before)
        else:
            member = cast("Member", step.existing.member(entry.told))
            entry = entry._replace(offered=member.protocols)
    append(step, entry)


def store_new_group(step: Step, request_id: int) -> None:
    """A group that a JoinGroup has brought into being goes to the log.

    If that fails, who made it is told, unless it has been answered already.
    Source: 4.1 GroupMetadataManager.java:6194.
    """
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_new(step)
        return
    waits = any(member.awaiting_join == request_id for member in step.existing.members)
    forget(step)
    if waits:
        step.answer(request_id, JoinGroupResponse(step.profile.group_errors.get(error, error)))


def append(step: Step, entry: Written) -> None:
    """Append to the log; the completion comes now, or with the release."""
    if step.holding and not _completes_at_once(step, entry):
        step.appends = (*step.appends, entry)
    else:
        complete_append(step, entry)
    settle(step, entry.error)


def _completes_at_once(step: Step, entry: Written) -> bool:
    """Where it is the answers that wait: what fails does so at once, and offsets take effect."""
    failed = entry.error is not ErrorCode.NONE
    return step.profile.traits.answers_wait and (failed or isinstance(entry, OffsetsAppend))


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
    held, step.appends, step.holding, step.committed = step.appends, (), False, None
    for entry in held:
        complete_append(step, entry)


def complete_append(step: Step, entry: Append) -> None:
    """What the completion of an append brings about."""
    if isinstance(entry, GroupAppend):
        complete_group_append(step, entry)
    elif isinstance(entry, StaticAppend):
        complete_static_append(step, entry)
    elif isinstance(entry, OffsetsAppend):
        complete_offsets_append(step, entry)
    elif isinstance(entry, HeldAnswer):
        step.fire(COMMITTED_AT_LAST)
        step.answer(entry.request_id, entry.body)


def complete_group_append(step: Step, entry: GroupAppend) -> None:
    """The assignments reach the members, if the group still waits.

    Source: GroupCoordinator.scala:427.
    """
    group = step.group or Group()
    if not awaits(group, entry):
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


def awaits(group: Group | None, entry: GroupAppend) -> bool:
    """Whether the group still waits for these assignments."""
    return (
        group is not None
        and group.state is GroupState.COMPLETING_REBALANCE
        and group.generation_id == entry.generation_id
    )


def complete_static_append(step: Step, entry: StaticAppend) -> None:
    """A static member that came back is answered if it still waits, whatever the group does now.

    Source: GroupCoordinator.scala:1073.
    """
    if entry.outlived is not None:
        _answer_outlived(step, entry, *entry.outlived)
        return
    group = step.group or Group()
    member = group.member(entry.member_id) if entry.member_id is not None else None
    if member is not None and entry.error is not ErrorCode.NONE:
        _revert(step, entry, member)
        return
    # While a rebalance is prepared Kafka fails to list the members (4.1 ClassicGroup.java:1311).
    unlisted = _leads_by_now(group, entry) and group.state is PREPARING
    if member is None or member.awaiting_join is None or unlisted:
        step.fire(TOLD_ALREADY)
        return
    step.fire(NEW_ID_STORED)
    step.answer(member.awaiting_join, told_new_id(group, entry))
    told = member.told or entry.told == member.member_id  # it may be an earlier id's answer
    step.group = group.with_member(member._replace(awaiting_join=None, told=told))


def told_new_id(group: Group, entry: StaticAppend) -> JoinGroupResponse:
    """What a static member that came back is answered once its new id is stored."""
    leader = group.leader if entry.current else entry.leader
    leads = _leads_by_now(group, entry)
    return JoinGroupResponse(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        leader or NO_MEMBER_ID,
        entry.told,
        listed_members(group) if leads else (),
        leads,
    )


def _leads_by_now(group: Group, entry: StaticAppend) -> bool:
    """Whether it is to be told the members as the leader that it is when the append completes."""
    return entry.current and group.leader == entry.told


def _answer_outlived(
    step: Step, entry: StaticAppend, request_id: int, answer: JoinGroupResponse
) -> None:
    failed = entry.error is not ErrorCode.NONE
    step.fire(NEW_ID_FAILED if failed else NEW_ID_STORED)
    step.answer(request_id, _not_stored(step, entry, answer) if failed else answer)


def _not_stored(step: Step, entry: StaticAppend, answer: JoinGroupResponse) -> JoinGroupResponse:
    return answer._replace(
        error_code=step.profile.group_errors.get(entry.error, entry.error),
        leader=entry.leader or NO_MEMBER_ID,
        member_id=NO_MEMBER_ID,
        members=(),
        skip_assignment=False,
    )


def _revert(step: Step, entry: StaticAppend, member: Member) -> None:
    """The member has its old id again, but offers what it came back with, unless that is undone.

    Kafka keeps the protocols to go back to only once the new ones are in their place. If the member
    has come back yet again under a third id, it fails once they are back and whoever waits is
    forgotten (GroupCoordinator.scala:1061): the later JoinGroup is never answered.
    """
    if entry.before is None:
        member = member._replace(protocols=entry.offered)
    if member.member_id != entry.told:
        step.fire(TOLD_ALREADY)
        step.group = step.existing.with_member(member._replace(awaiting_join=None))
        return
    step.fire(NEW_ID_FAILED)
    refuse_new_id(step, entry)
    if entry.before is not None:
        _restore(step, entry.before, entry.replaced)
        return
    waiting_no_more = member._replace(awaiting_join=None)
    rearm_session(step, replace(step, waiting_no_more, entry.replaced, told=entry.was_told))


def refuse_new_id(step: Step, entry: StaticAppend) -> None:
    """A static member that came back, and still waits, is told that its new id is not stored."""
    group = step.existing
    member = group.member(entry.member_id) if entry.member_id is not None else None
    if member is not None and member.awaiting_join is not None:
        told = told_new_id(group, entry._replace(current=False))
        step.answer(member.awaiting_join, _not_stored(step, entry, told))


def _restore(step: Step, before: Group, member_id: str) -> None:
    """All is as it was, but that nobody waits any more, and the session begins anew.

    Source: 4.1 GroupMetadataManager.java:7252.
    """
    step.group = before
    old = cast("Member", before.member(member_id))
    rearm_session(step, old._replace(awaiting_join=None, awaiting_sync=None))


def complete_offsets_append(step: Step, entry: OffsetsAppend) -> None:
    """The commit is answered, and its offsets can be read or wait for their marker.

    Of a group that was deleted or unloaded meanwhile nothing is left to read
    (GroupMetadataManager.scala:405).
    """
    step.fire(_how_it_ends(entry))
    group = step.group
    if group is not None and not entry.orphaned and not entry.outlived:
        if entry.producer_id is None:
            step.group = _no_longer_on_its_way(_made_readable(step, group, entry), entry)
        elif entry.error is ErrorCode.NONE:
            step.group = mark_in_log(group, entry)
        elif not step.profile.traits.failures_are_undone:
            step.group = drop_failed(group, entry)
    error = step.profile.commit_errors.get(entry.error, entry.error)
    errors = [(partition, error) for partition, _ in entry.offsets]
    whole = entry.error is not ErrorCode.NONE and step.profile.traits.commits_fail_whole
    refusal = error if whole else ErrorCode.OFFSET_METADATA_TOO_LARGE
    errors += [(partition, refusal) for partition in entry.refused]
    answer = commit_response(errors)
    transactional = entry.producer_id is not None
    body = TxnOffsetCommitResponse(answer.topics) if transactional else answer
    step.answer(entry.request_id, body)


def _how_it_ends(entry: OffsetsAppend) -> Rule:
    if entry.error is not ErrorCode.NONE:
        return NOT_COMMITTED if entry.producer_id is None else TXN_FAILED
    if entry.outlived:
        return OUTLIVED
    return COMMITTED if entry.producer_id is None else TXN_STORED


def _made_readable(step: Step, group: Group, entry: OffsetsAppend) -> Group:
    """The group with the offsets of a commit, if it has not failed (GroupMetadata.scala:584).

    Whose partition's offset was deleted meanwhile is not stored after all.
    """
    if entry.error is not ErrorCode.NONE:
        return group
    awaited = dict(group.unstable)
    offsets = group.offsets
    for partition, offset in entry.offsets:
        if partition in awaited or not step.profile.traits.commits_are_unstable:
            offsets = put(offsets, partition, offset)
            group = mark_older(group, partition)
    return group._replace(offsets=offsets)


def _no_longer_on_its_way(group: Group, entry: OffsetsAppend) -> Group:
    stored = {partition for partition, _ in entry.offsets}
    unstable = tuple(
        (partition, request_id)
        for partition, request_id in group.unstable
        if partition not in stored or request_id != entry.request_id
    )
    return group._replace(unstable=unstable)


def commit_response(errors: Iterable[tuple[TopicPartition, ErrorCode]]) -> OffsetCommitResponse:
    """The answer to OffsetCommit, topics and partitions in order."""
    topics: dict[str, list[OffsetCommitResponsePartition]] = {}
    for (topic, index), error in sorted(errors):
        topics.setdefault(topic, []).append(OffsetCommitResponsePartition(index, error))
    return OffsetCommitResponse(
        tuple(OffsetCommitResponseTopic(name, tuple(found)) for name, found in topics.items())
    )
