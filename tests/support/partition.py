"""The partition of __consumer_offsets that has a group, whose leader coordinates the group."""

from __future__ import annotations

from typing import Final

BITS: Final = 32
SMALLEST: Final = -(1 << BITS - 1)  # Integer.MIN_VALUE


def partition_for(group_id: str, partitions: int) -> int:
    """The partition that a group's records go to (GroupMetadataManager.scala:190).

    The one hash whose absolute value is not a Java int counts as 0 (Utils.java:174).

    Raises:
        ValueError: there are no partitions.
    """
    if partitions < 1:
        msg = f"a topic has at least one partition, not {partitions}"
        raise ValueError(msg)
    hashed = hash_code(group_id)
    return 0 if hashed == SMALLEST else abs(hashed) % partitions


def hash_code(text: str) -> int:
    """What Java's String.hashCode makes of a text: a polynomial in 31 over its UTF-16 units.

    Its ints are of 32 bits, the highest of which is the sign.
    """
    encoded = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(encoded), 2):
        hashed = (hashed * 31 + int.from_bytes(encoded[at : at + 2])) % (1 << BITS)
    return hashed if hashed < -SMALLEST else hashed + 2 * SMALLEST
