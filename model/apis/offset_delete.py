"""OffsetDelete (GroupCoordinator.scala:551): offsets that no member of the group needs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from operator import itemgetter
from typing import cast

from groupcheck.model.apis.delete_groups import forget_group, offsets_in_log
from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.rebalance import EMPTY
from groupcheck.model.rules.subscription import CONSUMER
from groupcheck.model.rules.transactions import forget, forget_with_producers
from groupcheck.model.state import Group, TopicPartition
from groupcheck.model.step import Rule, Step, decide, gc, no_group, source
from groupcheck.model.storing.records import removal_fails, remove_from_log
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    Request,
)

NOT_STORED = Rule(
    "offset-delete/not-stored",
    "that the offsets are gone cannot be stored, so they are not, and whoever deletes them is told",
    source("GroupCoordinatorService.java")(2072),
)


def offset_delete(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.offset_delete)


def _body(request: Request) -> OffsetDeleteRequest:
    return cast("OffsetDeleteRequest", request.body)


def _named(step: Step, request: Request) -> list[tuple[str, list[int]]]:
    """The topics and partitions, as often as the version answers for them."""
    topics = _body(request).topics
    named = [(t.name, [p.partition_index for p in t.partitions]) for t in topics if t.partitions]
    if step.profile.traits.answers_as_asked:
        return named
    each = sorted({(name, index) for name, indexes in named for index in indexes})
    return [(name, [index for _, index in those]) for name, those in groupby(each, itemgetter(0))]


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(request.request_id, OffsetDeleteResponse(error))


def _delete(step: Step, request: Request) -> None:
    """Delete what is not subscribed to; an Empty group that has no offset left is gone with it."""
    reason = step.fired[-1]
    named = _named(step, request)
    refused = {name for name, _ in named if _is_subscribed(step.existing, name)}
    deleted = {(name, i) for name, indexes in named for i in indexes if name not in refused}
    removed = offsets_in_log(step) & deleted
    if removal_fails(step, removes=bool(removed)):
        step.fire(NOT_STORED)
        _refuse(step.profile.commit_errors.get(step.failed, step.failed))(step, request)
        return
    step.group = _without(step, deleted)
    dies = bool(deleted) and _dies_without_offsets(step)
    remove_from_log(step, removed, with_group=dies)
    if dies:
        forget_group(step)
    answer = tuple(_answer(name, indexes, refused=name in refused) for name, indexes in named)
    step.answer(request.request_id, OffsetDeleteResponse(ErrorCode.NONE, answer), reason)


def _answer(name: str, indexes: list[int], *, refused: bool) -> OffsetDeleteResponseTopic:
    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if refused else ErrorCode.NONE
    return OffsetDeleteResponseTopic(
        name, tuple(OffsetDeleteResponsePartition(index, error) for index in indexes)
    )


def _is_subscribed(group: Group, topic: str) -> bool:
    """Whether a member may need it: where subscriptions are not known, any may."""
    if group.state is EMPTY:
        return False
    return group.subscribed is None or topic in group.subscribed


def _without(step: Step, partitions: set[TopicPartition]) -> Group:
    """The group without those offsets, those on their way and those of transactions (GM:699)."""
    ends = step.profile.traits.tombstones_end_transactions
    group = (forget_with_producers if ends else forget)(step.existing, partitions)
    return group._replace(
        offsets=tuple(entry for entry in group.offsets if entry[0] not in partitions),
        unstable=tuple(entry for entry in group.unstable if entry[0] not in partitions),
    )


def has_offsets(group: Group) -> bool:
    """Whether offsets are left, or expected (GroupMetadata.scala:782)."""
    return bool(group.offsets or group.unstable or group.producers)


def _dies_without_offsets(step: Step) -> bool:
    """Whether an Empty group goes with its last offset."""
    group = step.existing
    kept = group.state is not EMPTY or not step.profile.traits.last_offset_takes_group
    return not (kept or has_offsets(group))


RULES = (
    Rule(
        "offset-delete/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=_refuse(ErrorCode.INVALID_GROUP_ID),
    ),
    *gate("offset-delete", _refuse),
    Rule(
        "offset-delete/no-group",
        "the group does not exist",
        gc(563),
        when=no_group,
        then=_refuse(ErrorCode.GROUP_ID_NOT_FOUND),
    ),
    Rule(
        "offset-delete/empty",
        "the group has no members, so nobody needs its offsets",
        gc(574),
        when=lambda step, _request: step.existing.state is EMPTY,
        then=_delete,
    ),
    Rule(
        "offset-delete/consumers",
        "the group has members: offsets of topics that they have subscribed to are kept",
        gc(577),
        when=lambda step, _request: step.existing.protocol_type == CONSUMER,
        then=_delete,
    ),
    Rule(
        "offset-delete/not-consumers",
        "the group has members, and nobody knows which topics they need",
        gc(584),
        then=_refuse(ErrorCode.NON_EMPTY_GROUP),
    ),
)
