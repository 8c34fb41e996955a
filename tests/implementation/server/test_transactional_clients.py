"""A producer that commits offsets in transactions, and the consumer of the group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from groupcheck.implementation.core.profiles import PROFILES
from support.client_processes import eventually
from support.serving import Served, checked_session

WAIT_S = 20


@pytest.fixture(params=PROFILES)
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    with checked_session(tmp_path, request.param, ("topic", 1), ("out", 1)) as server:
        yield server


@pytest.fixture
def consumer(served: Served) -> Iterator[Consumer]:
    own = {"bootstrap.servers": served.address, "group.id": "group", "enable.auto.commit": False}
    made = Consumer({**own, "auto.offset.reset": "earliest"})
    made.subscribe(["topic"])
    eventually(lambda: not made.poll(0.05) and bool(made.assignment()))
    yield made
    made.close()


def transactional(served: Served) -> Producer:
    producer = Producer({"bootstrap.servers": served.address, "transactional.id": "transaction"})
    producer.init_transactions(WAIT_S)
    return producer


def commit(producer: Producer, consumer: Consumer, offset: int) -> None:
    offsets = [TopicPartition("topic", 0, offset)]
    producer.begin_transaction()
    producer.produce("out", b"value")
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)


def committed(consumer: Consumer) -> int:
    (found,) = consumer.committed([TopicPartition("topic", 0)], WAIT_S)
    return int(found.offset)


def test_transactional_offsets_are_readable_only_after_a_commit(
    served: Served, consumer: Consumer
) -> None:
    producer = transactional(served)
    commit(producer, consumer, 3)
    producer.commit_transaction(WAIT_S)
    assert committed(consumer) == 3
    commit(producer, consumer, 5)
    producer.abort_transaction(WAIT_S)
    assert committed(consumer) == 3


def test_new_producer_instance_aborts_the_open_transaction(
    served: Served, consumer: Consumer
) -> None:
    first = transactional(served)
    commit(first, consumer, 3)
    transactional(served)
    assert committed(consumer) == -1001  # none: librdkafka's OFFSET_INVALID
    with pytest.raises(KafkaException):
        first.commit_transaction(WAIT_S)


def test_read_committed_skips_aborted_records(served: Served, consumer: Consumer) -> None:
    producer = transactional(served)
    commit(producer, consumer, 3)
    producer.flush(WAIT_S)
    producer.abort_transaction(WAIT_S)
    producer.begin_transaction()
    producer.produce("out", b"kept")
    producer.commit_transaction(WAIT_S)
    own = {"bootstrap.servers": served.address, "group.id": "reader"}
    reader = Consumer({**own, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    reader.subscribe(["out"])
    read: list[bytes | None] = []

    def one() -> bool:
        message = reader.poll(0.1)
        if message is not None and message.error() is None:
            read.append(message.value())
        return bool(read)

    eventually(one)
    reader.close()
    assert read == [b"kept"]
