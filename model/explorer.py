"""Exhaustive exploration, breadth first: every reachable state and every labelled edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from groupcheck.model.canonical import Frame, canonical, named
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


class TooManyStatesError(Exception):
    """A space has more states than there was leave to keep."""


class _Nodes:
    """The states found so far, each in the form, and with the number, that it has in the space."""

    def __init__(self, instance: Instance, *, symmetry: bool) -> None:
        initial = Coordinator()
        self.found = [initial]
        self.numbers = {initial: 0}
        self._timed = instance.timed
        self._pool = () if symmetry else instance.names

    def targets(self, after: Coordinator) -> list[int]:
        """The numbers of the forms of a successor; without symmetry a newcomer has many."""
        number = self.numbers.get(after)  # most successors are in their form as they are
        if number is not None:
            return [number]
        if self._pool:
            return [self._number(frame) for frame in named(after, self._pool, timed=self._timed)]
        return [self._number(canonical(after, timed=self._timed))]

    def _number(self, frame: Frame) -> int:
        number = self.numbers.setdefault(frame.node, len(self.found))
        if number == len(self.found):
            self.found.append(frame.node)
        return number


def explore(
    instance: Instance,
    progress: Callable[[int], None] = lambda _count: None,
    *,
    symmetry: bool = True,
    most_states: int | None = None,
) -> Space:
    """Explore a space whole; `progress` is told the number of states expanded since last told.

    Without `symmetry` members keep their names, as they do for TLC: states that differ in names
    alone are then different ones, and a newcomer is given each free name.

    Raises:
        TooManyStatesError: there are more than `most_states`; nothing of the space is given back.
    """
    nodes = _Nodes(instance, symmetry=symmetry)
    edges: list[tuple[Edge, ...]] = []
    applied: Counter[str] = Counter()
    depth, last_of_layer = 0, 0
    while len(edges) < len(nodes.found):
        edges.append(_edges(instance, nodes, nodes.found[len(edges)], applied))
        progress(1)
        if most_states is not None and len(nodes.found) > most_states:
            msg = f"more than {most_states:,} states"
            raise TooManyStatesError(msg)
        if len(edges) - 1 == last_of_layer and len(nodes.found) > len(edges):
            depth, last_of_layer = depth + 1, len(nodes.found) - 1
    return Space(instance, tuple(nodes.found), nodes.numbers, tuple(edges), depth, applied)


def _edges(
    instance: Instance, nodes: _Nodes, node: Coordinator, applied: Counter[str]
) -> tuple[Edge, ...]:
    """The labelled edges of a node, each once."""
    profile, config = instance.profile, instance.config
    found: dict[tuple[object, ...], Edge] = {}
    for given in instance.inputs(node):
        for after, responses, fired, _ in successors(node, given, profile, config):
            if not instance.admits(after):
                continue
            answers = tuple(sorted(responses, key=attrgetter("request_id")))
            for target in nodes.targets(after):
                found.setdefault((given, answers, target), Edge(given, answers, target, fired))
            applied.update(set(fired))
    return tuple(found.values())
