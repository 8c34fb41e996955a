"""What an assignor is given: topics with partitions, and members that own some of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

NO_GENERATION: Final = -1


class Partition(NamedTuple):
    """A partition of a topic, by number."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """The numbers of partitions, by topic."""
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found


class Topic(NamedTuple):
    """A topic that exists; `racks` has the racks of each partition's replicas."""

    name: str
    racks: tuple[frozenset[str], ...]

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Its partitions, by number."""
        return tuple(Partition(self.name, number) for number in range(len(self.racks)))


class Member(NamedTuple):
    """A member: its subscription, and the partitions that it owned in a generation.

    `topics` has no topic twice. `generation` is None for a client that does not report it.
    """

    id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    rack: str | None = None
    owned: tuple[Partition, ...] = ()
    generation: int | None = None

    @property
    def owned_in(self) -> int:
        """The generation in which it owned its partitions."""
        return NO_GENERATION if self.generation is None else self.generation


class Group(NamedTuple):
    """The topics and the members of a group, by name and id."""

    topics: tuple[Topic, ...]
    members: tuple[Member, ...]

    @property
    def newest(self) -> int:
        """The newest generation that a member reports."""
        return max((member.owned_in for member in self.members), default=NO_GENERATION)

    @property
    def assignable(self) -> frozenset[Partition]:
        """The partitions of all topics that exist and that a member subscribes to."""
        subscribed = {topic for member in self.members for topic in member.topics}
        return frozenset(p for t in self.topics if t.name in subscribed for p in t.partitions)

    def claims(self) -> Mapping[Partition, Mapping[str, int]]:
        """The members that report to own a partition, each with its generation."""
        found: dict[Partition, dict[str, int]] = defaultdict(dict)
        for member in self.members:
            for partition in member.owned:
                found[partition][member.id] = member.owned_in
        return found

    def owners(self, *, newest_only: bool) -> dict[Partition, str]:
        """The owner of each assignable partition that has one.

        A claim of a newer generation wins; with two of the same generation no member owns it.
        With `newest_only`, only claims of the group's newest generation count: Kafka 2.7 does this
        if all members have the same subscription (AbstractStickyAssignor.java:127), and 4.1 does
        not (AbstractStickyAssignor.java:175).
        """
        assignable = self.assignable
        topics = {member.id: frozenset(member.topics) for member in self.members}
        found = {}
        for partition, claims in self.claims().items():
            newest = max(claims.values())
            owner, *others = [each for each in claims if claims[each] == newest]
            counts = newest == self.newest or not newest_only
            if (
                counts
                and not others
                and partition in assignable
                and partition.topic in topics[owner]
            ):
                found[partition] = owner
        return found


# The partitions of each member, in the order of the answer.
Assignment = Mapping[str, tuple[Partition, ...]]


def as_sets(assignment: Assignment) -> Mapping[str, frozenset[Partition]]:
    """An assignment without the order of its partitions."""
    return {member: frozenset(partitions) for member, partitions in assignment.items()}


def in_order(group: Group) -> Iterator[Member]:
    """The members in the order in which range and round robin take them.

    Members with a group.instance.id come first, in its order, and then the others in that of their
    ids (2.7 AbstractPartitionAssignor.java:99, 4.1 AbstractPartitionAssignor.java:150).
    """
    yield from sorted((m for m in group.members if m.instance_id is not None), key=_instance_id)
    yield from sorted((m for m in group.members if m.instance_id is None), key=lambda m: m.id)


def _instance_id(member: Member) -> str:
    return member.instance_id or ""
