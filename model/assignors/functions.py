"""The assignors whose result is a function of the group: range and round robin.

Every client of a group has to be able to lead it, and members of several libraries and versions may
be in one group. For these two assignors all compute what Kafka's own assignor does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from groupcheck.model.assignors.group import Assignment, Group, Member, Partition, Topic, in_order

Order = Callable[[Group], Iterable[Member]]


class Behaviour(NamedTuple):
    """In what versions of Kafka, and ports of it, differ.

    `racks`: range prefers members in a rack of a replica, if not all racks have all partitions.
    `order`: the members, in the order in which they take partitions.
    """

    racks: bool = True
    order: Order = in_order


def assign_range(group: Group, behaviour: Behaviour) -> Assignment:
    """Each topic's partitions in ranges, one for each member that subscribes to it, in order.

    The first members get one more if the numbers do not divide (2.7 RangeAssignor.java:32). With
    racks, members first get partitions with a replica in their rack (4.1 RangeAssignor.java:170).
    """
    shares = [
        _Shares(t, subscribers, behaviour) for t, subscribers in _subscribers(group, behaviour)
    ]
    if any(share.uses_racks for share in shares):
        for together in _with_same_members(shares):
            if len(together) > 1:
                _assign_together(together)
            elif together[0].uses_racks:
                together[0].assign(lambda share, member, p: share.in_rack(member, p))
    for share in shares:
        share.assign(lambda *_: True)
    taken: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    for share in shares:
        for member_id, partitions in share.taken.items():
            taken[member_id] += partitions
    return {member_id: tuple(sorted(partitions)) for member_id, partitions in taken.items()}


def _subscribers(group: Group, behaviour: Behaviour) -> Iterable[tuple[Topic, list[Member]]]:
    ordered = list(behaviour.order(group))
    for topic in group.topics:
        subscribers = [member for member in ordered if topic.name in member.topics]
        if topic.racks and subscribers:
            yield topic, subscribers


class _Shares:
    """How many partitions of a topic each member may still take, and those that it has taken."""

    def __init__(self, topic: Topic, members: list[Member], behaviour: Behaviour) -> None:
        self.topic = topic
        self.members = members
        self.least, self.extra = divmod(len(topic.racks), len(members))
        self.taken: dict[str, list[Partition]] = {member.id: [] for member in members}
        self.left = list(topic.partitions)
        self.uses_racks = behaviour.racks and _racks_matter(topic.racks, members)

    def room(self, member: Member) -> int:
        """How many more partitions a member may take."""
        return max(0, self.least + (self.extra > 0) - len(self.taken[member.id]))

    def in_rack(self, member: Member, partition: Partition) -> bool:
        """Whether a partition has a replica in a member's rack; yes for a member without one."""
        return not member.rack or member.rack in self.topic.racks[partition.number]

    def take(self, member: Member, partitions: Sequence[Partition]) -> None:
        """Assign partitions to a member."""
        self.taken[member.id] += partitions
        self.extra -= len(self.taken[member.id]) > self.least
        self.left = [each for each in self.left if each not in partitions]

    def assign(self, may_take: Callable[[_Shares, Member, Partition], bool]) -> None:
        """Assign to each member in turn the first partitions that it may take."""
        for member in self.members:
            allowed = [each for each in self.left if may_take(self, member, each)]
            if found := allowed[: self.room(member)]:
                self.take(member, found)


def _racks_matter(racks: Sequence[frozenset[str]], members: Iterable[Member]) -> bool:
    """Whether members and replicas share a rack, and some partition lacks one of the racks.

    4.1 AbstractPartitionAssignor.java:122.
    """
    every = frozenset[str]().union(*racks)
    return any(m.rack and m.rack in every for m in members) and any(each != every for each in racks)


def racks_matter(group: Group) -> bool:
    """Whether a sticky assignor that regards racks prefers some members for some partitions.

    4.1 AbstractStickyAssignor.java:484.
    """
    subscribed = {topic for member in group.members for topic in member.topics}
    topics = (topic for topic in group.topics if topic.name in subscribed)
    return _racks_matter([racks for topic in topics for racks in topic.racks], group.members)


def _with_same_members(shares: Iterable[_Shares]) -> Iterable[list[_Shares]]:
    """Topics with as many partitions and the same members, which share their assignment."""
    found: Mapping[tuple[int, tuple[Member, ...]], list[_Shares]] = defaultdict(list)
    for share in shares:
        found[len(share.topic.racks), tuple(share.members)].append(share)
    return found.values()


def _assign_together(shares: list[_Shares]) -> None:
    """Assign each partition number of all topics to one member in a rack of each.

    4.1 RangeAssignor.java:174.
    """
    first = shares[0]
    for number in range(len(first.topic.racks)):
        for member in first.members:
            if all(
                share.room(member) and share.in_rack(member, Partition(share.topic.name, number))
                for share in shares
            ):
                for share in shares:
                    share.take(member, [Partition(share.topic.name, number)])
                break


def assign_round_robin(group: Group, behaviour: Behaviour) -> Assignment:
    """All partitions in turn, by topic and number, to the subscribers in turn.

    2.7 RoundRobinAssignor.java:104, 4.1 RoundRobinAssignor.java:105.
    """
    ordered = list(behaviour.order(group))
    taken: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    turn = 0
    for partition in sorted(group.assignable):
        while partition.topic not in ordered[turn % len(ordered)].topics:
            turn += 1
        taken[ordered[turn % len(ordered)].id].append(partition)
        turn += 1
    return {member_id: tuple(partitions) for member_id, partitions in taken.items()}


Function = Callable[[Group, Behaviour], Assignment]
FUNCTIONS: Final[Mapping[str, Function]] = {
    "range": assign_range,
    "roundrobin": assign_round_robin,
    "broker:range": assign_range,
}

# Which assignors regard racks, from 3.5 on (KIP-881); the broker's do not.
RACK_AWARE: Final[Mapping[str, frozenset[str]]] = {
    "2.7": frozenset(),
    "4.1": frozenset({"range", "sticky", "cooperative-sticky"}),
}


def function_of(assignor: str, version: str) -> tuple[Function, Behaviour] | None:
    """The function that an assignor computes in a version of Kafka; None if it is none."""
    function = FUNCTIONS.get(assignor)
    return function and (function, Behaviour(racks=assignor in RACK_AWARE[version]))


def as_they_come(group: Group) -> Iterable[Member]:
    """The members in the order in which the coordinator lists them."""
    return group.members


def by_id(group: Group) -> Iterable[Member]:
    """The members by id, whether or not they have a group.instance.id."""
    return sorted(group.members, key=lambda member: member.id)


# How a port that computes another function may do it: words, and the behaviour.
EXPLANATIONS: Final[Mapping[str, Callable[[Behaviour], Behaviour]]] = {
    "it ignores racks, as Kafka did before 3.5": lambda usual: usual._replace(racks=False),
    "it regards racks, as Kafka does from 3.5 on": lambda usual: usual._replace(racks=True),
    "it ignores group.instance.id": lambda usual: usual._replace(order=by_id),
    "it ignores racks and group.instance.id": lambda _: Behaviour(racks=False, order=by_id),
    "it takes members in the order of JoinGroup's response": lambda usual: usual._replace(
        order=as_they_come
    ),
}
