"""Which labelled edges of a space a port has shown, and which are still to be tried."""

from __future__ import annotations

from collections import Counter
from random import Random
from threading import RLock

from groupcheck.model.explorer import Edge, Space
from groupcheck.model.graph import Hop
from groupcheck.model.state import Advance
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.result import Shares

# A fork is tried this often for each of its branches before the rest is taken for not chosen.
TRIES_PER_BRANCH = 8

# What is answered unlawfully this often in the same way is not tried in yet other states.
ALIKE = 3


Label = tuple[tuple[object, ...], tuple[str, ...]]


class Fork:
    """The labelled edges of one input in one node: one, or several where Kafka leaves it open."""

    __slots__ = ("edges", "given", "tries")

    def __init__(self, given: Input) -> None:
        self.given = given
        self.edges: list[int] = []
        self.tries = 0


class Coverage:
    """The coverage of one space by one port; several threads may walk it at once."""

    def __init__(self, space: Space, random: Random) -> None:
        self.space = space
        self._lock = RLock()
        self.shown: set[Hop] = set()
        self.diverged: set[Hop] = set()
        self.left_out: set[Hop] = set()
        self.struck: set[Hop] = set()
        self.unsupported: list[str] = []
        self._alike: Counter[Label] = Counter()
        self._missed: Counter[Hop] = Counter()
        self._told = 0
        self._forks = [_forks_of(edges) for edges in space.edges]
        self.todo = [self._in_order(node, random) for node in range(len(space.nodes))]
        self._ways = [self._ways_out(node) for node in range(len(space.nodes))]

    def _in_order(self, node: int, random: Random) -> list[Fork]:
        order = list(self._forks[node].values())
        random.shuffle(order)
        # What leaves the node goes first into the list, so that it is taken last from its end.
        order.sort(key=lambda fork: self.space.edges[node][fork.edges[0]].target == node)
        return order

    def fork(self, hop: Hop) -> Fork:
        """The fork that a labelled edge is a branch of."""
        return self._forks[hop.node][self.space.edges[hop.node][hop.edge].given]

    def take(self, node: int) -> Fork | None:
        """A fork of the node that is still to be tried; it counts as tried once more."""
        with self._lock:
            todo = self.todo[node]
            if not todo:
                return None
            fork = todo[-1]
            fork.tries += 1
            if fork.tries >= TRIES_PER_BRANCH * len(fork.edges) or len(fork.edges) == 1:
                todo.pop()
            return fork

    def show(self, node: int, fork: Fork, target: int, fired: frozenset[tuple[str, ...]]) -> None:
        """Note the branch of a fork that the port took; `fired` are the rules it can have been."""
        with self._lock:
            edges = self.space.edges[node]
            taken = [place for place in fork.edges if edges[place].target == target]
            if len(taken) > 1:
                taken = [place for place in taken if edges[place].fired in fired]
            self.shown.update(Hop(node, place) for place in taken)
            if all(Hop(node, place) in self.shown for place in fork.edges):
                self._done(node, fork)

    def diverge(self, node: int, fork: Fork) -> None:
        """Note that the port answered unlawfully; the way on through it is barred."""
        with self._lock:
            self.diverged.update(Hop(node, place) for place in fork.edges)
            self._ways[node] = self._ways_out(node)
            self._done(node, fork)
            label = self._label(node, fork)
            self._alike[label] += 1
            if self._alike[label] == ALIKE:
                self._strike(label)

    def miss(self, hop: Hop) -> None:
        """Note that the port was to take an edge and took another branch of the fork.

        What it does not take again and again is no way to anything.
        """
        with self._lock:
            self._missed[hop] += 1
            if self._missed[hop] == TRIES_PER_BRANCH:
                self._ways[hop.node] = self._ways_out(hop.node)

    def leave_out(self, given: Input, what: str) -> None:
        """Strike every input of the sort that the port does not support."""
        with self._lock:
            if what not in self.unsupported:
                self.unsupported.append(what)
            for node, forks in enumerate(self.todo):
                for fork in [f for f in forks if _sort(f.given) == _sort(given)]:
                    self._done(node, fork)
            for node, edges in enumerate(self.space.edges):
                self.left_out.update(
                    Hop(node, place)
                    for place, edge in enumerate(edges)
                    if _sort(edge.given) == _sort(given)
                )
                self._ways[node] = self._ways_out(node)

    def _label(self, node: int, fork: Fork) -> Label:
        return _sort(fork.given), self.space.edges[node][fork.edges[0]].fired

    def _strike(self, label: Label) -> None:
        for node, forks in enumerate(self._forks):
            for fork in forks.values():
                if self._label(node, fork) == label:
                    self.struck.update(Hop(node, place) for place in fork.edges)
                    self._done(node, fork)
            self._ways[node] = self._ways_out(node)

    def _done(self, node: int, fork: Fork) -> None:
        if fork in self.todo[node]:
            self.todo[node].remove(fork)

    def way(self, start: int, limit: int) -> list[Hop] | None:
        """A shortest way of at most `limit` steps to a node with something to be tried."""
        with self._lock:
            before: dict[int, int] = {start: start}
            layer = [start]
            for _ in range(limit + 1):
                for node in layer:
                    if self.todo[node]:
                        return self._hops(before, start, node)
                following: list[int] = []
                for node in layer:
                    for target in self._ways[node]:
                        if target not in before:
                            before[target] = node
                            following.append(target)
                layer = following
            return None

    def _hops(self, before: dict[int, int], start: int, node: int) -> list[Hop]:
        hops: list[Hop] = []
        while node != start:
            hops.append(Hop(before[node], self._ways[before[node]][node]))
            node = before[node]
        return hops[::-1]

    def _ways_out(self, node: int) -> dict[int, int]:
        """For each other node one step away, an edge that leads there and is not barred."""
        ways: dict[int, int] = {}
        for place, edge in enumerate(self.space.edges[node]):
            if edge.target != node and not self._barred(Hop(node, place)):
                ways.setdefault(edge.target, place)
        return ways

    def _barred(self, hop: Hop) -> bool:
        return (
            hop in self.diverged
            or hop in self.struck
            or hop in self.left_out
            or self._missed[hop] >= TRIES_PER_BRANCH
        )

    def news(self) -> int:
        """How many more labelled edges have been shown since this was last asked."""
        new, self._told = len(self.shown) - self._told, len(self.shown)
        return new

    def shares(self) -> Shares:
        """The edges counted, each once."""
        tried = {(hop.node, self.space.edges[hop.node][hop.edge].given) for hop in self.shown}
        counts = dict.fromkeys(Shares._fields, 0)
        for node, edges in enumerate(self.space.edges):
            for place, edge in enumerate(edges):
                hop = Hop(node, place)
                counts["edges"] += 1
                if hop in self.shown:
                    counts["shown"] += 1
                    counts["answered"] += isinstance(edge.given, Request)
                elif hop in self.diverged:
                    counts["diverged"] += 1
                elif hop in self.left_out:
                    counts["left_out"] += 1
                elif (node, edge.given) in tried:
                    counts["not_chosen"] += 1
                elif self.fork(hop).tries:
                    counts["ambiguous"] += 1
                else:
                    counts["untried"] += 1
        return Shares(**counts)


def _forks_of(edges: tuple[Edge, ...]) -> dict[Input, Fork]:
    forks: dict[Input, Fork] = {}
    for place, edge in enumerate(edges):
        forks.setdefault(edge.given, Fork(edge.given)).edges.append(place)
    return forks


def _sort(given: Input) -> tuple[object, ...]:
    if isinstance(given, Request):
        return (given.api, given.api_version)
    return (Advance,) if isinstance(given, Advance) else ("appends",)
