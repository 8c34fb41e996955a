"""The cheapest of the most balanced assignments: a flow of minimum cost, with convex costs.

Partitions begin where they cost least. They then move along chains, from members with many
partitions to members with few: the primal-dual method, Dijkstra's algorithm for the cost of the
cheapest chains and a depth-first search for as many of them as there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from groupcheck.implementation.assignors.member import Topics
from groupcheck.implementation.assignors.protocol import Partition

# An owner or -1, and a kind of partitions.
Key = tuple[int, int]
# The numbers of partitions, in the order in which a member got them.
Held = dict[Key, dict[int, None]]


class Arc(NamedTuple):
    """To another node at a cost; from a member, by moving one of `held[key]`."""

    to: int
    cost: int
    held: Held | None = None
    key: Key = (-1, -1)


class Network:
    """What does not change: the members, kinds of partitions, and who subscribes to them.

    A kind has the partitions of a topic that have replicas in the same racks. The nodes are the
    members, the kinds, and for each topic and rack the subscribers in it. A partition that is not
    in its member's rack costs `far`, more than all moves together, if a subscriber of its topic is
    in one of its racks or in none.

    Args:
        topics: for each topic, the racks of the replicas of each partition.
        subscriptions: of each member, topics of these with a partition.
        racks: the rack of each member, None if in none.
    """

    def __init__(
        self, topics: Topics, subscriptions: Sequence[frozenset[str]], racks: Sequence[str | None]
    ) -> None:
        self.members = len(subscriptions)
        self.kinds: dict[str, list[int]] = {}
        self.topics: dict[int, str] = {}
        self.subscribers: dict[int, list[int]] = {}
        self._racks = racks
        self._arcs: list[list[Arc]] = []
        self._most_moves = sum(map(len, topics.values()))
        self._far: dict[str | None, dict[int, int]] = {rack: {} for rack in racks}
        subscribers: dict[str, list[int]] = {}
        for index, names in enumerate(subscriptions):
            for name in names:
                subscribers.setdefault(name, []).append(index)
        for topic in sorted(subscribers):
            self.kinds[topic] = self._add(topic, topics[topic], subscribers[topic])

    @property
    def nodes(self) -> int:
        """How many nodes there are; they are numbered, and the first ones are the members."""
        return self.members + len(self._arcs)

    def arcs(self, node: int) -> list[Arc]:
        """From a kind to its topic in each rack, and from there to the subscribers."""
        return self._arcs[node - self.members]

    def far(self, member: int) -> Mapping[int, int]:
        """The cost of the kinds of partitions that are outside a member's rack."""
        return self._far[self._racks[member]]

    def _add(self, topic: str, racks: Sequence[Collection[str]], members: list[int]) -> list[int]:
        """Add the nodes of a topic; the kind of each partition."""
        in_rack: dict[str | None, list[int]] = {}
        for index in members:
            in_rack.setdefault(self._racks[index], []).append(index)
        entries = {
            rack: self._node([Arc(index, 0) for index in found]) for rack, found in in_rack.items()
        }
        every = frozenset(rack for rack in in_rack if rack is not None)
        kinds: dict[Collection[str] | None, int] = {}
        added = []
        for each in racks:
            near = every.intersection(each)
            # No rack matters if all of them have a replica, or none of the subscribers' has one.
            key = None if near == every or not (near or None in in_rack) else near
            if key not in kinds:
                kinds[key] = self._add_kind(topic, key, entries, members)
            added.append(kinds[key])
        return added

    def _add_kind(
        self,
        topic: str,
        near: Collection[str] | None,
        entries: Mapping[str | None, int],
        members: Sequence[int],
    ) -> int:
        outside = (rack for rack in entries if near is not None and rack and rack not in near)
        costs: dict[str | None, int] = dict.fromkeys(outside, self._most_moves + 1)
        kind = self._node([Arc(entry, costs.get(rack, 0)) for rack, entry in entries.items()])
        for rack, cost in costs.items():
            self._far[rack][kind] = cost
        self.topics[kind] = topic
        self.subscribers[kind] = [each for each in members if self._racks[each] not in costs]
        return kind

    def _node(self, arcs: list[Arc]) -> int:
        self._arcs.append(arcs)
        return self.nodes - 1


