"""OffsetFetch (2.7 GroupCoordinator.scala:794): it checks neither members nor states."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from operator import itemgetter
from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.apis.offset_commit import ANSWERS_EACH_MENTION
from groupcheck.model.classic.rules.guards import (
    DEFERRED,
    NO_GROUP,
    Checks,
    body_of,
    is_of_another,
    replies,
)
from groupcheck.model.classic.rules.transactions import awaiting_marker
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, TopicPartition
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.committed import read
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, decide, rule, table
from groupcheck.model.vocabulary import ErrorCode, Request

API: Final = "OffsetFetch"

EMPTY_LIST_IS_ALL: Final = Behaviour(
    "empty-fetch-fetches-all",
    API,
    "a request that names no partition fetches all partitions",
    at("GMM:327"),
)


def offset_fetch(step: Step, request: Request) -> None:
    """The API; in some versions a fetch of stable offsets waits until all records are committed."""
    if _body(request).require_stable and not is_of_another(step, request):
        decide(step, FETCH, request)
    else:
        read(step, FETCH, request)


_body: Final = body_of(kafka.OffsetFetchRequest)


def _wanted(step: Step, group: Group, request: Request) -> list[tuple[str, list[int]]]:
    """The topics and partitions to answer; every committed one if the request names none."""
    topics = _body(request).topics
    if topics is None or (not topics and EMPTY_LIST_IS_ALL(step)):
        partitions = [partition for partition, _ in group.offsets]
    elif ANSWERS_EACH_MENTION(step):
        return [(topic.name, list(topic.partition_indexes)) for topic in topics]
    else:
        named = {(topic.name, index) for topic in topics for index in topic.partition_indexes}
        partitions = sorted(named)
    return [
        (name, [index for _, index in those]) for name, those in groupby(partitions, itemgetter(0))
    ]


# Older request versions return the error in each partition (OffsetFetchRequest.java).
ERROR_OF_ALL_SINCE: Final = 2


def _refuse(step: Step, request: Request, error: ErrorCode) -> None:
    """Answer an error: of the whole request, or in the older versions of each partition.

    Each partition once (2.7 OffsetFetchRequest.java:146), in 4.1 as often as the request names it
    (OffsetFetchResponse.java:241).
    """
    if request.api_version >= ERROR_OF_ALL_SINCE:
        step.answer(request.request_id, kafka.OffsetFetchResponse(error))
        return
    topics = tuple(
        kafka.OffsetFetchResponseTopic(
            name,
            tuple(kafka.OffsetFetchResponsePartition(index, error_code=error) for index in indexes),
        )
        for name, indexes in _wanted(step, Group(), request)
    )
    step.answer(request.request_id, kafka.OffsetFetchResponse(ErrorCode.NONE, topics))


_check: Final = Checks(replies(_refuse))


def _needs_stable(step: Step, request: Request, waiting: Collection[TopicPartition]) -> bool:
    """Whether the request requires a stable offset of a partition without one."""
    return _body(request).require_stable and any(
        (name, index) in waiting
        for name, indexes in _wanted(step, step.existing, request)
        for index in indexes
    )


def _fetch(step: Step, request: Request) -> None:
    group = (None if is_of_another(step, request) else step.group) or Group()
    offsets = dict(group.offsets)
    waiting = awaiting_marker(group) | dict(group.unstable).keys()
    stable = _body(request).require_stable

    def found(partition: TopicPartition) -> kafka.OffsetFetchResponsePartition:
        offset, index = offsets.get(partition), partition[1]
        if stable and partition in waiting:
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
            return kafka.OffsetFetchResponsePartition(index, error_code=error)
        return kafka.OffsetFetchResponsePartition(index, *(offset[:3] if offset else ()))

    answer = tuple(
        kafka.OffsetFetchResponseTopic(name, tuple(found((name, index)) for index in indexes))
        for name, indexes in _wanted(step, group, request)
    )
    step.answer(request.request_id, kafka.OffsetFetchResponse(ErrorCode.NONE, answer))


_FETCH: Final = Effect(
    "answer with the committed offsets: -1 for a partition without one, UNSTABLE_OFFSET_COMMIT "
    "for a partition without a required stable one",
    _fetch,
)
FETCH: Final = table(
    "OffsetFetch",
    API,
    _check("fetch/not-active", at("GC:429", "GC:459", "GC:859", "GCS:1555")),
    _check("fetch/loading", at("", "", "GC:861", "CR:2207")),
    _check("fetch/not-coordinator", at("GC:432", "GC:461", "GC:863", "CR:2209")),
    rule(
        "fetch/no-group",
        "the group does not exist, so nothing is committed",
        at("", "GMM:338", "GMM:492", "OMM:871"),
        NO_GROUP,
        _FETCH,
        deferred=DEFERRED,
    ),
    rule(
        "fetch/unstable",
        "the request requires stable offsets, and a commit of the partition is not complete",
        at("", "", "GMM:510"),
        Guard(
            "the request requires the stable offset of a partition with a pending commit",
            lambda step, request: _needs_stable(
                step, request, {partition for partition, _ in step.existing.unstable}
            ),
        ),
        _FETCH,
    ),
    # In 4.1 a request that waits for an earlier commit is answered after it.
    rule(
        "fetch/in-transaction",
        "the request requires stable offsets, and a transaction that commits the partition is open",
        at("", "", "GM:692", "OMM:900"),
        Guard(
            "the request requires the stable offset of a partition that an open transaction "
            "commits",
            lambda step, request: _needs_stable(step, request, awaiting_marker(step.existing)),
        ),
        _FETCH,
        deferred=DEFERRED,
    ),
    rule(
        "fetch/committed",
        "the committed offsets are returned, -1 for a partition without one",
        at("GMM:323", "GMM:357", "GMM:514", "OMM:915"),
        _FETCH,
        deferred=DEFERRED,
    ),
)
PARTS: Final = (EMPTY_LIST_IS_ALL, FETCH)
