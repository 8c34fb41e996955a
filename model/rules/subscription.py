"""The topics that consumers subscribe to, read from what they offer (GroupMetadata.scala:468).

What a consumer offers is a version (int16), its topics (an array of strings), data of the user's
own (nullable bytes) and what newer versions add. A number of topics or a length below zero, and
data of the user's that end too early, are taken for unreadable, as what ends too early elsewhere
is; Kafka fails at them in the middle of the rebalance.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 - the name it ought to have
from typing import Final

from groupcheck.model.state import Member

CONSUMER: Final = "consumer"

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
