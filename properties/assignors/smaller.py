"""Groups that are smaller than a group, or easier to read, to make a finding minimal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from groupcheck.model.assignors.group import Group, Member, Partition, Topic

Item = TypeVar("Item")


def size(group: Group) -> int:
    """How much there is to read about a group."""
    topics = sum(1 + len(topic.racks) for topic in group.topics)
    return topics + sum(
        2 + len(m.topics) + len(m.owned) + (m.rack is not None) for m in group.members
    )


def smaller(group: Group) -> Iterator[Group]:
    """Groups with one thing less, the largest things first."""
    topics, members = group
    for at, _ in enumerate(members):
        if len(members) > 1:
            yield group._replace(members=members[:at] + members[at + 1 :])
    for at, topic in enumerate(topics):
        others = topics[:at] + topics[at + 1 :]
        without = tuple(_without(topic.name, member) for member in members)
        yield Group(others, without)
        yield group._replace(topics=others)
        if len(topic.racks) > 1:
            fewer = topic._replace(racks=topic.racks[:-1])
            yield group._replace(topics=_with(topics, at, fewer))
    for at, member in enumerate(members):
        for simpler in _simpler(member):
            yield group._replace(members=_with(members, at, simpler))
    yield from _plainer(group)


def _plainer(group: Group) -> Iterator[Group]:
    """Groups of the same size that are easier to read."""
    topics, members = group
    for at, topic in enumerate(topics):
        for number, racks in enumerate(topic.racks):
            for fewer in (frozenset[str](), *(racks - {rack} for rack in sorted(racks))):
                if fewer != racks:
                    plain = topic._replace(racks=_with(topic.racks, number, fewer))
                    yield group._replace(topics=_with(topics, at, plain))
    if all(member.generation is not None for member in members):
        yield group._replace(members=tuple(m._replace(generation=None) for m in members))
    ordered = tuple(sorted(members, key=lambda member: member.id))
    for plain_group in (group._replace(members=ordered), named_in_order(group)):
        if plain_group != group:
            yield plain_group


def _simpler(member: Member) -> Iterator[Member]:
    for topic in member.topics:
        without = _without(topic, member)
        yield without
        yield member._replace(topics=without.topics)
    for partition in member.owned:
        rest = tuple(each for each in member.owned if each != partition)
        yield member._replace(owned=rest)
        lower = partition._replace(number=partition.number - 1)
        if lower.number >= 0 and lower not in rest:
            yield member._replace(owned=tuple(sorted((*rest, lower))))
    if member.instance_id is not None:
        yield member._replace(instance_id=None)
    if member.rack is not None:
        yield member._replace(rack=None)
    if member.generation is not None:
        yield member._replace(generation=None)
    if member.generation not in (None, 1):
        yield member._replace(generation=1)


def named_in_order(group: Group) -> Group:
    """The group with topics t0, t1, … members m0, m1, … and so on, in the same order."""
    known = {topic for member in group.members for topic in member.topics}
    known |= {each.topic for member in group.members for each in member.owned}
    topics = _numbered("t", known | {topic.name for topic in group.topics})
    ids = _numbered("m", {member.id for member in group.members})
    instances = _numbered("i", {m.instance_id for m in group.members if m.instance_id is not None})
    every = frozenset[str]().union(*(racks for topic in group.topics for racks in topic.racks))
    racks = _numbered("r", every | {member.rack for member in group.members if member.rack})
    return Group(
        tuple(
            Topic(topics[t.name], tuple(frozenset(racks[r] for r in each) for each in t.racks))
            for t in group.topics
        ),
        tuple(
            Member(
                ids[member.id],
                tuple(topics[each] for each in member.topics),
                member.instance_id and instances[member.instance_id],
                member.rack and racks[member.rack],
                tuple(Partition(topics[each.topic], each.number) for each in member.owned),
                member.generation,
            )
            for member in group.members
        ),
    )


def _numbered(letter: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{letter}{number}" for number, name in enumerate(sorted(names))}


def _without(topic: str, member: Member) -> Member:
    """The member without a topic, and without its partitions."""
    return member._replace(
        topics=tuple(each for each in member.topics if each != topic),
        owned=tuple(each for each in member.owned if each.topic != topic),
    )


def _with(items: tuple[Item, ...], at: int, item: Item) -> tuple[Item, ...]:
    """The items with another one at a place."""
    return (*items[:at], item, *items[at + 1 :])
