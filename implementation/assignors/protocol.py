"""The consumer protocol on the wire: subscriptions and assignments of versions 0 to 3.

kio has the schemas; the version stands before them. A version to come is read as the newest known
one, because later versions only add fields at the end (4.1 ConsumerProtocol.java:40).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any, Final, NamedTuple

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.serial.readers import read_int16, read_int32, read_legacy_string
from kio.static.primitive import i32

NEWEST: Final = 3
NO_GENERATION: Final = -1

Partition = tuple[str, int]


class MalformedError(ValueError):
    """Bytes that are not of the consumer protocol."""


class Subscription(NamedTuple):
    """A member's subscription; `generation` is that of its owned partitions, or -1."""

    topics: tuple[str, ...]
    user_data: bytes | None
    owned: tuple[Partition, ...]
    generation: int
    rack: str | None


@cache
def _entity(name: str, version: int) -> tuple[Any, Any]:
    """The class of a message in a version, and that of its partitions."""
    module = import_module(f"kio.schema.consumer_protocol_{name.lower()}.v{version}.data")
    return getattr(module, f"ConsumerProtocol{name}"), getattr(module, "TopicPartition", None)


def _decoded(name: str, data: bytes) -> Any:  # noqa: ANN401 - a class for each version
    try:
        version, size = read_int16(data, 0)
        entity, _ = _entity(name, max(0, min(version, NEWEST)))
        found = entity_reader(entity)(data, size)[0]
    except (SerialError, ValueError) as error:
        msg = f"ConsumerProtocol{name}: {error}"
        raise MalformedError(msg) from error
    if version < 0:
        msg = f"ConsumerProtocol{name}: version {version}"
        raise MalformedError(msg)
    return found


def decode_subscription(data: bytes) -> Subscription:
    """Read a member's metadata of JoinGroup.

    Raises:
        MalformedError: it is no subscription.
    """
    found = _decoded("Subscription", data)
    return Subscription(
        found.topics,
        found.user_data,
        _partitions(getattr(found, "owned_partitions", ())),
        getattr(found, "generation_id", NO_GENERATION),
        getattr(found, "rack_id", None),
    )


def decode_assignment(data: bytes) -> tuple[Partition, ...]:
    """Read a member's assignment of SyncGroup.

    Raises:
        MalformedError: it is no assignment.
    """
    return _partitions(_decoded("Assignment", data).assigned_partitions)


def _partitions(grouped: Iterable[Any]) -> tuple[Partition, ...]:
    return tuple((each.topic, number) for each in grouped for number in each.partitions)


def encode_assignment(partitions: Iterable[Partition], version: int = NEWEST) -> bytes:
    """Write a member's assignment for SyncGroup."""
    entity, topic_partition = _entity("Assignment", version)
    grouped = tuple(
        topic_partition(topic=topic, partitions=tuple(map(i32, numbers)))
        for topic, numbers in by_topic(partitions).items()
    )
    written = BytesIO()
    written.write(version.to_bytes(2, "big"))
    entity_writer(entity)(written, entity(assigned_partitions=grouped))
    return written.getvalue()


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """The numbers of partitions, by topic."""
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found


def decode_sticky_user_data(data: bytes) -> tuple[tuple[Partition, ...], int]:
    """Read what the sticky assignor puts in a subscription: partitions, and their generation.

    Version 0 has no generation. Data that cannot be read has no partitions, as in Kafka
    (4.1 StickyAssignor.java:252).
    """
    try:
        count, at = read_int32(data, 0)
        found: list[Partition] = []
        for _ in range(count):
            topic, size = read_legacy_string(data, at)
            numbers, more = read_int32(data, at + size)
            at += size + more
            for _ in range(numbers):
                number, size = read_int32(data, at)
                found.append((topic, number))
                at += size
    except (SerialError, ValueError):
        return (), NO_GENERATION
    try:
        return tuple(found), read_int32(data, at)[0]
    except (SerialError, ValueError):
        return tuple(found), NO_GENERATION
