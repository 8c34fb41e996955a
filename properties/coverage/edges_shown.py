"""Which labelled edges of a space a port has shown, and which are still to be tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from threading import RLock

from groupcheck.model.exploring.explorer import Edge, Space
from groupcheck.model.exploring.graph import Hop
from groupcheck.model.exploring.least import least_steps
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.kind import Kind
from groupcheck.properties.generators.nearest import Nearest, Way
from groupcheck.properties.result import Shares
from groupcheck.properties.sorts import sort_of

# A fork of two branches is tried twice as often before a branch is taken for not chosen. Of more
# branches some may be seldom, such as one that takes a certain order of all timers: see `_most`.
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
    """The coverage of one space by one port; several threads may walk it at once.

    Of the labelled edges only those are tried and counted that are `wanted`; on the way to them
    others may have to be gone. Whether a fork is wanted, its first edge says. Ways are planned for
    a port that chooses branches at random, or, if `forks_obey`, for one that takes what is wanted.
    """

    def __init__(
        self,
        space: Space,
        random: Random,
        wanted: Callable[[Edge], bool] = lambda _edge: True,
        *,
        forks_obey: bool = False,
    ) -> None:
        self.space = space
        self._obeyed = forks_obey
        self._wanted = wanted
        self._lock = RLock()
        self.shown: set[Hop] = set()
        self.times: Counter[Hop] = Counter()  # how often, in this run
        self._pairs: set[tuple[Hop, Hop]] = set()
        self.diverged: set[Hop] = set()
        self.left_out: set[Hop] = set()
        self.struck: set[Hop] = set()
        self.met: set[tuple[str, ...]] = set()  # the keys of findings that can be gone past
        self._shut: set[Hop] = set()  # through these no way is planned
        self.unsupported: list[str] = []
        self._alike: Counter[Label] = Counter()
        self._missed: Counter[Hop] = Counter()
        self._told = 0
        self._forks = [_forks_of(edges) for edges in space.edges]
        self.todo = [self._in_order(node, random) for node in range(len(space.nodes))]
        self._ways = [self._ways_out(node) for node in range(len(space.nodes))]
        self._nearest = Nearest(self._ways, self.todo.__getitem__)

    def _in_order(self, node: int, random: Random) -> list[Fork]:
        order = [fork for fork in self._forks[node].values() if self.wants(node, fork)]
        random.shuffle(order)
        # What leaves the node goes first into the list, so that it is taken last from its end.
        order.sort(key=lambda fork: self.space.edges[node][fork.edges[0]].target == node)
        return order

    def wants(self, node: int, fork: Fork) -> bool:
        """Whether a fork is among those that are to be tried."""
        return self._wanted(self.space.edges[node][fork.edges[0]])

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
            if fork.tries >= _most(fork) or len(fork.edges) == 1:
                todo.pop()
            return fork

    def after(self, hop: Hop) -> int:
        """The node that a labelled edge leads to."""
        return self.space.edges[hop.node][hop.edge].target

    def go(self, node: int) -> Hop:
        """Show one of the labelled edges of the node that are still to be tried, by wish."""
        fork = self.todo[node][-1]
        hop = next(hop for place in fork.edges if (hop := Hop(node, place)) not in self.shown)
        self.skip({hop})
        return hop

    def skip(self, hops: set[Hop]) -> None:
        """Count labelled edges as shown."""
        self.shown |= hops
        for hop in hops:
            fork = self.fork(hop)
            if all(Hop(hop.node, place) in self.shown for place in fork.edges):
                self._done(hop.node, fork)

    def arrived(self, node: int, fork: Fork, target: int, fired: frozenset[tuple[str, ...]]) -> int:
        """The node where the port is that has come to `target` by a branch of the fork."""
        del node, fork, fired
        return target

    def show(
        self, node: int, fork: Fork, target: int, fired: frozenset[tuple[str, ...]]
    ) -> Hop | None:
        """Note the branch of a fork that the port took; `fired` are the rules it can have been.

        It is given back if there is no doubt which one it was.
        """
        with self._lock:
            edges = self.space.edges[node]
            taken = [place for place in fork.edges if edges[place].target == target]
            if len(taken) > 1:
                taken = [place for place in taken if edges[place].fired in fired]
            self.shown.update(Hop(node, place) for place in taken)
            self.times.update(Hop(node, place) for place in taken)
            if all(Hop(node, place) in self.shown for place in fork.edges):
                self._done(node, fork)
            return Hop(node, taken[0]) if len(taken) == 1 else None

    def follow(self, before: Hop | None, hop: Hop | None) -> None:
        """Note that one edge was shown right after another one, if it is known which they were."""
        if before and hop and self.after(before) != before.node:
            with self._lock:
                self._pairs.add((before, hop))

    def shown_pairs(self) -> set[tuple[Hop, Hop]]:
        """The pairs of adjacent edges that were shown."""
        return self._pairs

    def show_all(self, times: Sequence[int]) -> None:
        """Note what was shown otherwise: for each labelled edge how often."""
        with self._lock:
            hops = (
                Hop(n, e) for n, edges in enumerate(self.space.edges) for e in range(len(edges))
            )
            often = {hop: number for hop, number in zip(hops, times, strict=True) if number}
            self.shown.update(often)
            self.times.update(often)

    def diverge(self, node: int, fork: Fork) -> None:
        """Note that the port answered unlawfully; the way on through it is barred."""
        with self._lock:
            self.diverged.update(Hop(node, place) for place in fork.edges)
            self._shut.update(Hop(node, place) for place in fork.edges)
            self._ways[node] = self._ways_out(node)
            self._done(node, fork)
            label = self._label(node, fork)
            self._alike[label] += 1
            if self._alike[label] == ALIKE:
                self._strike(label)

    def pass_over(self, node: int, fork: Fork) -> None:
        """Note that the port answered unlawfully, and that the test has gone past it."""
        with self._lock:
            self.diverged.update(Hop(node, place) for place in fork.edges)
            self._done(node, fork)

    def reopen(self) -> None:
        """Plan ways through what was answered unlawfully, until it bars them once more."""
        with self._lock:
            self._shut.clear()
            self._alike.clear()
            for node in range(len(self.space.nodes)):
                self._ways[node] = self._ways_out(node)
            # It counts on it that ways are only ever barred.
            self._nearest = Nearest(self._ways, self.todo.__getitem__)

    def miss(self, hop: Hop) -> None:
        """Note that the port was to take an edge and took another branch of the fork.

        What it does not take again and again, and never in between, is no way to anything.
        """
        with self._lock:
            self._missed[hop] += 1
            if self._missed[hop] == _most(self.fork(hop)):
                self._ways[hop.node] = self._ways_out(hop.node)

    def meet(self, hop: Hop) -> None:
        """Note that the port took the edge that it was to take."""
        self._missed.pop(hop, None)

    def miss_all(self, node: int, fork: Fork) -> None:
        """Note that a fork could not be tried as things had come about."""
        for place in fork.edges:
            self.miss(Hop(node, place))

    def leave_out(self, given: Input, what: str) -> None:
        """Strike every input of the sort that the port does not support."""
        with self._lock:
            if what not in self.unsupported:
                self.unsupported.append(what)
            for node, forks in enumerate(self.todo):
                for fork in [f for f in forks if sort_of(f.given) == sort_of(given)]:
                    self._done(node, fork)
            for node, edges in enumerate(self.space.edges):
                self.left_out.update(
                    Hop(node, place)
                    for place, edge in enumerate(edges)
                    if sort_of(edge.given) == sort_of(given)
                )
                self._ways[node] = self._ways_out(node)

    def _label(self, node: int, fork: Fork) -> Label:
        return sort_of(fork.given)[:2], self.space.edges[node][fork.edges[0]].fired

    def _strike(self, label: Label) -> None:
        for node, forks in enumerate(self._forks):
            for fork in forks.values():
                if self._label(node, fork) == label:
                    self.struck.update(Hop(node, place) for place in fork.edges)
                    self._shut.update(Hop(node, place) for place in fork.edges)
                    self._done(node, fork)
            self._ways[node] = self._ways_out(node)

    def _done(self, node: int, fork: Fork) -> None:
        if fork in self.todo[node]:
            self.todo[node].remove(fork)

    def way(self, start: int, limit: int) -> list[Hop] | None:
        """A way of at most `limit` steps to a node with something to be tried.

        It is the one of the fewest tries, or of the fewest steps if that one is too long.
        """
        with self._lock:
            if limit < 0:
                return None
            if self.todo[start]:
                return []
            path = self._nearest.find(start)
            if path is None:
                return None
            hops = [Hop(node, self._ways[node][after].place) for node, after in pairwise(path)]
            if len(hops) <= limit:
                return hops
            if all(len(self.fork(hop).edges) == 1 for hop in hops):
                return None  # tries and steps are the same
            return self._shortest(start, limit)

    def _shortest(self, start: int, limit: int) -> list[Hop] | None:
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
            hops.append(Hop(before[node], self._ways[before[node]][node].place))
            node = before[node]
        return hops[::-1]

    def _ways_out(self, node: int) -> dict[int, Way]:
        """For each other node one step away, the surest edge that leads there and is not barred."""
        ways: dict[int, Way] = {}
        for place, edge in enumerate(self.space.edges[node]):
            if edge.target != node and not self._barred(Hop(node, place)):
                branches = 1 if self._obeyed else len(self.fork(Hop(node, place)).edges)
                way = Way(place, branches)
                if edge.target not in ways or way.tries < ways[edge.target].tries:
                    ways[edge.target] = way
        return ways

    def _barred(self, hop: Hop) -> bool:
        return (
            hop in self._shut or hop in self.left_out or self._missed[hop] >= _most(self.fork(hop))
        )

    def news(self) -> int:
        """How many more labelled edges have been shown since this was last asked."""
        new, self._told = len(self.shown) - self._told, len(self.shown)
        return new

    def least_steps(self) -> int:
        """A lower bound on the steps of any suite of tests that shows what was wanted and shown.

        One step may show several branches of a fork that lead to one node: these count once.
        """
        edges = self.space.edges
        shown = {
            (node, edges[node][place].given, edges[node][place].target)
            for node, place in self.shown
            if self.wants(node, self.fork(Hop(node, place)))
        }
        return least_steps(self.space, ((node, target) for node, _, target in shown))

    def kinds(self) -> str:
        """How each edge came out, a letter for each, in the order of the space."""
        tried = {(hop.node, self.space.edges[hop.node][hop.edge].given) for hop in self.shown}
        return "".join(
            self._kind(Hop(node, place), edge, tried)
            for node, edges in enumerate(self.space.edges)
            for place, edge in enumerate(edges)
        )

    def _kind(self, hop: Hop, edge: Edge, tried: set[tuple[int, Input]]) -> Kind:
        if not self.wants(hop.node, self.fork(hop)):
            return Kind.NOT_ASKED
        if hop in self.shown:
            return Kind.ANSWERED if isinstance(edge.given, Request) else Kind.HAPPENED
        if hop in self.diverged:
            return Kind.DIVERGED
        if hop in self.left_out:
            return Kind.LEFT_OUT
        if (hop.node, edge.given) in tried:
            return Kind.NOT_CHOSEN
        return Kind.AMBIGUOUS if self.fork(hop).tries else Kind.UNTRIED

    def shares(self) -> Shares:
        """The edges counted, each once."""
        return Shares.of(self.kinds())


def _forks_of(edges: tuple[Edge, ...]) -> dict[Input, Fork]:
    forks: dict[Input, Fork] = {}
    for place, edge in enumerate(edges):
        forks.setdefault(edge.given, Fork(edge.given)).edges.append(place)
    return forks


def _most(fork: Fork) -> int:
    """How often a branch of the fork is not taken before it is given up."""
    branches = len(fork.edges)
    return TRIES_PER_BRANCH * branches * max(branches - 1, 1)
