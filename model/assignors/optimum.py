"""How balanced an assignment is, and what it costs: is there a better one?

An assignment is a flow: each partition goes to one member that subscribes to its topic. Balance is
the sum of the squares of the members' numbers of partitions. A partition costs something if its
owner does not keep it, and if it is not in its member's rack. A flow of convex costs is the best
one if and only if no chain of moves improves it (no negative cycle in the residual network), which
is what is looked for: a partition goes from one member to a second, one of the second's to a third,
and so on. The chain found is the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from groupcheck.model.assignors.group import Assignment, Group, Partition


class Move(NamedTuple):
    """A partition goes from one member to another."""

    partition: Partition
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.partition} from {self.source} to {self.target}"


Chain = tuple[Move, ...]
# What a partition costs at a member.
Costs = Callable[[Partition, str], int]


def owners_cost(owners: Mapping[Partition, str]) -> Costs:
    """1 for each partition that had an owner and goes to another member."""
    return lambda partition, member: int(owners.get(partition, member) != member)


def racks_cost(group: Group) -> Costs:
    """1 for each partition at a member in a rack without a replica of it."""
    racks = {member.id: member.rack for member in group.members if member.rack}
    outside = {
        (Partition(topic.name, number), member)
        for topic in group.topics
        for number, replicas in enumerate(topic.racks)
        for member, rack in racks.items()
        if rack not in replicas
    }
    return lambda partition, member: int((partition, member) in outside)


def one_before_another(first: Costs, second: Costs, group: Group) -> Costs:
    """Costs of which the second ones count only between assignments with the same first ones."""
    weight = len(group.assignable) + 1
    return lambda partition, member: weight * first(partition, member) + second(partition, member)


class Moves:
    """The moves of single partitions that an assignment of a group allows.

    Args:
        group: the group.
        assignment: a complete assignment of its assignable partitions to subscribed members.
        costs: what a partition costs at a member; nothing by default.
    """

    def __init__(
        self, group: Group, assignment: Assignment, costs: Costs = lambda _partition, _member: 0
    ) -> None:
        self.sizes = {member.id: len(assignment.get(member.id, ())) for member in group.members}
        self._costs = costs
        self.cheapest: dict[tuple[str, str], tuple[int, Move]] = {}
        for member in group.members:
            for partition in assignment.get(member.id, ()):
                self._add(partition, member.id, group)

    def _add(self, partition: Partition, source: str, group: Group) -> None:
        before = self._costs(partition, source)
        for target in group.members:
            if target.id != source and partition.topic in target.topics:
                cost = self._costs(partition, target.id) - before
                found = self.cheapest.get((source, target.id))
                if found is None or cost < found[0]:
                    move = Move(partition, source, target.id)
                    self.cheapest[source, target.id] = (cost, move)

    def towards_balance(self) -> Iterator[Move]:
        """Single moves to a member that has two or more partitions less."""
        for (source, target), (_, move) in self.cheapest.items():
            if self.sizes[source] >= self.sizes[target] + 2:
                yield move

    def chain_towards_balance(self) -> Chain | None:
        """The shortest chain of moves to a member that has two or more partitions less."""
        chains = [self._chains(start, signed=False) for start in self.sizes]
        found = [
            chain
            for start, reached in zip(self.sizes, chains, strict=True)
            for target, (_, chain) in reached.items()
            if self.sizes[start] >= self.sizes[target] + 2
        ]
        return min(found, key=len, default=None)

    def chain_that_costs_less(self) -> Chain | None:
        """A chain after which the partitions cost less, and the balance is the same.

        It ends where it began, or at a member that has one partition less.
        """
        for start in self.sizes:
            for target, (cost, chain) in self._chains(start, signed=True).items():
                same = target == start or self.sizes[start] == self.sizes[target] + 1
                if same and cost < 0:
                    return chain
        return None

    def _chains(self, start: str, *, signed: bool) -> Mapping[str, tuple[int, Chain]]:
        """The cheapest chain of at most as many moves as members to each member (Bellman-Ford).

        If not `signed`, each move costs 1. A chain that returns to its start ends there.
        """
        best: dict[str, tuple[int, Chain]] = {}
        latest: dict[str, tuple[int, Chain]] = {start: (0, ())}
        for _ in self.sizes:
            reached: dict[str, tuple[int, Chain]] = {}
            for (source, target), (cost, move) in self.cheapest.items():
                if source not in latest:
                    continue
                so_far, chain = latest[source]
                if any(each.partition == move.partition for each in chain):
                    continue
                total = so_far + (cost if signed else 1)
                if target in best and best[target][0] <= total:
                    continue
                if target not in reached or total < reached[target][0]:
                    reached[target] = (total, (*chain, move))
            best |= reached
            latest = {member: found for member, found in reached.items() if member != start}
        return best


def after(assignment: Assignment, chain: Iterable[Move]) -> Assignment:
    """The assignment after a chain of moves."""
    changed = {member: list(partitions) for member, partitions in assignment.items()}
    for partition, source, target in chain:
        changed[source].remove(partition)
        changed.setdefault(target, []).append(partition)
    return {member: tuple(sorted(partitions)) for member, partitions in changed.items()}


def cost(assignment: Assignment, costs: Costs) -> int:
    """What the partitions of an assignment cost together."""
    return sum(costs(p, member) for member, partitions in assignment.items() for p in partitions)
