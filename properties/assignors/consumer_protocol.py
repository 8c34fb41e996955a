"""The consumer protocol's subscriptions and assignments, as a group's leader gets and sends them.

kafka-python has the schemas (ConsumerProtocolSubscription.json and ConsumerProtocolAssignment.json
of Kafka, versions 0 to 3).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import error as StructError  # noqa: N812 - a class name
from typing import Any, Final, NamedTuple

from groupcheck.model.assignors.group import Member, Partition, by_topic
from groupcheck.properties.ports.codec import importing_kafka_python

# Assignors of the eager protocol whose members report what they owned in user data, as they have
# revoked it before they join (2.7 StickyAssignor.java:216, 4.1 StickyAssignor.java:219).
OWNED_IN_USER_DATA: Final = ("sticky",)

SHORTEST: Final = 2  # bytes: the version

# What kafka-python raises on bytes that are not of a schema.
UNREADABLE: Final = (StructError, ValueError, IndexError, TypeError, AttributeError, MemoryError)


class _Schemas(NamedTuple):
    """kafka-python's classes."""

    assignment: Any
    subscription: Any
    sticky_user_data: Any


@cache
def _schemas() -> _Schemas:
    with importing_kafka_python():
        from kafka.coordinator.assignors.sticky import user_data  # noqa: PLC0415 (an extra)
        from kafka.protocol.consumer import metadata  # noqa: PLC0415 (as above)
    return _Schemas(
        metadata.ConsumerProtocolAssignment,
        metadata.ConsumerProtocolSubscription,
        user_data.StickyAssignorUserData,
    )


class Subscription(NamedTuple):
    """What a member's subscription says."""

    version: int
    topics: tuple[str, ...]
    owned: tuple[Partition, ...]
    generation: int
    rack: str | None
    user_data: bytes | None


def decoded_subscription(data: bytes) -> Subscription | None:
    """What a member's metadata says; None if it is no subscription of versions 0 to 3.

    Raises:
        PortUnavailableError: kafka-python is not installed.
    """
    make = _schemas().subscription
    try:
        found = make.decode(data)
        if found.encode() != data:
            return None
        owned = getattr(found, "owned_partitions", None) or ()
        return Subscription(
            int.from_bytes(data[:SHORTEST], "big"),
            tuple(found.topics),
            tuple(Partition(each.topic, number) for each in owned for number in each.partitions),
            found.generation_id,
            found.rack_id,
            found.user_data,
        )
    except UNREADABLE:
        return None


class MalformedAssignmentError(ValueError):
    """Bytes that are not an assignment."""


def encoded_subscription(assignor: str, member: Member) -> bytes:
    """A member's subscription, in the lowest version that has its fields, but 1 at least.

    Raises:
        PortUnavailableError: kafka-python is not installed.
    """
    make = _schemas().subscription
    in_user_data = assignor in OWNED_IN_USER_DATA
    version = 3 if member.rack is not None else 2 if member.generation is not None else 1
    encoded: bytes = make(
        version=version,
        topics=list(member.topics),
        user_data=_sticky_user_data(member) if in_user_data and member.owned else None,
        owned_partitions=[] if in_user_data else _grouped(member.owned, make.TopicPartition),
        generation_id=member.owned_in,
        rack_id=member.rack,
    ).encode()
    return encoded


def _grouped(partitions: tuple[Partition, ...], make: Callable[..., object]) -> list[object]:
    return [make(topic=topic, partitions=each) for topic, each in by_topic(partitions).items()]


def _sticky_user_data(member: Member) -> bytes:
    """What the sticky assignor puts in its user data: version 0 has no generation."""
    make = _schemas().sticky_user_data
    encoded: bytes = make(
        version=0 if member.generation is None else 1,
        previous_assignment=_grouped(member.owned, make.TopicPartition),
        generation=member.owned_in,
    ).encode(header=False)
    return encoded


def decoded_assignment(data: bytes) -> tuple[Partition, ...]:
    """The partitions of an assignment; an empty one has none.

    Raises:
        MalformedAssignmentError: the bytes are not an assignment of a version from 0 on.
    """
    if int.from_bytes(data[:SHORTEST], "big", signed=True) < 0:
        msg = f"a negative version: {data.hex()}"
        raise MalformedAssignmentError(msg)
    try:
        assignment = _schemas().assignment.decode(data)
        return tuple(
            Partition(each.topic, number)
            for each in assignment.assigned_partitions
            for number in each.partitions
        )
    except UNREADABLE as error:
        msg = f"{error}: {data.hex() or 'no bytes'}"
        raise MalformedAssignmentError(msg) from error
