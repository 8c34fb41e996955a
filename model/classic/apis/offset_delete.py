"""OffsetDelete (2.7 GroupCoordinator.scala:551): deletes offsets of topics without subscribers."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple, cast

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.apis.delete_groups import delete_group, offsets_in_log
from groupcheck.model.classic.apis.offset_commit import ANSWERS_EACH_MENTION
from groupcheck.model.classic.rules.guards import (
    DEFERRED,
    EMPTY,
    Checks,
    reply_with,
    state_is,
)
from groupcheck.model.classic.rules.subscription import CONSUMER
from groupcheck.model.classic.rules.transactions import drop_pending, drop_pending_and_producers
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, TopicPartition
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.completions import error_to_commit
from groupcheck.model.classic.storing.records import (
    TOMBSTONES_END_TRANSACTIONS,
    fail_removal,
    removal_fails,
    remove_from_log,
)
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, decide, rule, single, table
from groupcheck.model.vocabulary import ErrorCode, Request

API: Final = "OffsetDelete"

LAST_OFFSET_DELETES_GROUP: Final = Behaviour(
    "last-offset-deletes-group",
    API,
    "an Empty group is deleted with its last offset; otherwise it remains until the cleanup",
    at("", "", "GMM:808"),
)


class Deletion(NamedTuple):
    """A request's topics and partitions as the version answers them, and the rejected topics."""

    request: Request
    named: list[tuple[str, list[int]]]
    refused: set[str]

    @property
    def partitions(self) -> set[TopicPartition]:
        """The partitions whose offsets are deleted."""
        return {
            (name, i) for name, indexes in self.named if name not in self.refused for i in indexes
        }


def _deletion(step: Step, request: Request) -> Deletion:
    topics = cast("kafka.OffsetDeleteRequest", request.body).topics
    named = [(t.name, [p.partition_index for p in t.partitions]) for t in topics if t.partitions]
    if not ANSWERS_EACH_MENTION(step):
        each = sorted({(name, index) for name, indexes in named for index in indexes})
        named = [
            (name, [index for _, index in those]) for name, those in groupby(each, itemgetter(0))
        ]
    refused = {name for name, _ in named if _is_subscribed(step.existing, name)}
    return Deletion(request, named, refused)


_reply: Final = reply_with(kafka.OffsetDeleteResponse)
_check: Final = Checks(_reply)


def _delete(step: Step, request: Request) -> None:
    """Delete the offsets without a subscriber."""
    reason = step.applied[-1]
    deletion = _deletion(step, request)
    if decide(step, OFFSETS_NOT_STORED, deletion) is not None:
        return
    removed = offsets_in_log(step) & deletion.partitions
    step.group = _without(step, deletion.partitions)
    dies = bool(deletion.partitions) and _dies_without_offsets(step)
    remove_from_log(step, removed, with_group=dies)
    if dies:
        delete_group(step)
    answer = tuple(
        _answer(name, indexes, refused=name in deletion.refused) for name, indexes in deletion.named
    )
    step.answer(request.request_id, kafka.OffsetDeleteResponse(ErrorCode.NONE, answer), reason)


def _answer(name: str, indexes: list[int], *, refused: bool) -> kafka.OffsetDeleteResponseTopic:
    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if refused else ErrorCode.NONE
    return kafka.OffsetDeleteResponseTopic(
        name, tuple(kafka.OffsetDeleteResponsePartition(index, error) for index in indexes)
    )


def _is_subscribed(group: Group, topic: str) -> bool:
    """Whether a member may subscribe to the topic; true if the subscriptions are not known."""
    if group.state is EMPTY:
        return False
    return group.subscribed is None or topic in group.subscribed


def _without(step: Step, partitions: set[TopicPartition]) -> Group:
    """The group without those offsets, also pending and transactional ones (2.7 GM:699)."""
    drop = drop_pending_and_producers if TOMBSTONES_END_TRANSACTIONS(step) else drop_pending
    group = drop(step.existing, partitions)
    return group._replace(
        offsets=tuple(entry for entry in group.offsets if entry[0] not in partitions),
        unstable=tuple(entry for entry in group.unstable if entry[0] not in partitions),
    )


def has_offsets(group: Group) -> bool:
    """Whether offsets are left, or pending (2.7 GroupMetadata.scala:782)."""
    return bool(group.offsets or group.unstable or group.producers)


def _dies_without_offsets(step: Step) -> bool:
    """Whether an Empty group is deleted with its last offset."""
    group = step.existing
    return LAST_OFFSET_DELETES_GROUP(step) and group.state is EMPTY and not has_offsets(group)


def _removal_fails(step: Step, deletion: Deletion) -> bool:
    return removal_fails(step, removes=bool(offsets_in_log(step) & deletion.partitions))


def _answer_not_stored(step: Step, deletion: Deletion) -> None:
    reason = step.applied[-1]
    fail_removal(step)
    error = error_to_commit(step, step.failed)
    step.answer(deletion.request.request_id, kafka.OffsetDeleteResponse(error), reason)


OFFSETS_NOT_STORED: Final = single(
    "OffsetDelete whose record fails",
    API,
    "offset-delete/not-stored",
    "the tombstones of the offsets cannot be stored: the offsets remain, and the request fails",
    at("", "", "", "GCS:2072"),
    Guard("the append of the tombstones fails", _removal_fails),
    Effect("answer with the mapped error", _answer_not_stored),
)
_DELETE: Final = Effect(
    "delete the offsets of topics that no member subscribes to, and refuse the others with "
    "GROUP_SUBSCRIBED_TO_TOPIC",
    _delete,
)
OFFSET_DELETE: Final = table(
    "OffsetDelete",
    API,
    _check("offset-delete/invalid-group-id", at("", "", "GC:857", "GCS:2061")),
    _check("offset-delete/not-active", at("", "", "GC:859", "GCS:2055")),
    _check("offset-delete/loading", at("", "", "GC:861", "CR:2207")),
    _check("offset-delete/not-coordinator", at("", "", "GC:863", "CR:2209")),
    _check(
        "offset-delete/no-group",
        at("", "", "GC:563", "OMM:558"),
        _reply(ErrorCode.GROUP_ID_NOT_FOUND),
    ),
    rule(
        "offset-delete/empty",
        "the group has no members, so any of its offsets may be deleted",
        at("", "", "GC:574", "CG:905"),
        state_is(EMPTY),
        _DELETE,
        deferred=DEFERRED,
    ),
    rule(
        "offset-delete/consumers",
        "the group has members: offsets of topics that they subscribe to are not deleted",
        at("", "", "GC:577", "OMM:746"),
        Guard(
            "the group's protocol type is consumer",
            lambda step, _request: step.existing.protocol_type == CONSUMER,
        ),
        _DELETE,
        deferred=DEFERRED,
    ),
    rule(
        "offset-delete/not-consumers",
        "the group has members, and the coordinator does not know which topics they subscribe to",
        at("", "", "GC:584", "CG:902"),
        _reply(ErrorCode.NON_EMPTY_GROUP),
    ),
    moves={"4.1": (("offset-delete/not-active", "offset-delete/invalid-group-id"),)},
)
PARTS: Final = (LAST_OFFSET_DELETES_GROUP, OFFSET_DELETE, OFFSETS_NOT_STORED)
