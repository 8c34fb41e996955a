"""Responses with an error for the whole request, for each API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Final, TypeVar

from groupcheck.implementation.core.offsets import TopicPartition
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, Request, ResponseBody

P = TypeVar("P")
T = TypeVar("T")
WithPartitions = (
    kafka.OffsetCommitRequest
    | kafka.TxnOffsetCommitRequest
    | kafka.OffsetFetchRequest
    | kafka.OffsetDeleteRequest
)


def error_response(request: Request, error: ErrorCode) -> ResponseBody:
    """The response of the request's API with only the error."""
    body = request.body
    if isinstance(body, kafka.OffsetFetchRequest) and request.api_version < _FETCH_ERROR_SINCE:
        return _fetch(body, error)
    return _SHAPES[type(body)](body, error)


def by_topic(
    topic: Callable[[str, tuple[P, ...]], T], partitions: Iterable[tuple[TopicPartition, P]]
) -> tuple[T, ...]:
    """Group partitions by topic, one record for each topic."""
    topics: dict[str, list[P]] = {}
    for (name, _), partition in partitions:
        topics.setdefault(name, []).append(partition)
    return tuple(topic(name, tuple(found)) for name, found in topics.items())


def _join(body: kafka.JoinGroupRequest, error: ErrorCode) -> kafka.JoinGroupResponse:
    return kafka.JoinGroupResponse(error, member_id=body.member_id)


def _describe(body: kafka.DescribeGroupsRequest, error: ErrorCode) -> kafka.DescribeGroupsResponse:
    return kafka.DescribeGroupsResponse(
        tuple(kafka.DescribedGroup(error, name) for name in body.groups)
    )


def _delete(body: kafka.DeleteGroupsRequest, error: ErrorCode) -> kafka.DeleteGroupsResponse:
    names = dict.fromkeys(body.groups_names)
    return kafka.DeleteGroupsResponse(
        tuple(kafka.DeletableGroupResult(name, error) for name in names)
    )


def commit_topics(
    body: kafka.OffsetCommitRequest | kafka.TxnOffsetCommitRequest, errors: Iterator[ErrorCode]
) -> tuple[kafka.OffsetCommitResponseTopic, ...]:
    """The error of each partition of a commit, in the order of the request, duplicates included."""
    return tuple(
        kafka.OffsetCommitResponseTopic(
            topic.name,
            tuple(
                kafka.OffsetCommitResponsePartition(partition.partition_index, next(errors))
                for partition in topic.partitions
            ),
        )
        for topic in body.topics
        if topic.partitions
    )


def each_once(body: WithPartitions) -> Any:  # noqa: ANN401 - a body of the same class
    """The request with each partition once, at its first position, and no empty topic."""
    if isinstance(body, kafka.OffsetFetchRequest):
        requested = dict.fromkeys((name, i) for name, indexes in body.topics or () for i in indexes)
        fetched = by_topic(kafka.OffsetFetchRequestTopic, ((each, each[1]) for each in requested))
        return body._replace(topics=fetched)
    named: dict[str, dict[int, Any]] = {}
    for topic in body.topics:
        for partition in topic.partitions:
            named.setdefault(topic.name, {})[partition.partition_index] = partition
    topics: Any = {topic.name: topic for topic in body.topics}
    found: Any = tuple(
        topics[name]._replace(partitions=tuple(partitions.values()))
        for name, partitions in named.items()
    )
    return body._replace(topics=found)


# The first version of OffsetFetch with an error besides those of the partitions.
_FETCH_ERROR_SINCE: Final = 2


def _fetch(body: kafka.OffsetFetchRequest, error: ErrorCode) -> kafka.OffsetFetchResponse:
    topics = tuple(
        kafka.OffsetFetchResponseTopic(
            topic.name,
            tuple(
                kafka.OffsetFetchResponsePartition(index, error_code=error)
                for index in topic.partition_indexes
            ),
        )
        for topic in body.topics or ()
    )
    return kafka.OffsetFetchResponse(error, topics)


_SHAPES: Final[dict[type, Callable[[Any, ErrorCode], ResponseBody]]] = {
    kafka.JoinGroupRequest: _join,
    kafka.SyncGroupRequest: lambda _, error: kafka.SyncGroupResponse(error),
    kafka.HeartbeatRequest: lambda _, error: kafka.HeartbeatResponse(error),
    kafka.LeaveGroupRequest: lambda _, error: kafka.LeaveGroupResponse(error),
    kafka.OffsetCommitRequest: lambda body, error: kafka.OffsetCommitResponse(
        commit_topics(body, repeat(error))
    ),
    kafka.OffsetFetchRequest: lambda _, error: kafka.OffsetFetchResponse(error),
    kafka.TxnOffsetCommitRequest: lambda body, error: kafka.TxnOffsetCommitResponse(
        commit_topics(body, repeat(error))
    ),
    kafka.EndTxnRequest: lambda _, error: kafka.EndTxnResponse(error),
    kafka.DescribeGroupsRequest: _describe,
    kafka.ListGroupsRequest: lambda _, error: kafka.ListGroupsResponse(error),
    kafka.DeleteGroupsRequest: _delete,
    kafka.OffsetDeleteRequest: lambda _, error: kafka.OffsetDeleteResponse(error),
}
