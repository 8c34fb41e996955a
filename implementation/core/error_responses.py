"""Responses that carry an error for the whole request, in the shape of each API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Final, TypeVar

from groupcheck.implementation.core.offsets import TopicPartition
from groupcheck.model.vocabulary import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    EndTxnRequest,
    EndTxnResponse,
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    ResponseBody,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

P = TypeVar("P")
T = TypeVar("T")
WithPartitions = OffsetCommitRequest | TxnOffsetCommitRequest | OffsetDeleteRequest


def error_response(request: Request, error: ErrorCode) -> ResponseBody:
    """The response of the request's API that carries only the error."""
    body = request.body
    if isinstance(body, OffsetFetchRequest) and request.api_version < _FETCH_ERROR_SINCE:
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


def _join(body: JoinGroupRequest, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error, member_id=body.member_id)


def _describe(body: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(tuple(DescribedGroup(error, name) for name in body.groups))


def _delete(body: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    names = dict.fromkeys(body.groups_names)
    return DeleteGroupsResponse(tuple(DeletableGroupResult(name, error) for name in names))


def commit_topics(
    body: OffsetCommitRequest | TxnOffsetCommitRequest, errors: Iterator[ErrorCode]
) -> tuple[OffsetCommitResponseTopic, ...]:
    """The error of each partition of a commit, in the order of the request, duplicates included."""
    return tuple(
        OffsetCommitResponseTopic(
            topic.name,
            tuple(
                OffsetCommitResponsePartition(partition.partition_index, next(errors))
                for partition in topic.partitions
            ),
        )
        for topic in body.topics
        if topic.partitions
    )


def each_once(body: WithPartitions) -> Any:  # noqa: ANN401 - a body of the same class
    """The request with each partition once, at its first position."""
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


def _fetch(body: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    topics = tuple(
        OffsetFetchResponseTopic(
            topic.name,
            tuple(
                OffsetFetchResponsePartition(index, error_code=error)
                for index in topic.partition_indexes
            ),
        )
        for topic in body.topics or ()
    )
    return OffsetFetchResponse(error, topics)


_SHAPES: Final[dict[type, Callable[[Any, ErrorCode], ResponseBody]]] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: lambda _, error: SyncGroupResponse(error),
    HeartbeatRequest: lambda _, error: HeartbeatResponse(error),
    LeaveGroupRequest: lambda _, error: LeaveGroupResponse(error),
    OffsetCommitRequest: lambda body, error: OffsetCommitResponse(
        commit_topics(body, repeat(error))
    ),
    OffsetFetchRequest: lambda _, error: OffsetFetchResponse(error),
    TxnOffsetCommitRequest: lambda body, error: TxnOffsetCommitResponse(
        commit_topics(body, repeat(error))
    ),
    EndTxnRequest: lambda _, error: EndTxnResponse(error),
    DescribeGroupsRequest: _describe,
    ListGroupsRequest: lambda _, error: ListGroupsResponse(error),
    DeleteGroupsRequest: _delete,
    OffsetDeleteRequest: lambda _, error: OffsetDeleteResponse(error),
}