class Flow:
    """Which member has which partitions, improved by chains of moves.

    A partition costs 1 if its owner does not have it, and more outside its racks. `own` and
    `others` have each member's partitions by kind: those that it owned, and the rest; `away` those
    of `others` that another member owned, by that member and kind. A `potential` for each node
    keeps the reduced cost of every arc at 0 or more: no moves in a circle make anything cheaper.
    """

    def __init__(self, network: Network, owners: dict[Partition, int]) -> None:
        self._network = network
        self._owners = owners
        self._own: list[Held] = [{} for _ in range(network.members)]
        self._others: list[Held] = [{} for _ in range(network.members)]
        self._away: list[Held] = [{} for _ in range(network.members)]
        self.size = [0] * network.members
        self.potential = [0] * network.nodes
        self._fill()

    def assigned(self) -> list[list[Partition]]:
        """The partitions of each member, once no chain improves the balance or the costs."""
        self._balance()
        # The balance stays, so the sizes do; after a change of one, another may be improved again.
        while any([self._make_cheaper(size) for size in sorted(set(self.size))]):  # noqa: C419
            pass
        topics = self._network.topics
        return [
            sorted(
                (topics[kind], n) for h in held for (_, kind), numbers in h.items() for n in numbers
            )
            for held in zip(self._own, self._others, strict=True)
        ]

    def _fill(self) -> None:
        """Put each partition where it costs least, with its owner if it can be.

        Of the others, kinds with few subscribers come first, and go to the smallest member.
        """
        network, left = self._network, dict[int, list[int]]()
        for topic, kinds in network.kinds.items():
            for number, kind in enumerate(kinds):
                owner = self._owners.get((topic, number))
                if owner is None or kind in network.far(owner):
                    left.setdefault(kind, []).append(number)
                else:
                    self._put(kind, number, owner)
        for kind in sorted(left, key=lambda kind: (len(network.subscribers[kind]), kind)):
            heap = [(self.size[index], index) for index in network.subscribers[kind]]
            heapify(heap)
            for number in left[kind]:
                _, index = heap[0]
                self._put(kind, number, index)
                heapreplace(heap, (self.size[index], index))

    def _places(self, kind: int, number: int, member: int) -> Iterator[tuple[Held, Key]]:
        owner = self._owners.get((self._network.topics[kind], number), -1)
        yield (self._own if owner == member else self._others)[member], (-1, kind)
        if owner not in {-1, member}:
            yield self._away[member], (owner, kind)

    def _put(self, kind: int, number: int, member: int) -> None:
        for held, key in self._places(kind, number, member):
            held.setdefault(key, {})[number] = None
        self.size[member] += 1

    def _take(self, kind: int, number: int, member: int) -> None:
        for held, key in self._places(kind, number, member):
            del held[key][number]
            if not held[key]:
                del held[key]
        self.size[member] -= 1

    def arcs(self, node: int) -> list[Arc]:
        """From a member to owners of what it has and to its kinds, and the network's own."""
        if node >= self._network.members:
            return self._network.arcs(node)
        own, others, away = self._own[node], self._others[node], self._away[node]
        far = self._network.far(node)
        return [
            *(
                Arc(owner, self._network.far(owner).get(kind, 0) - far.get(kind, 0) - 1, away, key)
                for key in away
                for owner, kind in [key]
            ),
            *(Arc(key[1], -far.get(key[1], 0), others, key) for key in others),
            *(Arc(key[1], 1 - far.get(key[1], 0), own, key) for key in own if key not in others),
        ]

    def apply(self, nodes: Sequence[int], chain: Sequence[Arc]) -> None:
        """Move a partition along each arc of a chain; no member gives what it has just got."""
        target = nodes[-1]
        for source, arc in zip(reversed(nodes[:-1]), reversed(chain), strict=True):
            if arc.held is not None:
                kind = arc.key[1]
                number = next(reversed(arc.held[arc.key]))
                self._take(kind, number, source)
                self._put(kind, number, target)
                target = source

    def _balance(self) -> None:
        """Move partitions to members from others that have two more or more."""
        mean, most = sum(self.size) // len(self.size), sum(self.size)
        while self._improve(range(mean + 1, most + 1), range(mean)):
            pass
        level = 0
        while (level := max(level, min(self.size))) + 2 <= max(self.size):
            search = _Search(self, range(level + 2, most + 1), range(level + 1))
            if search.cheapest() is None:
                level = search.smallest()
            else:
                search.apply()

    def _make_cheaper(self, size: int) -> bool:
        """Move partitions to members with one less, if that costs less; the balance is the same."""
        return self._improve(range(size, size + 1), range(size - 1, size), only_cheaper=True)

    def _improve(self, starts: range, ends: range, *, only_cheaper: bool = False) -> bool:
        """Move partitions along the cheapest chains between members of some sizes."""
        search = _Search(self, starts, ends)
        cost = search.cheapest()
        if cost is None or (only_cheaper and cost >= 0):
            return False
        search.apply()
        return True


