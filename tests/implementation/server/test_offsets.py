"""The broker's part of the offset APIs: unknown partitions, and several groups at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupcheck.implementation.server.calls import Call, Client
from groupcheck.implementation.server.messages import (
    OffsetFetchGroupsRequest,
    OffsetFetchGroupsResponse,
    OffsetFetchRequestGroup,
)
from groupcheck.implementation.server.offsets import Offsets
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import Topics
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Groups:
    """A stub of the coordinator; it answers on demand."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, int]] = []
        self.answers: list[Callable[[Any], None]] = []

    def ask(
        self, body: Any, api_version: int, answered: Callable[[Any], None], *client: object
    ) -> None:
        assert len(client) == 2
        self.asked.append((body, api_version))
        self.answers.append(answered)


def offsets() -> tuple[Offsets, Groups]:
    topics, groups = Topics(Limits()), Groups()
    topics.create("topic", 2)
    coordinator: Any = groups
    return Offsets(topics, coordinator), groups


def call(body: Any, replies: list[Any], version: int = 0) -> Call:
    return Call("", version, "client", Client("", ("", 0)), body, replies.append)


def test_offset_fetch_of_several_groups_is_answered_in_order_when_all_are_known() -> None:
    apis, groups = offsets()
    replies: list[Any] = []
    topic = kafka.OffsetFetchRequestTopic("topic", (0,))
    asked = (OffsetFetchRequestGroup("one", (topic,)), OffsetFetchRequestGroup("two"))
    apis.fetch(call(OffsetFetchGroupsRequest(asked, require_stable=True), replies, version=9))
    one = kafka.OffsetFetchRequest("one", (topic,), require_stable=True)
    assert groups.asked == [
        (one, 7),
        (kafka.OffsetFetchRequest("two", None, require_stable=True), 7),
    ]
    groups.answers[1](kafka.OffsetFetchResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    assert replies == []
    found = kafka.OffsetFetchResponseTopic("topic", (kafka.OffsetFetchResponsePartition(0, 5),))
    groups.answers[0](kafka.OffsetFetchResponse(topics=(found,)))
    (reply,) = replies
    assert [(g.group_id, g.error_code, g.topics) for g in reply.groups] == [
        ("one", 0, (found,)),
        ("two", 14, ()),
    ]


def test_offset_fetch_without_groups_is_answered_at_once() -> None:
    apis, groups = offsets()
    replies: list[Any] = []
    apis.fetch(call(OffsetFetchGroupsRequest(()), replies, version=8))
    assert (replies, groups.asked) == ([OffsetFetchGroupsResponse(())], [])


def delete(*names: tuple[str, int]) -> kafka.OffsetDeleteRequest:
    topics = (
        kafka.OffsetDeleteRequestTopic(name, (kafka.OffsetDeleteRequestPartition(index),))
        for name, index in names
    )
    return kafka.OffsetDeleteRequest("group", tuple(topics))


def test_offset_delete_returns_an_error_for_unknown_partitions() -> None:
    apis, groups = offsets()
    replies: list[Any] = []
    apis.delete(call(delete(("topic", 0), ("topic", 2), ("absent", 0)), replies))
    assert groups.asked == [(delete(("topic", 0)), 0)]
    done = kafka.OffsetDeleteResponseTopic(
        "topic", (kafka.OffsetDeleteResponsePartition(0, ErrorCode.NONE),)
    )
    groups.answers[0](kafka.OffsetDeleteResponse(ErrorCode.NONE, (done,)))
    (reply,) = replies
    errors = {
        t.name: [(p.partition_index, p.error_code) for p in t.partitions] for t in reply.topics
    }
    assert errors == {"topic": [(0, 0), (2, UNKNOWN)], "absent": [(0, UNKNOWN)]}


def test_error_of_the_group_replaces_those_of_partitions() -> None:
    apis, groups = offsets()
    replies: list[Any] = []
    apis.delete(call(delete(("absent", 0)), replies))
    # The coordinator is called nevertheless (KafkaApis.handleOffsetDeleteRequest).
    assert groups.asked == [(delete(), 0)]
    groups.answers[0](kafka.OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND))
    assert replies == [kafka.OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)]
