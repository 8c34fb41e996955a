"""CreateTopics and DeleteTopics, by three client libraries and in single requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AiokafkaTopic
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic as ConfluentTopic

from groupcheck.implementation.server import messages
from groupcheck.model.vocabulary import ErrorCode
from support.serving import QUICK, Served, ServedBrokers, Wire

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
ONE_REPLICA = 1
WAIT_S = 20


@pytest.fixture
def cluster() -> Iterator[ServedBrokers]:
    with ServedBrokers(3, ("events", 1)) as served:
        yield served


def confluent(address: str) -> None:
    """Create a topic, and delete another one."""
    client = AdminClient({"bootstrap.servers": address})
    for future in client.create_topics([ConfluentTopic("made", 4)]).values():
        future.result(WAIT_S)
    for future in client.delete_topics(["events"]).values():
        future.result(WAIT_S)


def aiokafka(address: str) -> None:
    """Create a topic, and delete another one."""

    async def use() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=address)
        await client.start()
        await client.create_topics([AiokafkaTopic("made", 4, 1)])
        await client.delete_topics(["events"])
        await client.close()

    asyncio.run(use())


def kafka_python(address: str) -> None:
    """Create a topic, and delete another one."""
    from kafka import KafkaAdminClient  # noqa: PLC0415 - its import warns of deprecated calls
    from kafka.admin import NewTopic  # noqa: PLC0415 - as above

    client = KafkaAdminClient(bootstrap_servers=address)
    client.create_topics([NewTopic("made", 4, 1)])
    client.delete_topics(["events"])
    client.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("use", [confluent, aiokafka, kafka_python])
def test_a_client_creates_and_deletes_topics_of_a_cluster(
    use: Callable[[str], None], cluster: ServedBrokers
) -> None:
    use(",".join(f"{host}:{port}" for host, port in cluster.brokers.addresses))
    leaders = cluster.brokers.status().leaders
    assert sorted(leaders.keys() - {"__consumer_offsets"}) == ["made"]
    assert len(leaders["made"]) == 4


def create(wire: Wire, name: str, partitions: int = 2, **fields: Any) -> int:
    """Ask for a topic; returns the error."""
    topic: tuple[Any, ...] = (name, partitions, ONE_REPLICA, [], [])
    answer = wire.ask("CreateTopics", 5, topics=[topic], timeout_ms=1_000, **fields)
    return int(answer.topics[0].error_code)


def delete(wire: Wire, name: str) -> int:
    """Ask for the deletion of a topic; returns the error."""
    answer = wire.ask("DeleteTopics", 5, topic_names=[name], timeout_ms=1_000)
    return int(answer.responses[0].error_code)


def partitions(wire: Wire, name: str) -> int:
    """How many partitions a topic has; 0 if there is none."""
    fields = {"topics": [(name,)], "allow_auto_topic_creation": False}
    return len(wire.ask("Metadata", 4, **fields).topics[0].partitions)


def test_a_broker_that_is_alone_creates_topics_and_deletes_none() -> None:
    with Served(config=(*QUICK, "num.partitions=3")) as server, server.connected() as wire:
        assert create(wire, "made", validate_only=True) == NONE
        assert partitions(wire, "made") == 0
        assert create(wire, "made") == NONE
        assert partitions(wire, "made") == 2
        assert create(wire, "made") == messages.TOPIC_ALREADY_EXISTS
        assert create(wire, "usual", -1) == NONE
        assert partitions(wire, "usual") == 3
        assert create(wire, "no good") == messages.INVALID_TOPIC_EXCEPTION
        assert create(wire, "none", 0) == messages.INVALID_PARTITIONS
        served = {each.api_key for each in wire.ask("ApiVersions", 0).api_keys}
        assert (19 in served, 20 in served) == (True, False)


def test_only_the_controller_creates_and_deletes_topics(cluster: ServedBrokers) -> None:
    controller = cluster.brokers.status().controller
    assert controller is not None
    with cluster.connected(controller % 3 + 1) as wire:
        assert create(wire, "made") == messages.NOT_CONTROLLER
        assert delete(wire, "events") == messages.NOT_CONTROLLER
    with cluster.connected(controller) as wire:
        assert delete(wire, "none") == UNKNOWN
        assert delete(wire, "__consumer_offsets") == messages.INVALID_TOPIC_EXCEPTION
        assert delete(wire, "events") == NONE
        assert create(wire, "events", 3) == NONE
    for number in (1, 2, 3):
        with cluster.connected(number) as wire:
            assert partitions(wire, "events") == 3