class _Search:
    """The cheapest chains from members of some sizes to members of others.

    A distance counts the costs, and then the arcs; `one` is that of a cost of 1.
    """

    def __init__(self, flow: Flow, starts: range, ends: range) -> None:
        self._flow, self._start_sizes, self._end_sizes = flow, starts, ends
        potential = flow.potential
        self._starts = [index for index, size in enumerate(flow.size) if size in starts]
        self._ends = {index for index, size in enumerate(flow.size) if size in ends}
        # Of the source, which leads to each start, and of the sink, to which each end leads.
        self._source = max((potential[index] for index in self._starts), default=0)
        self._sink = min((potential[index] for index in self._ends), default=0)
        self._one = len(potential) + 2
        self._arcs: dict[int, list[Arc]] = {}
        self._done: dict[int, int] = {}
        self._next: dict[int, int] = {}

    def cheapest(self) -> int | None:
        """The cost of the cheapest chain, by Dijkstra's algorithm with reduced costs.

        The potentials then make the reduced cost 0 along each chain of this cost.
        """
        if not self._starts or not self._ends:
            return None
        potential, one, done = self._flow.potential, self._one, self._done
        sink = len(potential)
        best = {start: (self._source - potential[start]) * one for start in self._starts}
        heap = [(distance, start) for start, distance in best.items()]
        heapify(heap)
        while heap:
            distance, at = heappop(heap)
            if at == sink:
                self._settle(distance // one)
                return self._sink - self._source
            if at in done:
                continue
            done[at] = distance
            if at in self._ends:
                heappush(heap, (distance + (potential[at] - self._sink) * one, sink))
            for to, cost, *_ in self._arcs_of(at):
                further = distance + (cost + potential[at] - potential[to]) * one + 1
                if to not in done and further < best.get(to, further + 1):
                    best[to] = further
                    heappush(heap, (further, to))
        return None

    def _settle(self, cost: int) -> None:
        """Change the potentials by the distances, of which only the arcs are left."""
        for node, distance in self._done.items():
            reached, self._done[node] = divmod(distance, self._one)
            self._flow.potential[node] += reached - cost
        self._source -= cost

    def smallest(self) -> int:
        """The size of the smallest member that can get a partition from a start."""
        sizes = self._flow.size
        return min(sizes[node] for node in self._done if node < len(sizes))

    def _arcs_of(self, node: int) -> list[Arc]:
        if node not in self._arcs:
            self._arcs[node] = self._flow.arcs(node)
        return self._arcs[node]

    def apply(self) -> None:
        """Move partitions along the cheapest chains that have the fewest arcs, all there are."""
        flow = self._flow
        for start in self._starts:
            while flow.size[start] in self._start_sizes and self._done.get(start) == 0:
                nodes = [start]
                if (chain := self._chain(nodes)) is None:
                    break
                flow.apply(nodes, chain)

    def _chain(self, nodes: list[int]) -> list[Arc] | None:
        """A chain from the first node, by depth-first search; its nodes are added to `nodes`."""
        chain: list[Arc] = []
        while nodes:
            at = nodes[-1]
            if chain and self._ends_at(at):
                return chain
            arc = self._next_arc(at)
            if arc is not None:
                chain.append(arc)
                nodes.append(arc.to)
                continue
            nodes.pop()
            if chain:
                self._next[nodes[-1]] += 1
                chain.pop()
        return None

    def _ends_at(self, node: int) -> bool:
        return (
            node in self._ends
            and self._flow.size[node] in self._end_sizes
            and self._flow.potential[node] == self._sink
        )

    def _next_arc(self, at: int) -> Arc | None:
        """The first arc of the cheapest chains that was not tried in vain, and can be used."""
        potential, done, arcs = self._flow.potential, self._done, self._arcs_of(at)
        next_one = done[at] + 1
        for position in range(self._next.get(at, 0), len(arcs)):
            to, cost, held, key = arc = arcs[position]
            if (
                done.get(to) == next_one
                and cost + potential[at] == potential[to]
                and (held is None or key in held)
            ):
                self._next[at] = position
                return arc
        self._next[at] = len(arcs)
        return None
