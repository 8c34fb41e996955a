"""Record batches as a producer makes them, and requests for them."""

from __future__ import annotations

from typing import Any

from groupcheck.properties.ports import codec
from support.serving import Wire

with codec.importing_kafka_python():
    from kafka.record.memory_records import MemoryRecordsBuilder


def made(*values: bytes, timestamp: int = 1_000, producer_id: int = -1) -> bytes:
    """A batch, by kafka-python."""
    builder = MemoryRecordsBuilder(
        magic=2,
        compression_type=0,
        batch_size=1 << 20,
        transactional=producer_id >= 0,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
    )
    for value in values:
        builder.append(timestamp=timestamp, key=None, value=value)
    builder.close()
    return bytes(builder.buffer())


def request_fetch(
    wire: Wire,
    offset: int,
    wait_ms: int,
    topic: str = "topic",
    most_bytes: int = 2_000,
    **fields: Any,
) -> None:
    """Fetch from partition 0."""
    cls = codec.message_class("FetchRequest").FetchTopic
    partition = cls.FetchPartition(
        version=4, partition=0, fetch_offset=offset, partition_max_bytes=most_bytes
    )
    wanted = [cls(version=4, topic=topic, partitions=[partition])]
    said = {"max_wait_ms": wait_ms, "min_bytes": 1, "max_bytes": 10_000_000, "isolation_level": 0}
    wire.request("Fetch", 4, topics=wanted, **{**said, **fields})
