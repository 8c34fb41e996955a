"""Sticky assignment: the most balanced one, and of those one that moves the fewest partitions.

Kafka's general algorithm is a heuristic (4.1 AbstractStickyAssignor.java:897). This one is exact:
partitions stay with their owners at first, and then move along the cheapest chains, from members
with many partitions to members with few (successive shortest paths with potentials).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple, TypeVar

from groupcheck.implementation.assignors.member import Member, Topics
from groupcheck.implementation.assignors.protocol import NO_GENERATION, Partition

Assigned = dict[str, list[Partition]]
Key = TypeVar("Key")
Value = TypeVar("Value")


class Link(NamedTuple):
    """One of a member's partitions goes to another: of a topic, or to its owner without one."""

    source: int
    target: int
    topic: str | None


def assign(topics: Topics, members: Sequence[Member]) -> Assigned:
    """The most balanced assignment that keeps the most partitions with their owners."""
    if not members:
        return {}
    subscriptions = [frozenset(topic for topic in m.topics if topics.get(topic)) for m in members]
    owners = _owners(topics, members, subscriptions)
    if all(each == subscriptions[0] for each in subscriptions):
        return _alike(topics, members, sorted(subscriptions[0]), owners)
    return _Chains(topics, members, subscriptions, owners).assigned()


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


class _Chains:
    """Members with different subscriptions: a flow of partitions, improved chain by chain.

    A partition costs 1 if its owner does not keep it. `own` and `others` have each member's
    partitions by topic: those that it owned, and the rest; `away` those of `others` that another
    member owned, by that member. The nodes of the network are the members, and then the topics; a
    `potential` for each keeps the reduced cost of every edge at 0 or more.
    """

    def __init__(
        self,
        topics: Topics,
        members: Sequence[Member],
        subscriptions: Sequence[frozenset[str]],
        owners: dict[Partition, int],
    ) -> None:
        self._members = members
        self._owners = owners
        self._names = sorted(frozenset[str]().union(*subscriptions))
        self._node = {name: len(members) + at for at, name in enumerate(self._names)}
        self._subscribers: dict[str, list[int]] = {name: [] for name in self._names}
        for index, names in enumerate(subscriptions):
            for name in names:
                self._subscribers[name].append(index)
        self.own: list[dict[str, set[int]]] = [{} for _ in members]
        self.others: list[dict[str, set[int]]] = [{} for _ in members]
        self.away: list[dict[int, set[Partition]]] = [{} for _ in members]
        self.size = [0] * len(members)
        self._potential = [0] * (len(members) + len(self._names))
        for partition, owner in owners.items():
            self._put(partition, owner)
        self._fill(topics)

    def assigned(self) -> Assigned:
        """The assignment, once no chain improves it."""
        self._balance()
        while self._keep_more():
            pass
        return {
            member.id: [
                (topic, number)
                for held in (self.own[index], self.others[index])
                for topic, numbers in held.items()
                for number in sorted(numbers)
            ]
            for index, member in enumerate(self._members)
        }

    def _put(self, partition: Partition, index: int) -> None:
        topic, number = partition
        owner = self._owners.get(partition)
        (self.own if owner == index else self.others)[index].setdefault(topic, set()).add(number)
        if owner is not None and owner != index:
            self.away[index].setdefault(owner, set()).add(partition)
        self.size[index] += 1

    def _take(self, partition: Partition, index: int) -> None:
        topic, number = partition
        owner = self._owners.get(partition)
        _remove((self.own if owner == index else self.others)[index], topic, number)
        if owner is not None and owner != index:
            _remove(self.away[index], owner, partition)
        self.size[index] -= 1

    def _fill(self, topics: Topics) -> None:
        """Assign what no member owns to the smallest subscriber, topics with few of them first."""
        for topic in sorted(self._names, key=lambda name: (len(self._subscribers[name]), name)):
            heap = [(self.size[index], index) for index in self._subscribers[topic]]
            heapify(heap)
            for number in range(len(topics[topic])):
                if (topic, number) not in self._owners:
                    _, index = heap[0]
                    self._put((topic, number), index)
                    heapreplace(heap, (self.size[index], index))

    def _balance(self) -> None:
        """Move partitions to members from others with two more or more, the smallest first."""
        size = min(self.size)
        while size + 2 <= max(self.size):
            starts = [index for index, each in enumerate(self.size) if each >= size + 2]
            if chain := self._cheapest(starts, size):
                self._apply(chain)
            else:
                size += 1

    def _keep_more(self) -> bool:
        """Return partitions to owners along a chain after which the balance is the same."""
        for size in sorted(set(self.size)) if any(self.away) else ():
            starts = [index for index, each in enumerate(self.size) if each == size]
            if chain := self._cheapest(starts, size - 1, cheaper=True):
                self._apply(chain)
                return True
        return False

    def _cheapest(self, starts: Collection[int], size: int, *, cheaper: bool = False) -> list[Link]:
        """The cheapest chain from one of some members to one of a size or a smaller one.

        With `cheaper`, to one of just that size, and at less than no cost. Dijkstra's algorithm
        with reduced costs, from a source that leads to each start at no cost. The last link is the
        first one.
        """
        potential = self._potential
        source = max(potential[start] for start in starts)
        best = {start: source - potential[start] for start in starts}
        heap = [(distance, start) for start, distance in best.items()]
        heapify(heap)
        came: dict[int, int] = {}
        done: dict[int, int] = {}
        while heap:
            distance, at = heappop(heap)
            if at in done:
                continue
            done[at] = distance
            if at < len(self.size) and (
                self.size[at] == size and distance - source + potential[at] < 0
                if cheaper
                else self.size[at] <= size
            ):
                for node, reached in done.items():
                    potential[node] += reached - distance
                return list(self._links(came, at))
            so_far = distance + potential[at]
            for to, cost in self._edges(at):
                further = so_far + cost - potential[to]
                if to not in done and further < best.get(to, further + 1):
                    best[to], came[to] = further, at
                    heappush(heap, (further, to))
        return []

    def _edges(self, node: int) -> Iterator[tuple[int, int]]:
        """From a member to its topics and to owners, from a topic to its subscribers."""
        if node >= len(self.size):
            yield from ((to, 0) for to in self._subscribers[self._names[node - len(self.size)]])
            return
        yield from ((owner, -1) for owner in self.away[node])
        others = self.others[node]
        yield from ((self._node[topic], 0) for topic in others)
        yield from ((self._node[topic], 1) for topic in self.own[node] if topic not in others)

    def _links(self, came: dict[int, int], end: int) -> Iterator[Link]:
        while end in came:
            before = came[end]
            if before < len(self.size):
                yield Link(before, end, None)
            else:
                topic, before = self._names[before - len(self.size)], came[before]
                yield Link(before, end, topic)
            end = before

    def _apply(self, chain: list[Link]) -> None:
        """Move a partition along each link; no member gives what it has just been given."""
        for source, target, topic in chain:
            if topic is None:
                partition = min(self.away[source][target])
            else:
                held = self.others if topic in self.others[source] else self.own
                partition = (topic, min(held[source][topic]))
            self._take(partition, source)
            self._put(partition, target)


def _remove(sets: dict[Key, set[Value]], key: Key, value: Value) -> None:
    """Remove a value from a set, and an empty set."""
    sets[key].remove(value)
    if not sets[key]:
        del sets[key]
