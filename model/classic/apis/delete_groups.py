"""DeleteGroups (2.7 GroupCoordinator.scala:510): only a group without members can be deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.rules.guards import (
    DEFERRED,
    EMPTY,
    Checks,
    is_of_another,
    replies,
    state_is,
    state_is_not,
)
from groupcheck.model.classic.rules.transactions import awaiting_marker
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    Append,
    GroupAppend,
    HeldAnswer,
    HeldDeletion,
    OffsetsAppend,
    TopicPartition,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.committed import note_removed
from groupcheck.model.classic.storing.completions import error_to_commit
from groupcheck.model.classic.storing.records import (
    TOMBSTONES_END_TRANSACTIONS,
    fail_removal,
    removal_fails,
    remove_from_log,
)
from groupcheck.model.engine.rules import Effect, Guard, decide, rule, single, table
from groupcheck.model.vocabulary import ErrorCode, Request

API: Final = "DeleteGroups"


def _answer(step: Step, request: Request, error: ErrorCode, reason: str | None = None) -> None:
    names = cast("kafka.DeleteGroupsRequest", request.body).groups_names
    results = tuple(kafka.DeletableGroupResult(name, error) for name in names)
    body = kafka.DeleteGroupsResponse(results)
    if _others_write(step):
        step.appends = (*step.appends, HeldAnswer(request.request_id, API, body))
    else:
        step.answer(request.request_id, body, reason)


def _others_write(step: Step) -> bool:
    """Whether another group of the partition has records that are not committed yet."""
    if not (step.config.shares_partition and step.holding):
        return False
    return step.choose("whether another group has something to be committed", (False, True))


_reply: Final = replies(_answer)
_check: Final = Checks(_reply)


def _wait(step: Step, request: Request) -> None:
    body = cast("kafka.DeleteGroupsRequest", request.body)
    step.appends = (*step.appends, HeldDeletion(request.request_id, body))


def release(step: Step, held: Iterable[Append]) -> None:
    """Process the deferred deletions, each in an event of its own after the release."""
    for entry in held:
        if isinstance(entry, HeldDeletion):
            decide(step, DELETE, Request(entry.request_id, 0, entry.body))


def fail_deletion(step: Step, entry: HeldDeletion, error: ErrorCode) -> None:
    """Answer a deferred deletion with the error."""
    _answer(step, Request(entry.request_id, 0, entry.body), error)


def _answer_not_stored(step: Step, request: Request) -> None:
    reason = step.applied[-1]
    fail_removal(step)
    _answer(step, request, error_to_commit(step, step.failed), reason)


def _delete(step: Step, request: Request) -> None:
    reason = step.applied[-1]
    if decide(step, DELETE_NOT_STORED, request) is None:
        remove_from_log(step, offsets_in_log(step), with_group=True)
        delete_group(step)
        _answer(step, request, ErrorCode.NONE, reason)


def offsets_in_log(step: Step) -> set[TopicPartition]:
    """The partitions that have an offset to remove, in some versions pending ones too."""
    found = {tp for tp, _ in step.existing.offsets}
    if TOMBSTONES_END_TRANSACTIONS(step):
        found |= awaiting_marker(step.existing)
    return found


def delete_group(step: Step) -> None:
    """Delete the group."""
    decide(step, DELETED, None)


def remove_group(step: Step, _subject: object = None) -> None:
    """Remove the group with its pending ids; appends in flight reach no member."""
    note_removed(step)
    step.group = None
    step.appends = tuple(map(_reaching_no_member, step.appends))


def _reaching_no_member(entry: Append) -> Append:
    if isinstance(entry, OffsetsAppend):
        return entry._replace(orphaned=True)
    return entry._replace(generation_id=0) if isinstance(entry, GroupAppend) else entry


DELETE_NOT_STORED: Final = single(
    "DeleteGroups whose record fails",
    API,
    "delete/not-stored",
    "the tombstone of the group cannot be stored: the group remains, and the request fails",
    at("", "", "", "GCS:1438"),
    Guard(
        "the append of the tombstone fails",
        lambda step, _request: removal_fails(step, removes=True),
    ),
    Effect("answer with the mapped error", _answer_not_stored),
)
DELETED: Final = single(
    "The group is deleted",
    API,
    "group/deleted",
    "the group is deleted with all its offsets",
    at("", "", "GMM:834", "GMM:6046"),
    Effect("remove the group", remove_group),
)
DELETE: Final = table(
    "DeleteGroups",
    API,
    _check("delete/not-active", at("", "", "GC:859", "GCS:1329")),
    _check("delete/loading", at("", "", "GC:861", "CR:2207")),
    _check("delete/not-coordinator", at("", "", "GC:863", "CR:2209")),
    # Kafka writes twice. The first write has no records, so it only waits (4.1 GCS:1447).
    rule(
        "delete/waits",
        "a record is not committed yet, and the request waits until it is",
        at("", "", "", "CR:997"),
        Guard(
            "a record is not committed yet",
            lambda step, request: (
                not is_of_another(step, request)
                and (step.committed is not None or _others_write(step))
            ),
        ),
        Effect("wait until every record is committed", _wait),
    ),
    _check(
        "delete/no-group",
        at("", "", "GC:523", "GMM:8398"),
        _reply(ErrorCode.GROUP_ID_NOT_FOUND),
    ),
    rule(
        "delete/not-empty",
        "the group has members",
        at("", "", "GC:534", "CG:920"),
        state_is_not(EMPTY),
        _reply(ErrorCode.NON_EMPTY_GROUP),
    ),
    rule(
        "delete/empty",
        "the group has no members and is deleted",
        at("", "", "GC:530", "SHARD:622"),
        state_is(EMPTY),
        Effect("append the tombstones, remove the group, answer NONE", _delete),
        deferred=DEFERRED,
    ),
)
PARTS: Final = (DELETE, DELETE_NOT_STORED, DELETED)
