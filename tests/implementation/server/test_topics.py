"""Topics in memory: produced records can be fetched, within limits."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from groupcheck.implementation.server import topics
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import BadRecordsError, Partition, Topics, batches
from groupcheck.implementation.server.transactions import _marker, _Transaction
from groupcheck.properties.ports import codec
from support.batches import made, request_fetch
from support.serving import QUICK, Served, Wire

with codec.importing_kafka_python():
    from kafka.record.memory_records import MemoryRecords


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    limits = ("message.max.bytes=5000", "log.retention.bytes=3000")
    with Served(("topic", 2), config=(*QUICK, *limits)) as server:
        yield server


@pytest.fixture
def wire(server: Served) -> Iterator[Wire]:
    with server.connected() as wire:
        yield wire


def produce(wire: Wire, records: bytes | None, topic: str = "topic", acks: int = 1) -> Any:
    data = [(topic, [(0, records)])]
    if not acks:
        wire.request("Produce", 3, acks=0, timeout_ms=1_000, topic_data=data)
        return None
    answer = wire.ask("Produce", 3, acks=acks, timeout_ms=1_000, topic_data=data)
    return answer.responses[0].partition_responses[0]


def fetch(wire: Wire, offset: int, wait_ms: int = 0, topic: str = "topic", **fields: Any) -> Any:
    request_fetch(wire, offset, wait_ms, topic, **fields)
    return wire.answer("Fetch", 4).responses[0].partitions[0]


def list_offset(wire: Wire, timestamp: int, topic: str = "topic") -> tuple[int, int]:
    cls = codec.message_class("ListOffsetsRequest").ListOffsetsTopic
    partition = cls.ListOffsetsPartition(version=1, partition_index=0, timestamp=timestamp)
    wanted = [cls(version=1, name=topic, partitions=[partition])]
    answer = wire.ask("ListOffsets", 1, replica_id=-1, topics=wanted)
    found = answer.topics[0].partitions[0]
    return found.error_code, found.offset


def test_produced_records_are_fetched(wire: Wire) -> None:
    first = produce(wire, made(b"a", b"b"))
    second = produce(wire, made(b"c"))
    assert (first.error_code, second.error_code) == (0, 0)
    assert second.base_offset == first.base_offset + 2
    data = fetch(wire, first.base_offset)
    assert (data.error_code, data.high_watermark) == (0, second.base_offset + 1)
    found = list(batches(data.records))
    assert [batch.records for batch in found] == [2, 1]
    assert struct.unpack_from(">q", found[1].data)[0] == second.base_offset


def test_fetch_waits_for_records_up_to_its_limit(server: Served) -> None:
    with server.connected() as consumer, server.connected() as producer:
        end = fetch(consumer, 0).high_watermark
        began = time.monotonic()
        assert fetch(consumer, end, wait_ms=100).records == b""
        assert time.monotonic() - began >= 0.1
        request_fetch(consumer, end, 20_000)
        time.sleep(0.05)
        assert produce(producer, made(b"late")).error_code == 0
        data = consumer.answer("Fetch", 4).responses[0].partitions[0]
        assert [batch.records for batch in batches(data.records)] == [1]
        assert time.monotonic() - began < 15


def test_produce_with_acks_0_has_no_response(wire: Wire) -> None:
    end = fetch(wire, 0).high_watermark
    produce(wire, made(b"quiet"), acks=0)
    assert wire.ask("ApiVersions", 0).error_code == 0
    assert fetch(wire, end).high_watermark == end + 1


def test_partition_over_its_limit_drops_its_oldest_records(wire: Wire) -> None:
    for _ in range(10):
        assert produce(wire, made(b"x" * 1_000)).error_code == 0
    _, earliest = list_offset(wire, -2)
    _, latest = list_offset(wire, -1)
    assert 0 < earliest <= latest - 2
    dropped = fetch(wire, earliest - 1)
    assert (dropped.error_code, dropped.records) == (1, b"")
    # At least one batch is returned, however low the limit, and no more than the limit.
    assert len(list(batches(fetch(wire, earliest, max_bytes=1).records))) == 1
    assert len(list(batches(fetch(wire, latest - 2).records))) == 1


def test_offsets_are_found_by_time(wire: Wire) -> None:
    early = produce(wire, made(b"a", timestamp=5_000)).base_offset
    late = produce(wire, made(b"b", timestamp=6_000)).base_offset
    assert list_offset(wire, 4_500) == (0, early)
    assert list_offset(wire, 5_001) == (0, late)
    assert list_offset(wire, 9_000) == (0, -1)


def test_unknown_partitions_return_an_error(wire: Wire) -> None:
    assert list_offset(wire, -1, topic="absent")[0] == 3
    assert fetch(wire, 0, topic="absent").error_code == 3
    assert produce(wire, made(b"a"), topic="absent").error_code == 3
    assert fetch(wire, 10**6).error_code == 1
    assert fetch(wire, -1).error_code == 1


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_incomplete_records_are_rejected(cut: int, wire: Wire) -> None:
    assert produce(wire, made(b"some", b"records")[:-cut]).error_code == 2


@pytest.mark.parametrize("at", [8, 16, 17, 23, 57, 65])
def test_corrupt_records_are_rejected(at: int, wire: Wire) -> None:
    records = bytearray(made(b"some", b"records"))
    records[at] ^= 0x40
    assert produce(wire, bytes(records)).error_code == 2


def test_too_many_bytes_at_once_are_rejected(wire: Wire) -> None:
    assert produce(wire, made(b"x" * 5_000)).error_code == 10


def test_produce_without_records_changes_nothing(wire: Wire) -> None:
    before = fetch(wire, 0).high_watermark
    assert produce(wire, None).error_code == 0
    assert fetch(wire, 0).high_watermark == before


def transaction() -> _Transaction:
    opened = _Transaction(7)
    opened.producer_epoch = 0
    return opened


@pytest.mark.parametrize("committed", [True, False])
def test_open_transaction_limits_read_committed_fetches(*, committed: bool) -> None:
    partition = Partition(1 << 20)
    (before,), (within,) = batches(made(b"a")), batches(made(b"b", producer_id=7))
    partition.append(before)
    partition.append(within)
    assert (partition.stable_offset, partition.end_offset) == (1, 2)
    assert list(batches(partition.read(0, 1 << 20, 1))) != []
    assert partition.read(1, 1 << 20, 1) == b""
    partition.end_transaction(_marker(transaction(), committed=committed), committed=committed)
    assert (partition.stable_offset, partition.end_offset) == (3, 3)
    aborted = [(a.producer_id, a.first_offset) for a in partition.aborted(1, 3)]
    assert aborted == ([] if committed else [(7, 1)])
    assert partition.aborted(3, 3) == ()


def test_kafka_python_reads_the_marker_of_a_transaction() -> None:
    for committed in (True, False):
        records = MemoryRecords(_marker(transaction(), committed=committed).data)
        batch = records.next_batch()
        assert (batch.is_control_batch, batch.producer_id, batch.validate_crc()) == (True, 7, True)
        (record,) = batch
        assert struct.unpack(">hh", record.key) == (0, int(committed))


def test_number_of_topics_is_limited() -> None:
    few = Topics(Limits(max_topics=1))
    assert few.create("one", 2) is few.create("one", 5)
    with pytest.raises(topics.BadTopicError, match="there are already 1 topics"):
        few.create("two", 1)
    assert (few.names(), len(few.partitions("one")), few.partition("one", 2)) == (["one"], 2, None)


def test_bytes_that_are_not_a_batch_are_rejected() -> None:
    for data in (b"x", b"\0" * 61, b"\xff" * 100):
        with pytest.raises(BadRecordsError):
            list(batches(data))
