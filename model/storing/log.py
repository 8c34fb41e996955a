"""Appends to the log: they complete at once, or when they are released."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from groupcheck.model.engine.rules import Behaviour, Effect, Guard, Table, decide, rule, table
from groupcheck.model.rules.guards import PREPARING
from groupcheck.model.rules.rebalance import listed_members, maybe_prepare_rebalance
from groupcheck.model.rules.replacement import replace
from groupcheck.model.rules.session import answer_parked_syncs, restart_session
from groupcheck.model.rules.transactions import drop_failed, mark_in_log, mark_older
from groupcheck.model.sources import at
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
from groupcheck.model.step import Step
from groupcheck.model.storing.committed import ANSWERS_WAIT
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

AREA: Final = "log"

FAILURES_ARE_UNDONE: Final = Behaviour(
    "failures-are-undone",
    AREA,
    "what cannot be written is undone: a static member is as it was before it came back, and a "
    "transaction has pending what it had before; else the member keeps the protocols it came back "
    "with, and the transaction loses what it had pending of those partitions",
    at("", "", "", "CR:873"),
)
COMMITS_FAIL_WHOLE: Final = Behaviour(
    "commits-fail-whole",
    AREA,
    "a commit that cannot be written fails for all its partitions, those that were refused too",
    at("", "", "", "GCS:1996"),
)
# 0.10.0 has no pending commits and nothing that asks for them: there it only keeps the states equal
# to those of 0.10.2, and the line is where the commit is complete.
COMMITS_ARE_PENDING: Final = Behaviour(
    "commits-are-pending",
    AREA,
    "a partition is unstable while a commit of it is not complete, and for good if its part of a "
    "commit was refused (KAFKA-16371)",
    at("GMM:283", "GMM:317", "GM:609"),
)


def error_to_group(step: Step, error: ErrorCode) -> ErrorCode:
    """The answer of SyncGroup and JoinGroup to the error of an append."""
    return step.profile.group_errors.get(error, error)


def error_to_commit(step: Step, error: ErrorCode) -> ErrorCode:
    """The answer of the other APIs to the error of an append."""
    return step.profile.commit_errors.get(error, error)


def store_assignments(step: Step, assignments: dict[str, bytes], request_id: int) -> None:
    """Append the leader's assignments; members that it leaves out get an empty one.

    Source: 2.7 GroupCoordinator.scala:415.
    """
    group = step.existing
    given = tuple((m.member_id, assignments.get(m.member_id, b"")) for m in group.members)
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_group(step, dict(given))
    kept_id = request_id if ANSWERS_WAIT(step) else None
    append(step, GroupAppend(group.generation_id, given, error, kept_id))


def store_offsets(step: Step, entry: OffsetsAppend) -> None:
    """Append offsets."""
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_offsets(step, entry)
    append(step, entry._replace(error=error))


def store_new_id(step: Step, entry: StaticAppend, old: Member, before: Group) -> None:
    """Append the new id of a static member, with the assignments of before.

    It replaces `old` in the group, which was `before` when the member came back.
    """
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_group(step, {m.member_id: m.assignment for m in step.members})
    else:
        entry = entry._replace(replaced=old.member_id, was_revealed=old.revealed, error=error)
        if FAILURES_ARE_UNDONE(step):
            entry = entry._replace(before=before)
        else:
            member = cast("Member", step.existing.member(entry.revealed))
            entry = entry._replace(offered=member.protocols)
    append(step, entry)


def store_new_group(step: Step, request_id: int) -> None:
    """Append a group that a JoinGroup has created.

    If that fails, the request fails too, unless it has been answered already.
    Source: 4.1 GroupMetadataManager.java:6194.
    """
    error = next_error(step)
    if error is ErrorCode.NONE:
        record_new(step)
        return
    waits = any(member.awaiting_join == request_id for member in step.members)
    forget(step)
    if waits:
        step.answer(request_id, JoinGroupResponse(error_to_group(step, error)))


def append(step: Step, entry: Written) -> None:
    """Append to the log; the append completes now, or with the release."""
    if step.holding and not _completes_at_once(step, entry):
        step.appends = (*step.appends, entry)
    else:
        complete_append(step, entry)
    settle(step, entry.error)


def _completes_at_once(step: Step, entry: Written) -> bool:
    """Where answers wait, a failed append completes at once, and offsets take effect at once."""
    failed = entry.error is not ErrorCode.NONE
    return ANSWERS_WAIT(step) and (failed or isinstance(entry, OffsetsAppend))


def _hold(step: Step, _subject: object) -> None:
    step.holding = True


def _fail(step: Step, given: FailAppends) -> None:
    """Appends that are held already do not fail."""
    step.failing = given if given.number else None


def _release(step: Step, _subject: object) -> None:
    held, step.appends, step.holding, step.committed = step.appends, (), False, None
    for entry in held:
        complete_append(step, entry)


def complete_append(step: Step, entry: Append) -> None:
    """Complete an append."""
    table = COMPLETIONS.get(type(entry))
    if table is not None:
        decide(step, table, entry)


HOLD: Final = table(
    "Appends are held",
    AREA,
    rule(
        "log/hold",
        "appends stay incomplete from now on",
        at("GMM:230", "GMM:213", "GMM:323", "CR:955"),
        Effect("hold appends", _hold),
    ),
)
FAIL: Final = table(
    "Appends fail",
    AREA,
    rule(
        "log/fail",
        "the next appends fail",
        at("GMM:197", "GMM:167", "GMM:276", "CR:802"),
        Effect("let the next appends fail", _fail),
    ),
)
RELEASE: Final = table(
    "Appends are released",
    AREA,
    rule(
        "log/release",
        "the held appends complete",
        at("GMM:270", "GMM:253", "GMM:390", "CR:1946"),
        Effect("complete the held appends in order", _release),
    ),
)
ANSWER_COMMITTED: Final = table(
    "A deferred answer is committed",
    AREA,
    rule(
        "log/answer-released",
        "everything written before the answer is committed, so it is sent",
        at("", "", "", "CR:1947"),
        Effect("send the answer", lambda step, entry: step.answer(entry.request_id, entry.body)),
    ),
)


def awaits(group: Group | None, entry: GroupAppend) -> bool:
    """Whether the group still waits for these assignments."""
    return (
        group is not None
        and group.state is GroupState.COMPLETING_REBALANCE
        and group.generation_id == entry.generation_id
    )


def _assign(step: Step, entry: GroupAppend) -> None:
    assigned = dict(entry.assignments)
    group = step.existing
    step.group = group._replace(
        members=tuple(m._replace(assignment=assigned[m.member_id]) for m in group.members)
    )


def _become_stable(step: Step, _entry: GroupAppend) -> None:
    step.group = step.existing._replace(state=GroupState.STABLE)


_FAILED: Final = Guard("the append failed", lambda _step, e: e.error is not ErrorCode.NONE)
# Source: 2.7 GroupCoordinator.scala:427.
ASSIGNMENTS_APPENDED: Final = table(
    "The append of assignments completes",
    AREA,
    rule(
        "log/assignments-outdated",
        "the assignments are stored too late: the group has moved on, and they have no effect",
        at("GC:281", "GC:275", "GC:427", "GMM:7430"),
        Guard(
            "the group does not wait for them any more",
            lambda step, entry: not awaits(step.group, entry),
        ),
    ),
    rule(
        "log/assignments-failed",
        "the assignments cannot be stored: every parked SyncGroup fails, a rebalance begins",
        at("GC:282", "GC:276", "GC:429", "GMM:7431"),
        _FAILED,
        Effect(
            "answer every parked SyncGroup with the mapped error",
            lambda step, e: answer_parked_syncs(step, error_to_group(step, e.error)),
        ),
        Effect("prepare a rebalance", lambda step, _e: maybe_prepare_rebalance(step)),
    ),
    rule(
        "log/assignments-stored",
        "the assignments are stored, so every parked SyncGroup is answered",
        at("GC:286", "GC:280", "GC:432", "GMM:7438"),
        Effect("assign", _assign),
        Effect(
            "answer every parked SyncGroup with its assignment",
            lambda step, _e: answer_parked_syncs(step, ErrorCode.NONE),
        ),
        Effect("move to Stable", _become_stable),
    ),
)


def _returned(step: Step, entry: StaticAppend) -> Member | None:
    """The static member that came back, under the id that it has by now."""
    if entry.member_id is None or step.group is None:
        return None
    return step.group.member(entry.member_id)


def _is_outdated(step: Step, entry: StaticAppend) -> bool:
    if entry.outlived is not None:
        return False
    group, member = step.group or Group(), _returned(step, entry)
    if member is None:
        return True
    if entry.error is not ErrorCode.NONE:
        return member.member_id != entry.revealed
    # While a rebalance is prepared Kafka fails to list the members (4.1 ClassicGroup.java:1311).
    unlisted = _leads_by_now(group, entry) and group.state is PREPARING
    return member.awaiting_join is None or unlisted


def _drop_parked(step: Step, entry: StaticAppend) -> None:
    """On an error, Kafka fails once the member has its old protocols back, and drops its JoinGroup.

    Source: 2.7 GroupCoordinator.scala:1061.
    """
    member = _returned(step, entry)
    if member is not None and entry.error is not ErrorCode.NONE:
        member = _with_old_protocols(entry, member)
        step.group = step.existing.with_member(member._replace(awaiting_join=None))


def _with_old_protocols(entry: StaticAppend, member: Member) -> Member:
    """Kafka keeps the protocols to go back to only once the new ones have replaced them."""
    return member if entry.before is not None else member._replace(protocols=entry.offered)


def _revert(step: Step, entry: StaticAppend) -> None:
    """The member has its old id again; where failures are undone, the group is as it was."""
    if entry.outlived is not None:
        request_id, answer = entry.outlived
        step.answer(request_id, _not_stored(step, entry, answer))
        return
    member = _with_old_protocols(entry, cast("Member", _returned(step, entry)))
    refuse_new_id(step, entry)
    if entry.before is not None:
        _restore(step, entry.before, entry.replaced)
        return
    answered = member._replace(awaiting_join=None)
    restart_session(step, replace(step, answered, entry.replaced, revealed=entry.was_revealed))


def _restore(step: Step, before: Group, member_id: str) -> None:
    """The group is as it was; no request of the member is parked, and its session timer restarts.

    Source: 4.1 GroupMetadataManager.java:7254.
    """
    step.group = before
    old = cast("Member", before.member(member_id))
    restart_session(step, old._replace(awaiting_join=None, awaiting_sync=None))


def _reveal_new_id(step: Step, entry: StaticAppend) -> None:
    if entry.outlived is not None:
        step.answer(*entry.outlived)
        return
    group, member = step.existing, cast("Member", _returned(step, entry))
    step.answer(cast("int", member.awaiting_join), new_id_answer(group, entry))
    revealed = (
        member.revealed or entry.revealed == member.member_id
    )  # it may be an earlier id's answer
    step.group = group.with_member(member._replace(awaiting_join=None, revealed=revealed))


# Answered if it still waits, whatever the group does now: 2.7 GroupCoordinator.scala:1073.
NEW_ID_APPENDED: Final = table(
    "The append of a static member's new id completes",
    AREA,
    rule(
        "log/new-id-outdated",
        "the new id of a static member is stored too late: it was answered or is gone",
        at("", "", "GM:513", "CG:1228"),
        Guard("its JoinGroup is not parked any more", _is_outdated),
        Effect("on an error, drop its parked JoinGroup", _drop_parked),
        words_of={
            "4.1": "the new id of a static member is stored too late: it was answered or is "
            "gone, or leads a group that prepares a rebalance, where Kafka fails to list the "
            "members"
        },
    ),
    rule(
        "log/new-id-failed",
        "the new id of a static member cannot be stored: it has its old one again, and the "
        "request fails",
        at("", "", "GC:1062", "GMM:7254"),
        _FAILED,
        Effect("answer the mapped error, and give the member its old id back", _revert),
    ),
    rule(
        "log/new-id-stored",
        "the new id of a static member is stored, and the answer reveals it",
        at("", "", "GC:1073", "GMM:7274"),
        Effect("answer with the new id", _reveal_new_id),
    ),
)


def new_id_answer(group: Group, entry: StaticAppend) -> JoinGroupResponse:
    """The answer to a static member that came back, once its new id is stored."""
    leader = group.leader if entry.current else entry.leader
    leads = _leads_by_now(group, entry)
    return JoinGroupResponse(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        leader or NO_MEMBER_ID,
        entry.revealed,
        listed_members(group) if leads else (),
        leads,
    )


def _leads_by_now(group: Group, entry: StaticAppend) -> bool:
    """Whether the answer lists the members, as the member leads when the append completes."""
    return entry.current and group.leader == entry.revealed


def _not_stored(step: Step, entry: StaticAppend, answer: JoinGroupResponse) -> JoinGroupResponse:
    return answer._replace(
        error_code=error_to_group(step, entry.error),
        leader=entry.leader or NO_MEMBER_ID,
        member_id=NO_MEMBER_ID,
        members=(),
        skip_assignment=False,
    )


def refuse_new_id(step: Step, entry: StaticAppend) -> None:
    """Answer the mapped error to a static member that came back and still waits."""
    group = step.existing
    member = _returned(step, entry)
    if member is not None and member.awaiting_join is not None:
        granted = new_id_answer(group, entry._replace(current=False))
        step.answer(member.awaiting_join, _not_stored(step, entry, granted))


def _has_group(step: Step, entry: OffsetsAppend) -> Group | None:
    """The group that the commit was for; of one deleted or unloaded since nothing can be read.

    Source: 2.7 GroupMetadataManager.scala:405.
    """
    return None if entry.orphaned or entry.outlived else step.group


def _make_readable(step: Step, entry: OffsetsAppend) -> None:
    """The offsets can be read, except of a partition whose offset was deleted meanwhile.

    Source: 2.7 GroupMetadata.scala:584.
    """
    group = _has_group(step, entry)
    if group is None:
        return
    awaited = dict(group.unstable)
    offsets = group.offsets
    for partition, offset in entry.offsets:
        if partition in awaited or not COMMITS_ARE_PENDING(step):
            offsets = put(offsets, partition, offset)
            group = mark_older(group, partition)
    step.group = group._replace(offsets=offsets)


def _end_pending(step: Step, entry: OffsetsAppend) -> None:
    group = _has_group(step, entry)
    if group is None:
        return
    stored = {partition for partition, _ in entry.offsets}
    unstable = tuple(
        (partition, request_id)
        for partition, request_id in group.unstable
        if partition not in stored or request_id != entry.request_id
    )
    step.group = group._replace(unstable=unstable)


def _await_marker(step: Step, entry: OffsetsAppend) -> None:
    group = _has_group(step, entry)
    if group is not None:
        step.group = mark_in_log(group, entry)


def _drop_failed(step: Step, entry: OffsetsAppend) -> None:
    group = _has_group(step, entry)
    if group is not None:
        step.group = drop_failed(group, entry)


def _answer_commit(step: Step, entry: OffsetsAppend) -> None:
    error = error_to_commit(step, entry.error)
    errors = [(partition, error) for partition, _ in entry.offsets]
    whole = entry.error is not ErrorCode.NONE and COMMITS_FAIL_WHOLE(step)
    refusal = error if whole else ErrorCode.OFFSET_METADATA_TOO_LARGE
    errors += [(partition, refusal) for partition in entry.refused]
    transactional = entry.producer_id is not None
    step.answer(entry.request_id, commit_response(errors, transactional=transactional))


_TRANSACTIONAL: Final = Guard(
    "the offsets are a transaction's", lambda _step, entry: entry.producer_id is not None
)
_ANSWER: Final = Effect("answer the commit", _answer_commit)
_END_PENDING: Final = Effect("its partitions are not unstable any more", _end_pending)
_FORGET_FAILED: Final = Effect(
    "drop what the producer has pending of those partitions", _drop_failed
).only(at("", "", "GM:632"))
OFFSETS_APPENDED: Final = table(
    "The append of offsets completes",
    AREA,
    rule(
        "log/transaction-failed",
        "the offsets of a transaction cannot be stored: they are dropped, and the commit fails",
        at("", "", "GM:632", "GCS:2037"),
        _FAILED,
        _TRANSACTIONAL,
        _FORGET_FAILED,
        _ANSWER,
    ),
    rule(
        "log/offsets-failed",
        "the offsets cannot be stored, and the commit fails",
        at("GMM:291", "GMM:283", "GMM:430", "GCS:1996"),
        _FAILED,
        _END_PENDING,
        _ANSWER,
    ),
    rule(
        "log/offsets-outlive-group",
        "the offsets are stored, but the group they were for is unloaded: no more effect",
        at("GMM:283", "GMM:266", "GMM:405"),
        Guard("the group was unloaded meanwhile", lambda _step, entry: entry.outlived),
        _ANSWER,
    ),
    rule(
        "log/transaction-stored",
        "the offsets of a transaction are stored, and its marker is awaited before they can be "
        "read",
        at("", "", "GMM:408", "OMM:1169"),
        _TRANSACTIONAL,
        Effect("await the marker of the transaction", _await_marker),
        _ANSWER,
        deferred=at("", "", "", "CR:827"),
    ),
    rule(
        "log/offsets-stored",
        "the offsets are stored and can be read",
        at("GMM:283", "GMM:268", "GMM:410", "OMM:1155"),
        Effect("make the offsets readable", _make_readable),
        _END_PENDING,
        _ANSWER,
        deferred=at("", "", "", "CR:827"),
    ),
)
COMPLETIONS: Final[dict[type, Table]] = {
    GroupAppend: ASSIGNMENTS_APPENDED,
    StaticAppend: NEW_ID_APPENDED,
    OffsetsAppend: OFFSETS_APPENDED,
    HeldAnswer: ANSWER_COMMITTED,
}


def commit_response(
    errors: Iterable[tuple[TopicPartition, ErrorCode]], *, transactional: bool = False
) -> OffsetCommitResponse | TxnOffsetCommitResponse:
    """The answer to OffsetCommit or TxnOffsetCommit, topics and partitions in order."""
    topics: dict[str, list[OffsetCommitResponsePartition]] = {}
    for (topic, index), error in sorted(errors):
        topics.setdefault(topic, []).append(OffsetCommitResponsePartition(index, error))
    response = TxnOffsetCommitResponse if transactional else OffsetCommitResponse
    return response(
        tuple(OffsetCommitResponseTopic(name, tuple(found)) for name, found in topics.items())
    )


PARTS: Final = (
    FAILURES_ARE_UNDONE,
    COMMITS_FAIL_WHOLE,
    COMMITS_ARE_PENDING,
    HOLD,
    FAIL,
    RELEASE,
    ASSIGNMENTS_APPENDED,
    NEW_ID_APPENDED,
    OFFSETS_APPENDED,
    ANSWER_COMMITTED,
)
