"""DeleteGroups (GroupCoordinator.scala:510): only a group without members can be deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.rebalance import EMPTY
from groupcheck.model.rules.transactions import awaiting_marker
from groupcheck.model.state import Append, GroupAppend, OffsetsAppend, TopicPartition
from groupcheck.model.step import Rule, Step, decide, gc, gmm, no_group, source
from groupcheck.model.storing.committed import note_removed
from groupcheck.model.storing.records import removal_fails, remove_from_log
from groupcheck.model.vocabulary import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ErrorCode,
    Request,
)

DELETED = Rule("group/deleted", "the group is gone with all it had", gmm(834))
NOT_STORED = Rule(
    "delete/not-stored",
    "that the group is gone cannot be stored, so it is not, and whoever deletes it is told",
    source("GroupCoordinatorService.java")(1438),
)


def delete_groups(step: Step, request: Request) -> None:
    """The API; the model holds one group, so one is named."""
    decide(step, request, step.profile.delete_groups)


def _reply(error: ErrorCode, reason: str | None = None) -> Callable[[Step, Request], None]:
    def then(step: Step, request: Request) -> None:
        names = cast("DeleteGroupsRequest", request.body).groups_names
        results = tuple(DeletableGroupResult(name, error) for name in names)
        step.answer(request.request_id, DeleteGroupsResponse(results), reason)

    return then


def _delete(step: Step, request: Request) -> None:
    reason = step.fired[-1]
    if removal_fails(step, removes=True):
        step.fire(NOT_STORED)
        _reply(step.profile.commit_errors.get(step.failed, step.failed))(step, request)
        return
    remove_from_log(step, offsets_in_log(step), with_group=True)
    forget_group(step)
    _reply(ErrorCode.NONE, reason)(step, request)


def offsets_in_log(step: Step) -> set[TopicPartition]:
    """The partitions of which there is an offset to remove, where it counts one that is pending."""
    found = {tp for tp, _ in step.existing.offsets}
    if step.profile.traits.tombstones_end_transactions:
        found |= awaiting_marker(step.existing)
    return found


def forget_group(step: Step) -> None:
    """A group is deleted."""
    step.fire(DELETED)
    dissolve(step)


def dissolve(step: Step) -> None:
    """The group is gone, and so are the ids given out; appends on their way reach nobody."""
    note_removed(step)
    step.group = None
    step.appends = tuple(map(_reaching_nobody, step.appends))


def _reaching_nobody(entry: Append) -> Append:
    if isinstance(entry, OffsetsAppend):
        return entry._replace(orphaned=True)
    return entry._replace(generation_id=0) if isinstance(entry, GroupAppend) else entry


DECISIONS = (
    *gate("delete", _reply),
    Rule(
        "delete/no-group",
        "the group does not exist",
        gc(523),
        when=no_group,
        then=_reply(ErrorCode.GROUP_ID_NOT_FOUND),
    ),
    Rule(
        "delete/not-empty",
        "the group has members",
        gc(534),
        when=lambda step, _request: step.existing.state is not EMPTY,
        then=_reply(ErrorCode.NON_EMPTY_GROUP),
    ),
    Rule("delete/empty", "the group has no members and is deleted", gc(530), then=_delete),
)
RULES = (*DECISIONS, DELETED)
