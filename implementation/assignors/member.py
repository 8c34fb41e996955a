"""The members of a group and its topics, as the assignors take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from groupcheck.implementation.assignors.protocol import NO_GENERATION, Partition

# For each topic that exists, the racks of the replicas of each partition.
Topics = Mapping[str, Sequence[AbstractSet[str]]]


class Member(NamedTuple):
    """A member: what it subscribes to, and what it owned in a generation."""

    id: str
    topics: Sequence[str]
    instance_id: str | None = None
    rack: str | None = None
    owned: Sequence[Partition] = ()
    generation: int = NO_GENERATION


def prefers_racks(racks: Sequence[AbstractSet[str]], members: Iterable[Member]) -> bool:
    """Whether some members are in the rack of a replica, and partitions differ in their racks.

    4.1 AbstractPartitionAssignor.java:122.
    """
    every = set[str]().union(*racks)
    return not every.isdisjoint(m.rack for m in members if m.rack) and any(
        each != every for each in racks
    )
