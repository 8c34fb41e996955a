"""OffsetFetch (GroupCoordinator.scala:794): blind to members and states."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from operator import itemgetter
from typing import Final, cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.transactions import awaiting_marker
from groupcheck.model.state import Group, TopicPartition
from groupcheck.model.step import Rule, Step, decide, gm, gmm, no_group
from groupcheck.model.storing.committed import read
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
)


def offset_fetch(step: Step, request: Request) -> None:
    """The API; whoever requires stable offsets waits for what is written, if a version waits."""
    waits = _body(request).require_stable and not _is_another(step, request)
    (decide if waits else read)(step, request, step.profile.offset_fetch)


def _is_another(step: Step, request: Request) -> bool:
    """Whether it is the group without a name that is asked for, and that is not this one.

    Of that, which is in another partition, there is nothing.
    """
    return not _body(request).group_id and not (step.group or Group()).nameless


def _body(request: Request) -> OffsetFetchRequest:
    return cast("OffsetFetchRequest", request.body)


def _wanted(step: Step, group: Group, request: Request) -> list[tuple[str, list[int]]]:
    """The topics and partitions to be told of; every committed one where that is meant."""
    topics, traits = _body(request).topics, step.profile.traits
    if topics is None or (not topics and traits.empty_fetch_is_all):
        partitions = [partition for partition, _ in group.offsets]
    elif traits.answers_as_asked:
        return [(topic.name, list(topic.partition_indexes)) for topic in topics]
    else:
        named = {(topic.name, index) for topic in topics for index in topic.partition_indexes}
        partitions = sorted(named)
    return [
        (name, [index for _, index in those]) for name, those in groupby(partitions, itemgetter(0))
    ]


# Before it an error is told of each partition (OffsetFetchRequest.java).
ERROR_OF_ALL_SINCE: Final = 2


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    """Answer with an error: of the whole, or in the older versions of each partition."""

    def then(step: Step, request: Request) -> None:
        topics: tuple[OffsetFetchResponseTopic, ...] = ()
        if request.api_version < ERROR_OF_ALL_SINCE:
            topics = tuple(
                OffsetFetchResponseTopic(
                    topic.name,
                    tuple(
                        OffsetFetchResponsePartition(index, error_code=error)
                        for index in topic.partition_indexes
                    ),
                )
                for topic in _body(request).topics or ()
            )
        of_all = ErrorCode.NONE if request.api_version < ERROR_OF_ALL_SINCE else error
        step.answer(request.request_id, OffsetFetchResponse(of_all, topics))

    return then


def _unstable(step: Step, request: Request) -> bool:
    return _waits(step, request, {partition for partition, _ in step.existing.unstable})


def _in_transaction(step: Step, request: Request) -> bool:
    return _waits(step, request, awaiting_marker(step.existing))


def _waits(step: Step, request: Request, waiting: Collection[TopicPartition]) -> bool:
    """Whether a stable offset is required of a partition that waits for something."""
    return _body(request).require_stable and any(
        (name, index) in waiting
        for name, indexes in _wanted(step, step.existing, request)
        for index in indexes
    )


def _fetch(step: Step, request: Request) -> None:
    group = (None if _is_another(step, request) else step.group) or Group()
    offsets = dict(group.offsets)
    waiting = awaiting_marker(group) | dict(group.unstable).keys()
    stable = _body(request).require_stable

    def found(partition: TopicPartition) -> OffsetFetchResponsePartition:
        offset, index = offsets.get(partition), partition[1]
        if stable and partition in waiting:
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
            return OffsetFetchResponsePartition(index, error_code=error)
        return OffsetFetchResponsePartition(index, *(offset[:3] if offset else ()))

    answer = tuple(
        OffsetFetchResponseTopic(name, tuple(found((name, index)) for index in indexes))
        for name, indexes in _wanted(step, group, request)
    )
    step.answer(request.request_id, OffsetFetchResponse(ErrorCode.NONE, answer))


RULES = (
    *gate("fetch", _refuse),
    Rule(
        "fetch/no-group",
        "the group does not exist, so nothing is committed",
        gmm(492),
        when=no_group,
        then=_fetch,
    ),
    Rule(
        "fetch/unstable",
        "a stable offset is required while a commit of the partition is on its way to the log",
        gmm(510),
        when=_unstable,
        then=_fetch,
    ),
    Rule(
        "fetch/in-transaction",
        "a stable offset is required while a transaction that commits the partition is open",
        gm(692),
        when=_in_transaction,
        then=_fetch,
    ),
    Rule(
        "fetch/committed",
        "the committed offsets are told, -1 where there is none",
        gmm(514),
        then=_fetch,
    ),
)
