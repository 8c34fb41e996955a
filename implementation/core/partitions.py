"""The partitions of `__consumer_offsets`: which one a group is in, and which are served."""

from __future__ import annotations

from enum import Enum
from struct import iter_unpack
from typing import Final

_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000


def partition_for(group_id: str, partitions: int) -> int:
    """The partition of a group, as Kafka computes it.

    That is the absolute value of Java's string hash, over UTF-16 units, modulo the number of
    partitions. The one hash whose absolute value is not an int32 counts as 0.
    """
    hashed = 0
    if group_id.isascii():
        for unit in group_id.encode():
            hashed = (hashed * 31 + unit) & _MASK
    else:
        for (unit,) in iter_unpack(">H", group_id.encode("utf-16-be", "surrogatepass")):
            hashed = (hashed * 31 + unit) & _MASK
    if hashed == _SIGN:
        return 0
    return (hashed if hashed < _SIGN else _MASK + 1 - hashed) % partitions


class Serving(Enum):
    """Whether this coordinator serves a partition."""

    SERVED = "served"
    LOADING = "loading"
    UNLOADED = "unloaded"
