"""Administration of groups with the client libraries that support it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.properties.ports.codec import importing_kafka_python
from support.client_processes import Consumer, Group, group
from support.serving import Served, checked_session

with importing_kafka_python():
    from kafka import KafkaAdminClient
    from kafka import TopicPartition as KafkaTopicPartition
    from kafka.structs import OffsetAndMetadata

PARTITIONS = 2
WAIT_S = 20


@pytest.fixture(params=PROFILES)
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    with checked_session(tmp_path, request.param, ("topic", PARTITIONS), ("other", 1)) as server:
        yield server


@pytest.fixture
def consumers(served: Served) -> Iterator[Group]:
    with group(served.address, "watched", "topic", PARTITIONS) as made:
        yield made


@pytest.fixture
def member(consumers: Group) -> Consumer:
    """The only member of a group, with offsets committed."""
    one = consumers.add("confluent-kafka")
    consumers.wait_for_assignment(one)
    one.commit(5)
    return one


@pytest.fixture
def kafka_python(served: Served) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=served.address)
    yield client
    client.close()


def confluent(served: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": served.address})


def partitions(offset: int) -> ConsumerGroupTopicPartitions:
    topic = [TopicPartition("topic", index, offset) for index in range(PARTITIONS)]
    return ConsumerGroupTopicPartitions("watched", topic)


def committed(client: AdminClient) -> list[int]:
    asked = ConsumerGroupTopicPartitions("watched")
    (found,) = client.list_consumer_group_offsets([asked]).values()
    return [p.offset for p in found.result(WAIT_S).topic_partitions]


def test_confluent_kafka_lists_describes_alters_and_deletes(
    served: Served, member: Consumer
) -> None:
    client = confluent(served)
    listed = client.list_consumer_groups().result(WAIT_S)
    assert [(g.group_id, g.state.name) for g in listed.valid] == [("watched", "STABLE")]
    (described,) = client.describe_consumer_groups(["watched"]).values()
    group = described.result(WAIT_S)
    (only,) = group.members
    assert (group.state.name, group.partition_assignor) == ("STABLE", "range")
    assert sorted(p.partition for p in only.assignment.topic_partitions) == [0, 1]
    assert committed(client) == [5, 5]
    (refused,) = client.delete_consumer_groups(["watched"]).values()
    assert "NON_EMPTY_GROUP" in repr(refused.exception(WAIT_S))
    member.leave()
    (altered,) = client.alter_consumer_group_offsets([partitions(9)]).values()
    altered.result(WAIT_S)
    assert committed(client) == [9, 9]
    (deleted,) = client.delete_consumer_groups(["watched"]).values()
    deleted.result(WAIT_S)
    assert client.list_consumer_groups().result(WAIT_S).valid == []
    assert committed(client) == []


def test_kafka_python_lists_describes_alters_and_deletes(
    kafka_python: Any, member: Consumer
) -> None:
    client = kafka_python
    assert "watched" in repr(client.list_groups())
    assert "Stable" in repr(client.describe_groups(["watched"]))
    assert "NonEmptyGroup" in outcome(lambda: client.delete_groups(["watched"]))
    first = KafkaTopicPartition("topic", 0)
    assert "GroupSubscribedToTopic" in outcome(
        lambda: client.delete_group_offsets("watched", [first])
    )
    member.leave()
    offsets = {KafkaTopicPartition("topic", i): OffsetAndMetadata(9, "", -1) for i in range(2)}
    client.alter_group_offsets("watched", offsets)
    assert fetched_offsets(client) == {0: 9, 1: 9}
    client.delete_group_offsets("watched", [first])
    assert fetched_offsets(client) == {1: 9}
    assert "Error" not in outcome(lambda: client.delete_groups(["watched"]))
    assert "watched" not in repr(client.list_groups())


def outcome(call: Callable[[], object]) -> str:
    """The result of a call, a value or an error."""
    try:
        return repr(call())
    except Exception as error:  # noqa: BLE001 - of whatever class the library has for it
        return repr(error)


def fetched_offsets(client: Any) -> dict[int, int]:
    (offsets,) = client.list_group_offsets({"watched": None}).values()
    return {p.partition: o.offset for p, o in offsets.items() if o.offset >= 0}


@pytest.mark.usefixtures("member")
def test_aiokafka_lists_and_describes(served: Served) -> None:
    async def ask() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=served.address)
        await client.start()
        try:
            assert await client.list_consumer_groups() == [("watched", "consumer")]
            (answer,) = await client.describe_consumer_groups(["watched"])
            assert answer.groups[0][2] == "Stable"
            offsets = await client.list_consumer_group_offsets("watched")
            assert [offset.offset for offset in offsets.values()] == [5, 5]
        finally:
            await client.close()

    asyncio.run(ask())
