"""The topics that consumers subscribe to, read from their metadata (2.7 GroupMetadata.scala:468).

The metadata of a consumer is a version (int16), its topics (an array of strings), user data
(nullable bytes) and fields of newer versions. A negative count or length, and user data that ends
too early, make it unreadable here, like anything else that ends too early; Kafka fails on them in
the middle of the rebalance.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 - the name it ought to have
from typing import Final

from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, Member
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour

CONSUMER: Final = "consumer"

READS_SUBSCRIPTIONS: Final = Behaviour(
    "reads-subscriptions",
    "rebalance",
    "the coordinator reads the topics that consumers subscribe to from their metadata (KIP-496)",
    at("", "", "GM:468", "CG:1151"),
)


def subscription(step: Step, group: Group, protocol_name: str | None) -> tuple[str, ...] | None:
    """The topics that the members subscribe to; None if the coordinator does not know them.

    Source: 2.7 GroupMetadata.scala:538.
    """
    if not READS_SUBSCRIPTIONS(step):
        return None
    return subscribed_topics(group.protocol_type, protocol_name, group.members)


_INT16, _INT32 = Struct(">h"), Struct(">i")


def subscribed_topics(
    protocol_type: str | None, protocol_name: str | None, members: tuple[Member, ...]
) -> tuple[str, ...] | None:
    """The topics that the members of a new generation have subscribed to; None if not known."""
    if protocol_type != CONSUMER:
        return None
    found = [topics_of(m.metadata(protocol_name or "")) for m in members]
    if any(topics is None for topics in found):
        return None
    return tuple(sorted({name for topics in found for name in topics or ()}))


def topics_of(metadata: bytes) -> tuple[str, ...] | None:
    """The topics that a consumer's metadata names; None if it cannot be read."""
    try:
        (count,) = _INT32.unpack_from(metadata, _INT16.size)
        at = _INT16.size + _INT32.size
        names = []
        for _ in range(_natural(count)):
            name, at = _string(metadata, at)
            names.append(name)
        (length,) = _INT32.unpack_from(metadata, at)
        _part(metadata, at + _INT32.size, max(length, 0))
    except (StructError, UnicodeDecodeError):
        return None
    return tuple(names)


def _string(metadata: bytes, at: int) -> tuple[str, int]:
    (length,) = _INT16.unpack_from(metadata, at)
    start = at + _INT16.size
    return _part(metadata, start, _natural(length)).decode(), start + length


def _part(metadata: bytes, at: int, length: int) -> bytes:
    if at + length > len(metadata):
        msg = "the metadata ends too early"
        raise StructError(msg)
    return metadata[at : at + length]


def _natural(number: int) -> int:
    if number < 0:
        msg = "a length below zero"
        raise StructError(msg)
    return number
