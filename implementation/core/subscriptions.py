"""The topics that consumers subscribe to, read from their metadata.

The metadata of a consumer begins with a version (int16), its topics (an array of strings) and user
data (nullable bytes); later fields are not read (ConsumerProtocol.java).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError  # noqa: N812 - a class name
from typing import Final

CONSUMER: Final = "consumer"

_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")


class UnreadableError(ValueError):
    """Bytes that are not a consumer's metadata."""


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all metadata together; None if one of them cannot be read."""
    try:
        # Most members of a group have the same metadata: read each value once.
        return frozenset(topic for value in set(metadata) for topic in _topics(value))
    except (UnreadableError, StructError, UnicodeDecodeError):
        return None


def _topics(metadata: bytes) -> list[str]:
    (count,) = _INT32.unpack_from(metadata, _INT16.size)
    if count < 0:
        raise UnreadableError
    at = _INT16.size + _INT32.size
    topics = []
    for _ in range(count):
        (length,) = _INT16.unpack_from(metadata, at)
        at += _INT16.size + length
        if length < 0 or at > len(metadata):
            raise UnreadableError
        topics.append(metadata[at - length : at].decode())
    (length,) = _INT32.unpack_from(metadata, at)
    if at + _INT32.size + length > len(metadata):
        raise UnreadableError
    return topics
