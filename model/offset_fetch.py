"""OffsetFetch (GroupCoordinator.scala:794): blind to members and states."""

from __future__ import annotations

from typing import cast

from groupcheck.model.state import Group, TopicPartition
from groupcheck.model.step import Rule, Step, decide, gm, gmm, no_group
from groupcheck.model.transactions import awaiting_marker
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
)


def offset_fetch(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.offset_fetch)


def _body(request: Request) -> OffsetFetchRequest:
    return cast("OffsetFetchRequest", request.body)


def _wanted(step: Step, group: Group, request: Request) -> list[TopicPartition]:
    """The partitions asked for; every committed one where that is meant."""
    topics = _body(request).topics
    if topics is None or (not topics and step.profile.traits.empty_fetch_is_all):
        return [partition for partition, _ in group.offsets]
    return sorted({(topic.name, index) for topic in topics for index in topic.partition_indexes})


def _unstable(step: Step, request: Request) -> bool:
    group = step.existing
    waiting = {partition for partition, _ in group.unstable}
    return _body(request).require_stable and not waiting.isdisjoint(_wanted(step, group, request))


def _in_transaction(step: Step, request: Request) -> bool:
    group = step.existing
    waiting = awaiting_marker(group)
    return _body(request).require_stable and not waiting.isdisjoint(_wanted(step, group, request))


def _fetch(step: Step, request: Request) -> None:
    group = step.group or Group()
    offsets = dict(group.offsets)
    waiting = awaiting_marker(group) | dict(group.unstable).keys()
    topics: dict[str, list[OffsetFetchResponsePartition]] = {}
    for topic, index in _wanted(step, group, request):
        offset = offsets.get((topic, index))
        if _body(request).require_stable and (topic, index) in waiting:
            found = OffsetFetchResponsePartition(index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        elif offset is None:
            found = OffsetFetchResponsePartition(index)
        else:
            found = OffsetFetchResponsePartition(index, *offset)
        topics.setdefault(topic, []).append(found)
    answer = tuple(OffsetFetchResponseTopic(name, tuple(found)) for name, found in topics.items())
    step.answer(request.request_id, OffsetFetchResponse(ErrorCode.NONE, answer))


RULES = (
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
