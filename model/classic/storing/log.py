"""Appends to the log: they complete at once, or when they are released."""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model.classic.apis import delete_groups
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    FailAppends,
    Group,
    GroupAppend,
    Member,
    OffsetsAppend,
    StaticAppend,
    Written,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.storing.completions import (
    ANSWER_COMMITTED,
    ASSIGNMENTS_APPENDED,
    COMMITS_ARE_PENDING,
    COMMITS_FAIL_EVERYWHERE,
    OFFSETS_APPENDED,
    complete_append,
)
from groupcheck.model.classic.storing.new_ids import AREA, NEW_ID_APPENDED, error_to_group
from groupcheck.model.classic.storing.records import (
    is_written,
    next_error,
    record_group,
    record_new,
    record_offsets,
)
from groupcheck.model.classic.storing.rollback import finish_append, undo_creation
from groupcheck.model.engine.rules import Behaviour, Effect, single
from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse

FAILURES_ARE_ROLLED_BACK: Final = Behaviour(
    "failed-appends-are-rolled-back",
    AREA,
    "a failed append is rolled back: a static member is as it was before it rejoined, and a "
    "transaction has the pending offsets that it had before; otherwise the member keeps the "
    "protocols of its last JoinGroup, and the transaction loses its pending offsets of those "
    "partitions",
    at("", "", "", "CR:873"),
)


def store_assignments(step: Step, assignments: dict[str, bytes], request_id: int) -> None:
    """Append the leader's assignments; members that it leaves out get an empty one.

    Source: 2.7 GroupCoordinator.scala:415.
    """
    group = step.existing
    given = tuple((m.member_id, assignments.get(m.member_id, b"")) for m in group.members)
    error = next_error(step)
    if is_written(step, error):
        record_group(step, dict(given))
    kept_id = request_id if ANSWERS_ARE_DEFERRED(step) else None
    append(step, GroupAppend(group.generation_id, given, error, kept_id))


def store_offsets(step: Step, entry: OffsetsAppend) -> None:
    """Append offsets."""
    error = next_error(step)
    if is_written(step, error):
        record_offsets(step, entry)
    append(step, entry._replace(error=error))


def store_new_id(step: Step, entry: StaticAppend, old: Member, before: Group) -> None:
    """Append the new id of a static member, with the previous assignments.

    It replaces `old` in the group, which was `before` when the member rejoined.
    """
    error = next_error(step)
    if is_written(step, error):
        record_group(step, {m.member_id: m.assignment for m in step.members})
    if error is not ErrorCode.NONE:
        entry = entry._replace(replaced=old.member_id, was_revealed=old.revealed, error=error)
        if FAILURES_ARE_ROLLED_BACK(step):
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
    undo_creation(step)
    if waits:
        step.answer(request_id, JoinGroupResponse(error_to_group(step, error)))


def append(step: Step, entry: Written) -> None:
    """Append to the log; the append completes now, or with the release."""
    if step.holding and not _completes_at_once(step, entry):
        step.appends = (*step.appends, entry)
    else:
        complete_append(step, entry)
    finish_append(step, entry.error)


def _completes_at_once(step: Step, entry: Written) -> bool:
    """Where answers are deferred, failed appends complete and offsets take effect at once."""
    failed = entry.error is not ErrorCode.NONE
    return ANSWERS_ARE_DEFERRED(step) and (failed or isinstance(entry, OffsetsAppend))


def _hold(step: Step, _subject: object) -> None:
    step.holding = True


def _fail(step: Step, given: FailAppends) -> None:
    """Appends that are held already do not fail."""
    step.failing = given if given.number else None


def _release(step: Step, _subject: object) -> None:
    held, step.appends, step.holding, step.committed = step.appends, (), False, None
    for entry in held:
        complete_append(step, entry)
    delete_groups.release(step, held)


HOLD: Final = single(
    "Appends are held",
    AREA,
    "log/hold",
    "appends stay incomplete from now on",
    at("GMM:230", "GMM:213", "GMM:323", "CR:955"),
    Effect("hold appends", _hold),
)
FAIL: Final = single(
    "Appends fail",
    AREA,
    "log/fail",
    "the next appends fail",
    at("GMM:197", "GMM:167", "GMM:276", "CR:802"),
    Effect("make the next appends fail", _fail),
)
RELEASE: Final = single(
    "Appends are released",
    AREA,
    "log/release",
    "the held appends complete",
    at("GMM:270", "GMM:253", "GMM:390", "CR:1946"),
    Effect("complete the held appends in order", _release),
)
PARTS: Final = (
    FAILURES_ARE_ROLLED_BACK,
    COMMITS_FAIL_EVERYWHERE,
    COMMITS_ARE_PENDING,
    HOLD,
    FAIL,
    RELEASE,
    ASSIGNMENTS_APPENDED,
    NEW_ID_APPENDED,
    OFFSETS_APPENDED,
    ANSWER_COMMITTED,
)
