"""Transactions of producers: ownership, and where their markers go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groupcheck.implementation.server.calls import Call, Client
from groupcheck.implementation.server.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
)
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import Topics
from groupcheck.implementation.server.transactions import Transactions
from groupcheck.model.vocabulary import EndTxnRequest as Marker
from groupcheck.model.vocabulary import EndTxnResponse, ErrorCode

FENCED, UNKNOWN = 47, 49


class Groups:
    """A stub of the coordinator; it answers markers on demand."""

    def __init__(self) -> None:
        self.markers: list[Marker] = []
        self.answers: list[Callable[[Any], None]] = []
        self.slow = False
        self.asked = asyncio.Event()

    def ask(self, body: Marker, api_version: int, answered: Callable[[Any], None]) -> None:
        assert api_version == 0
        self.markers.append(body)
        self.asked.set()
        self.answers.append(answered)
        if not self.slow:
            self.answer()

    def answer(self) -> None:
        for answered in self.answers:
            answered(EndTxnResponse(ErrorCode.NONE))
        self.answers.clear()


class Producers:
    """Requests of producers; `None` while a request is not answered."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.topics = Topics(Limits())
        self.topics.create("topic", 2)
        self.groups = Groups()
        groups: Any = self.groups
        self.transactions = Transactions(self.topics, groups, loop)

    def ask(self, handler: Callable[[Call], None], body: Any) -> Any:
        answers: list[Any] = []
        handler(Call("", 0, "client", Client("", ("", 0)), body, answers.append))
        return answers[0] if answers else None

    def init(
        self, transactional_id: str | None = "t", timeout_ms: int = 60_000, **identity: int
    ) -> Any:
        body = InitProducerIdRequest(transactional_id, timeout_ms, **identity)
        return self.ask(self.transactions.init_producer_id, body)

    def add_offsets(self, producer: Any, group_id: str = "group") -> int:
        identity = ("t", producer.producer_id, producer.producer_epoch)
        body = AddOffsetsToTxnRequest(*identity, group_id)
        return int(self.ask(self.transactions.add_offsets, body).error_code)

    def add_partitions(self, producer: Any, *indexes: int) -> list[int]:
        identity = ("t", producer.producer_id, producer.producer_epoch)
        body = AddPartitionsToTxnRequest(*identity, (AddPartitionsToTxnTopic("topic", indexes),))
        (topic,) = self.ask(self.transactions.add_partitions, body).results
        return [int(p.partition_error_code) for p in topic.results_by_partition]

    def end(self, producer: Any, *, committed: bool = True) -> int | None:
        identity = ("t", producer.producer_id, producer.producer_epoch)
        answer = self.ask(self.transactions.end, EndTxnRequest(*identity, committed))
        return None if answer is None else int(answer.error_code)


@pytest.fixture
def producers() -> Iterator[Producers]:
    loop = asyncio.new_event_loop()
    yield Producers(loop)
    loop.close()


def test_end_txn_writes_markers_to_groups_and_partitions(producers: Producers) -> None:
    producer = producers.init()
    assert producers.add_offsets(producer, "one") == producers.add_offsets(producer, "two") == 0
    assert producers.add_partitions(producer, 0, 1) == [0, 0]
    assert producers.end(producer, committed=False) == 0
    markers = producers.groups.markers
    assert markers == [Marker(g, producer.producer_id, committed=False) for g in ("one", "two")]
    assert [p.end_offset for p in producers.topics.partitions("topic")] == [1, 1]
    # It has ended: the next end has no markers to write.
    assert producers.end(producer) == 0
    assert len(markers) == 2


def test_end_txn_is_answered_when_every_group_has_its_marker(producers: Producers) -> None:
    producer = producers.init()
    producers.add_offsets(producer, "one")
    producers.groups.slow = True
    assert producers.end(producer) is None
    producers.groups.answer()
    assert producers.end(producer) == 0


def test_init_producer_id_aborts_and_fences_the_earlier_instance(producers: Producers) -> None:
    first = producers.init()
    producers.add_offsets(first)
    second = producers.init()
    assert producers.groups.markers == [Marker("group", first.producer_id, committed=False)]
    assert second.producer_id == first.producer_id
    assert second.producer_epoch == first.producer_epoch + 1
    assert producers.add_offsets(first) == FENCED
    assert producers.add_partitions(first, 0) == [FENCED]
    assert producers.end(first) == FENCED
    assert producers.end(second) == 0


def test_producer_id_and_epoch_have_to_match(producers: Producers) -> None:
    first = producers.init()
    identity = {"producer_id": first.producer_id, "producer_epoch": first.producer_epoch}
    assert producers.init(**identity).error_code == 0
    assert producers.init(**identity).error_code == FENCED


def test_unknown_transactional_id_is_rejected(producers: Producers) -> None:
    stranger = producers.init(None)
    assert stranger.error_code == 0
    assert producers.add_offsets(stranger) == UNKNOWN
    assert producers.end(stranger) == UNKNOWN
    producers.init()
    assert producers.add_partitions(stranger, 0) == [UNKNOWN]


def test_transaction_adds_all_partitions_or_none(producers: Producers) -> None:
    producer = producers.init()
    assert producers.add_partitions(producer, 0, 2) == [55, 3]
    producers.end(producer)
    assert producers.topics.partitions("topic")[0].end_offset == 0


def test_invalid_init_producer_id_is_rejected(producers: Producers) -> None:
    assert producers.init("").error_code == 42
    assert producers.init(timeout_ms=0).error_code == 50
    assert producers.init(timeout_ms=900_001).error_code == 50


def test_producer_id_with_exhausted_epochs_is_replaced(producers: Producers) -> None:
    first = producers.init()
    (transaction,) = producers.transactions._transactions.values()
    transaction.producer_epoch = 2**15 - 2
    second = producers.init()
    assert second.producer_epoch == 0
    assert second.producer_id != first.producer_id


def test_transaction_timeout_aborts_and_fences_the_producer(producers: Producers) -> None:
    producer = producers.init(timeout_ms=20)
    producers.add_offsets(producer)
    producers.loop.run_until_complete(asyncio.wait_for(producers.groups.asked.wait(), 20))
    assert producers.groups.markers == [Marker("group", producer.producer_id, committed=False)]
    assert producers.end(producer) == FENCED
