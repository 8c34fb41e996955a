"""Exhaustive exploration, breadth first: every reachable state and every labelled edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from groupcheck.model.canonical import Frame, canonical
from groupcheck.model.instance import Instance
from groupcheck.model.state import Coordinator
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import Response


class Edge(NamedTuple):
    """A labelled edge of the state graph; its source is the node that lists it.

    It is labelled with the input and the answers, in the names of the source; `target` is the
    number of a node. `fired` are the rules applied on the way, of one way if several come to the
    same: an order of timers that nobody can tell from another makes no edge of its own.
    """

    given: Input
    responses: tuple[Response, ...]
    target: int
    fired: tuple[str, ...]


class Space(NamedTuple):
    """An explored space: nodes by number (0 is the initial one), and the edges of each."""

    instance: Instance
    nodes: tuple[Coordinator, ...]
    numbers: dict[Coordinator, int]
    edges: tuple[tuple[Edge, ...], ...]
    depth: int
    applied: Counter[str]  # in how many outcomes each rule was applied

    @property
    def edge_count(self) -> int:
        """The number of labelled edges."""
        return sum(map(len, self.edges))

    def frame(self, state: Coordinator) -> Frame:
        """The canonical form of a state, as this space has it."""
        return canonical(state, timed=self.instance.timed)


def explore(instance: Instance, progress: Callable[[int], None] = lambda _count: None) -> Space:
    """Explore a space whole; `progress` is told the number of states expanded since last told."""
    profile, config = instance.profile, instance.config
    initial = Coordinator()
    nodes, numbers = [initial], {initial: 0}
    edges: list[tuple[Edge, ...]] = []
    applied: Counter[str] = Counter()
    depth, last_of_layer = 0, 0
    while len(edges) < len(nodes):
        node = nodes[len(edges)]
        found: dict[tuple[object, ...], Edge] = {}
        for given in instance.inputs(node):
            for after, responses, fired, _ in successors(node, given, profile, config):
                if not instance.admits(after):
                    continue
                number = numbers.get(after)  # most successors are canonical as they are
                if number is None:
                    target = canonical(after, timed=instance.timed).node
                    number = numbers.setdefault(target, len(nodes))
                    if number == len(nodes):
                        nodes.append(target)
                answers = tuple(sorted(responses, key=attrgetter("request_id")))
                edge = Edge(given, answers, number, fired)
                found.setdefault((given, answers, number), edge)
                applied.update(set(fired))
        edges.append(tuple(found.values()))
        progress(1)
        if len(edges) - 1 == last_of_layer and len(nodes) > len(edges):
            depth, last_of_layer = depth + 1, len(nodes) - 1
    return Space(instance, tuple(nodes), numbers, tuple(edges), depth, applied)
