"""Sticky assignment: the most balanced one, then the most racks, then the fewest moves.

Kafka's general algorithm is a heuristic with these aims in this order (4.1
AbstractStickyAssignor.java:48, :897). This one reaches them.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.implementation.assignors.flow import Flow, Network
from groupcheck.implementation.assignors.member import Member, Topics, prefers_racks
from groupcheck.implementation.assignors.protocol import NO_GENERATION, Partition

Assigned = dict[str, list[Partition]]


def assign(topics: Topics, members: Sequence[Member]) -> Assigned:
    """The most balanced assignment; of those, one in the most racks, which moves the fewest."""
    subscribed = {topic for member in members for topic in member.topics}
    racks = [each for topic in subscribed & topics.keys() for each in topics[topic]]
    if not prefers_racks(racks, members):
        return assign_without_racks(topics, members)
    subscriptions = _subscriptions(topics, members)
    return _cheapest(topics, members, subscriptions, [member.rack or None for member in members])


def assign_without_racks(topics: Topics, members: Sequence[Member]) -> Assigned:
    """The most balanced assignment; of those, one that moves the fewest partitions."""
    if not members:
        return {}
    subscriptions = _subscriptions(topics, members)
    if all(each == subscriptions[0] for each in subscriptions):
        owners = _owners(topics, members, subscriptions)
        return _alike(topics, members, sorted(subscriptions[0]), owners)
    return _cheapest(topics, members, subscriptions, [None] * len(members))


def _cheapest(
    topics: Topics,
    members: Sequence[Member],
    subscriptions: Sequence[frozenset[str]],
    racks: Sequence[str | None],
) -> Assigned:
    owners = _owners(topics, members, subscriptions)
    flow = Flow(Network(topics, subscriptions, racks), owners)
    return {member.id: each for member, each in zip(members, flow.assigned(), strict=True)}


def _subscriptions(topics: Topics, members: Sequence[Member]) -> list[frozenset[str]]:
    """The topics of each member that have a partition."""
    return [frozenset(topic for topic in member.topics if topics.get(topic)) for member in members]


def assign_cooperatively(topics: Topics, members: Sequence[Member]) -> Assigned:
    """The same, but without the partitions that other members have to revoke first."""
    claims = _claims(members)
    ids = [member.id for member in members]
    return {
        member: [each for each in partitions if all(ids[i] == member for i in claims.get(each, ()))]
        for member, partitions in assign(topics, members).items()
    }


def _claims(members: Sequence[Member]) -> dict[Partition, set[int]]:
    """The members that own each partition, by index, in the newest generation that has owners.

    4.1 AbstractStickyAssignor.java:175.
    """
    newest: dict[Partition, int] = {}
    found: dict[Partition, set[int]] = {}
    for index, member in enumerate(members):
        for partition in member.owned:
            if member.generation > newest.get(partition, NO_GENERATION - 1):
                newest[partition] = member.generation
                found[partition] = {index}
            elif member.generation == newest[partition]:
                found[partition].add(index)
    return found


def _owners(
    topics: Topics, members: Sequence[Member], subscriptions: Sequence[frozenset[str]]
) -> dict[Partition, int]:
    """The member that owns each partition that exists and to which it still subscribes."""
    return {
        partition: index
        for partition, (index, *others) in _claims(members).items()
        if not others
        and partition[0] in subscriptions[index]
        and 0 <= partition[1] < len(topics[partition[0]])
    }


def _alike(
    topics: Topics, members: Sequence[Member], names: Sequence[str], owners: dict[Partition, int]
) -> Assigned:
    """All members subscribe to the same topics: each keeps up to its share."""
    kept: list[list[Partition]] = [[] for _ in members]
    for partition in sorted(owners):
        kept[owners[partition]].append(partition)
    least, extra = divmod(sum(len(topics[name]) for name in names), len(members))
    # The members that own more than the least share get the larger ones first.
    order = sorted(range(len(members)), key=lambda index: (len(kept[index]) <= least, index))
    share = [least] * len(members)
    for index in order[:extra]:
        share[index] += 1
    for index, partitions in enumerate(kept):
        del partitions[share[index] :]
    taken = {partition for partitions in kept for partition in partitions}
    left = (
        (n, number) for n in names for number in range(len(topics[n])) if (n, number) not in taken
    )
    free = [index for index in range(len(members)) if len(kept[index]) < share[index]]
    while free:
        for index in free:
            kept[index].append(next(left))
        free = [index for index in free if len(kept[index]) < share[index]]
    return {member.id: partitions for member, partitions in zip(members, kept, strict=True)}
