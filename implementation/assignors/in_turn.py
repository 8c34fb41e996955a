"""Range and round robin: the members take partitions in turn, in the order of their ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from groupcheck.implementation.assignors.member import Member, Topics, prefers_racks
from groupcheck.implementation.assignors.protocol import Partition

Assigned = dict[str, list[Partition]]


def _ordered(members: Iterable[Member]) -> list[Member]:
    """Members with a group.instance.id first (4.1 AbstractPartitionAssignor.java:150)."""
    return sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or m.id))


def _subscribers(topics: Topics, members: Iterable[Member]) -> dict[str, list[Member]]:
    """The members that subscribe to each topic that exists, in order."""
    found: dict[str, list[Member]] = defaultdict(list)
    for member in _ordered(members):
        for topic in member.topics:
            if topics.get(topic):
                found[topic].append(member)
    return found


def assign_range_without_racks(topics: Topics, members: Sequence[Member]) -> Assigned:
    """Of each topic a range of partitions to each subscriber (2.7 RangeAssignor.java:87)."""
    assigned: Assigned = {member.id: [] for member in members}
    for topic, subscribers in _subscribers(topics, members).items():
        least, extra = divmod(len(topics[topic]), len(subscribers))
        start = 0
        for position, member in enumerate(subscribers):
            end = start + least + (position < extra)
            assigned[member.id] += ((topic, number) for number in range(start, end))
            start = end
    return assigned


def assign_range(topics: Topics, members: Sequence[Member]) -> Assigned:
    """Ranges that prefer replicas in the members' racks (4.1 RangeAssignor.java:123)."""
    subscribers = _subscribers(topics, members)
    if not any(prefers_racks(topics[topic], found) for topic, found in subscribers.items()):
        return assign_range_without_racks(topics, members)
    assigned: Assigned = {member.id: [] for member in members}
    together = defaultdict(list)
    for topic, found in subscribers.items():
        together[len(topics[topic]), tuple(m.id for m in found)].append(topic)
    for same in together.values():
        shares = [_Share(topic, topics[topic], subscribers[topic]) for topic in same]
        if len(shares) > 1:
            _take_together(shares)
        elif prefers_racks(topics[same[0]], subscribers[same[0]]):
            shares[0].take(in_rack=True)
        for share in shares:
            share.take(in_rack=False)
            for member, numbers in zip(share.members, share.taken, strict=True):
                assigned[member.id] += ((share.topic, number) for number in sorted(numbers))
    return assigned


class _Share:
    """The partitions of one topic, and how many of them each subscriber has taken."""

    def __init__(
        self, topic: str, racks: Sequence[AbstractSet[str]], members: Sequence[Member]
    ) -> None:
        self.topic, self.racks, self.members = topic, racks, members
        self.taken: list[list[int]] = [[] for _ in members]
        self.left = dict.fromkeys(range(len(racks)))
        self._least, self._extra = divmod(len(racks), len(members))

    def may_take(self, index: int) -> int:
        """How many more partitions a member may take."""
        return self._least + (self._extra > 0) - len(self.taken[index])

    def is_near(self, index: int, number: int) -> bool:
        """Whether a partition is in a member's rack, or the member in none."""
        rack = self.members[index].rack
        return not rack or rack in self.racks[number]

    def give(self, index: int, numbers: Sequence[int]) -> None:
        """Assign partitions to a member."""
        self.taken[index] += numbers
        self._extra -= len(self.taken[index]) > self._least
        for number in numbers:
            del self.left[number]

    def take(self, *, in_rack: bool) -> None:
        """Each member in turn takes the first partitions that it may, in its rack or of all."""
        for index in range(len(self.members)):
            room = self.may_take(index)
            if room > 0:
                near = (n for n in self.left if not in_rack or self.is_near(index, n))
                if found := [number for _, number in zip(range(room), near, strict=False)]:
                    self.give(index, found)


def _take_together(shares: Sequence[_Share]) -> None:
    """The same number of all topics to one member that is near to each (4.1 :186)."""
    for number in range(len(shares[0].racks)):
        for index in range(len(shares[0].members)):
            if all(s.may_take(index) > 0 and s.is_near(index, number) for s in shares):
                for share in shares:
                    share.give(index, [number])
                break


def assign_round_robin(topics: Topics, members: Sequence[Member]) -> Assigned:
    """All partitions in turn to the members (2.7 RoundRobinAssignor.java:109)."""
    assigned: Assigned = {member.id: [] for member in members}
    ordered = [(member.id, frozenset(member.topics)) for member in _ordered(members)]
    turn = 0
    for topic in sorted({topic for member in members for topic in member.topics} & topics.keys()):
        for number in range(len(topics[topic])):
            while topic not in ordered[turn][1]:
                turn = (turn + 1) % len(ordered)
            assigned[ordered[turn][0]].append((topic, number))
            turn = (turn + 1) % len(ordered)
    return assigned
