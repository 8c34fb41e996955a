"""Storing is a step of its own: appends that complete at once, or when they are released."""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.model.session import propagate_assignment
from groupcheck.model.state import (
    Append,
    Group,
    GroupAppend,
    OffsetsAppend,
    StaticAppend,
    TopicPartition,
    put,
)
from groupcheck.model.step import Rule, Step, gc, gm, gmm
from groupcheck.model.transactions import mark_in_log, mark_older
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
RULES = (HOLD, RELEASE, STABILISE, TOO_LATE, COMMITTED, NEW_ID_STORED, TOLD_ALREADY)


def append(step: Step, entry: Append) -> None:
    """Append to the log; the completion comes now, or with the release."""
    if step.existing.unwritten:
        step.group = step.existing._replace(unwritten=False)
    if step.holding:
        step.appends = (*step.appends, entry)
    else:
        complete_append(step, entry)


def hold_appends(step: Step) -> None:
    """From now on appends do not complete."""
    step.fire(HOLD)
    step.holding = True


def release_appends(step: Step) -> None:
    """Complete what was held, in order."""
    step.fire(RELEASE)
    held, step.appends, step.holding = step.appends, (), False
    for entry in held:
        complete_append(step, entry)


def complete_append(step: Step, entry: Append) -> None:
    """What the completion of an append brings about."""
    if isinstance(entry, GroupAppend):
        complete_group_append(step, entry)
    elif isinstance(entry, StaticAppend):
        complete_static_append(step, entry)
    else:
        complete_offsets_append(step, entry)


def complete_group_append(step: Step, entry: GroupAppend) -> None:
    """The assignments reach the members, if the group still waits.

    Source: GroupCoordinator.scala:427.
    """
    group = step.group or Group()
    if group.state is not GroupState.COMPLETING_REBALANCE or (
        group.generation_id != entry.generation_id
    ):
        step.fire(TOO_LATE)
        return
    step.fire(STABILISE)
    assigned = dict(entry.assignments)
    step.group = group._replace(
        members=tuple(m._replace(assignment=assigned[m.member_id]) for m in group.members)
    )
    propagate_assignment(step, ErrorCode.NONE)
    step.group = step.existing._replace(state=GroupState.STABLE)


def complete_static_append(step: Step, entry: StaticAppend) -> None:
    """A static member that came back is answered if it still waits, whatever the group does now.

    Source: GroupCoordinator.scala:1073.
    """
    group = step.group or Group()
    member = group.member(entry.member_id) if entry.member_id is not None else None
    if member is None or member.awaiting_join is None:
        step.fire(TOLD_ALREADY)
        return
    step.fire(NEW_ID_STORED)
    answer = JoinGroupResponse(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        entry.leader or NO_MEMBER_ID,
        entry.told,
    )
    step.answer(member.awaiting_join, answer)
    step.group = group.with_member(member._replace(awaiting_join=None, told=True))


def complete_offsets_append(step: Step, entry: OffsetsAppend) -> None:
    """The commit is answered, and its offsets can be read or wait for their marker.

    Of a group that was deleted meanwhile nothing is left to read (GroupMetadataManager.scala:405).
    """
    step.fire(COMMITTED if entry.producer_id is None else TXN_STORED)
    group = step.group
    if group is not None and not entry.orphaned:
        if entry.producer_id is None:
            step.group = _made_readable(step, group, entry)
        else:
            step.group = mark_in_log(group, entry)
    errors = [(partition, ErrorCode.NONE) for partition, _ in entry.offsets]
    errors += [(partition, ErrorCode.OFFSET_METADATA_TOO_LARGE) for partition in entry.refused]
    answer = commit_response(errors)
    transactional = entry.producer_id is not None
    body = TxnOffsetCommitResponse(answer.topics) if transactional else answer
    step.answer(entry.request_id, body)


def _made_readable(step: Step, group: Group, entry: OffsetsAppend) -> Group:
    """The group with the offsets of a commit (GroupMetadata.scala:584).

    Whose partition's offset was deleted meanwhile is not stored after all.
    """
    awaited = dict(group.unstable)
    offsets = group.offsets
    for partition, offset in entry.offsets:
        if partition in awaited or not step.profile.traits.commits_are_unstable:
            offsets = put(offsets, partition, offset)
            group = mark_older(group, partition)
    stored = {partition for partition, _ in entry.offsets}
    unstable = tuple(
        (partition, request_id)
        for partition, request_id in group.unstable
        if partition not in stored or request_id != entry.request_id
    )
    return group._replace(offsets=offsets, unstable=unstable)


def commit_response(errors: Iterable[tuple[TopicPartition, ErrorCode]]) -> OffsetCommitResponse:
    """The answer to OffsetCommit, topics and partitions in order."""
    topics: dict[str, list[OffsetCommitResponsePartition]] = {}
    for (topic, index), error in sorted(errors):
        topics.setdefault(topic, []).append(OffsetCommitResponsePartition(index, error))
    return OffsetCommitResponse(
        tuple(OffsetCommitResponseTopic(name, tuple(found)) for name, found in topics.items())
    )
