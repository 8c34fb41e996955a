"""What the sticky assignors of Apache Kafka do to its consumers, on a broker.

docs/found-in-kafka.md describes each effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from support.java_consumers import STRATEGIES, Consumers, Topics, running_broker
from support.needs import needs_assignors, needs_broker

VERSION = "4.1.2"
QUICK = {"heartbeat_interval_ms": 300}
BOTH = ("leader", "other")
TRIES = 25  # each fails with a probability of about one half

pytestmark = [
    pytest.mark.slow,
    needs_broker("kafka:4.1"),
    needs_assignors("kafka-clients:4.1"),
    pytest.mark.parametrize("assignor", STRATEGIES),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_broker("kafka:4.1") as address:
        yield address


@pytest.fixture
def topics(address: str) -> Topics:
    return Topics(address)


@pytest.fixture
def prefix() -> str:
    return str(uuid4())


def test_two_consumers_of_kafka_own_a_partition_after_a_topic_was_created_again_with_fewer(
    address: str, assignor: str, topics: Topics, prefix: str
) -> None:
    a, b = f"{prefix}-a", f"{prefix}-b"
    topics.create(a, 2)
    topics.create(b, 2)
    # The leader has nothing of the first topic: it sees the change only in its next metadata.
    with Consumers(address, VERSION, assignor, metadata_max_age_ms=5_000, **QUICK) as consumers:
        consumers.start("leader", b)
        consumers.eventually(lambda: consumers.owns("leader") == [f"{b}-0", f"{b}-1"])
        consumers.start("other", a, b)
        consumers.eventually(lambda: consumers.owns("other") == [f"{a}-0", f"{a}-1"])
        consumers.eventually(lambda: consumers.owns("leader") == [f"{b}-0", f"{b}-1"])
        topics.create_again(a, 1)
        consumers.eventually(lambda: bool(_shared(consumers)))
        (shared,) = _shared(consumers)
        assert consumers.owns("leader") == [f"{b}-0", f"{b}-1"]
        assert consumers.owns("other") == [f"{a}-0", f"{a}-1", shared]
        topics.produce(shared, "once")
        polled = [(shared, "once")]
        consumers.eventually(lambda: all(consumers.records(name) == polled for name in BOTH))


def test_every_rebalance_of_kafka_fails_after_a_topic_was_created_again_with_fewer(
    address: str, assignor: str, topics: Topics, prefix: str
) -> None:
    topics.create(prefix, 4)
    with Consumers(address, VERSION, assignor, **QUICK) as consumers:
        _share(consumers, prefix)
        _create_again(consumers, topics, prefix)
        consumers.eventually(lambda: len(consumers.of("leader", "exception")) > 200)
        reasons = {each.what["reason"] for each in consumers.of("leader", "exception")}
        assert reasons == {
            "java.lang.IllegalStateException: No more unfilled consumers to be assigned."
        }
        first = consumers.of("leader", "exception")[0].at_s
        for name in BOTH:
            assert all(each.at_s < first for each in consumers.of(name, "assigned"))


def test_all_consumers_of_kafka_fail_in_turn_after_a_topic_was_created_again_with_fewer(
    address: str, assignor: str, topics: Topics, prefix: str
) -> None:
    topics.create(prefix, 4)
    with Consumers(address, VERSION, assignor, **QUICK) as consumers:
        _share(consumers, prefix, fragile=True)
        _create_again(consumers, topics, prefix)
        consumers.eventually(lambda: all(consumers.of(name, "closed") for name in BOTH))
        for name in BOTH:
            (failure,) = consumers.of(name, "exception")
            assert "No more unfilled consumers to be assigned." in failure.what["reason"]


def test_a_consumer_of_kafka_without_topics_takes_a_partition_and_rejoins_for_ever(
    address: str, assignor: str, topics: Topics, prefix: str
) -> None:
    topics.create(prefix, 2)
    with Consumers(address, VERSION, assignor, **QUICK) as consumers:
        reader, idle = _reader_robbed_by_idle(consumers, prefix)
        (kept,) = consumers.owns(reader)
        (taken,) = {f"{prefix}-0", f"{prefix}-1"} - {kept}
        topics.produce(taken, "unread")
        topics.produce(kept, "read")
        before = consumers.generation(reader)
        consumers.eventually(lambda: (kept, "read") in consumers.records(reader))
        consumers.eventually(lambda: consumers.generation(reader) >= before + 10)
        assert {partition for partition, _ in consumers.records(reader)} == {kept}
        assert consumers.records(idle) == []
        assert consumers.owns(idle) == []


def _shared(consumers: Consumers) -> set[str]:
    """The partitions that both consumers own."""
    return {*consumers.owns("leader")} & {*consumers.owns("other")}


def _share(consumers: Consumers, topic: str, *, fragile: bool = False) -> None:
    """Start two consumers of a topic with four partitions."""
    consumers.start("leader", topic, fragile=fragile)
    consumers.eventually(lambda: len(consumers.owns("leader")) == 4)
    consumers.start("other", topic, fragile=fragile)
    consumers.eventually(lambda: consumers.owns("other") == [f"{topic}-2", f"{topic}-3"])
    consumers.eventually(lambda: consumers.owns("leader") == [f"{topic}-0", f"{topic}-1"])


def _create_again(consumers: Consumers, topics: Topics, topic: str) -> None:
    """Create the topic again with two partitions, before the leader sees that it is gone."""
    consumers.hold("leader")
    topics.create_again(topic, 2)
    consumers.go("leader")


def _reader_robbed_by_idle(consumers: Consumers, topic: str) -> tuple[str, str]:
    """Start a consumer of a topic and one of no topic, until the first gives up a partition.

    That depends on which of the two comes first in a HashMap, and so on their member ids.
    """
    for number in range(TRIES):
        reader, idle = f"reader{number}", f"idle{number}"
        _start_after(consumers, reader, idle, topic)
        if len(consumers.owns(reader)) == 1:
            return reader, idle
        consumers.close(idle)
        consumers.close(reader)
    raise AssertionError(consumers.events)


def _start_after(consumers: Consumers, reader: str, idle: str, topic: str) -> None:
    """Start the consumer of a topic, then that of none, and wait for their first generation."""
    consumers.start(reader, topic)
    consumers.eventually(lambda: len(consumers.owns(reader)) == 2)
    consumers.eventually(lambda: consumers.generation(reader) > 0)
    before = consumers.generation(reader)
    consumers.start(idle, pattern="no-topic-.*")
    consumers.eventually(lambda: consumers.generation(reader) > before)
    consumers.eventually(lambda: bool(consumers.owns(reader)))
