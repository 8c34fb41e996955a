"""Exhaustive exploration, breadth first: every reachable state and every labelled edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from groupcheck.model.exploring.canonical import Frame
from groupcheck.model.exploring.orbits import Arrow, Orbits
from groupcheck.model.spaces.instance import Instance
from groupcheck.model.state import Coordinator
from groupcheck.model.step import Outcome
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
        return self.instance.frame(state)


class Seen(NamedTuple):
    """One outcome of an input: the node it leads to, and its own names with those it has there."""

    given: Input
    outcome: Outcome
    target: int
    names: dict[str, str]


class TooManyStatesError(Exception):
    """A space has more states than there was leave to keep."""


class _Reduced:
    """The states found so far, one for all that differ in names alone, and the names they have."""

    def __init__(self, instance: Instance) -> None:
        self.nodes: list[Coordinator] = []
        self.names: list[tuple[str, ...]] = []
        self.numbers: dict[Coordinator, int] = {}
        self._instance = instance

    def place(self, after: Coordinator) -> tuple[int, tuple[str, ...]]:
        """The number of a successor, and its own names in the order of those it has there."""
        number = self.numbers.get(after)  # most successors are in their form as they are
        if number is not None:
            return number, self.names[number]
        frame = self._instance.frame(after)
        number = self.numbers.setdefault(frame.node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(frame.node)
            self.names.append(tuple(frame.names.values()))
        return number, tuple(frame.names)


def explore(
    instance: Instance,
    progress: Callable[[int], None] = lambda _count: None,
    *,
    symmetry: bool = True,
    most_states: int | None = None,
) -> Space:
    """Explore a space whole; `progress` is told the number of states expanded since last told.

    Without `symmetry` members keep their names, as they do for TLC: states that differ in names
    alone are then different ones, and a newcomer is given each free name. The rules are run on one
    of them, and what comes of it is renamed for the others.

    Raises:
        TooManyStatesError: there are more than `most_states`; nothing of the space is given back.
    """
    reduced = _Reduced(instance)
    reduced.place(instance.initial)
    orbits = None if symmetry else Orbits(instance.names, instance.generations)
    found = orbits or reduced
    edges: list[tuple[Edge, ...]] = []
    applied: Counter[str] = Counter()
    depth, last_of_layer = 0, 0
    for number, node in enumerate(reduced.nodes):  # to which more are added meanwhile
        arrows = _arrows(instance, reduced, node)
        if orbits is None:
            expanded = [_each_once(arrows)]
        else:
            orbits.add(reduced.nodes, reduced.names)
            expanded = [tuple(map(Edge._make, rows)) for rows in orbits.edges(number, arrows)]
        edges += expanded
        _count(applied, arrows, len(expanded))
        progress(len(expanded))
        if most_states is not None and len(found.nodes) > most_states:
            msg = f"more than {most_states:,} states"
            raise TooManyStatesError(msg)
        if number == last_of_layer and len(reduced.nodes) > number + 1:
            depth, last_of_layer = depth + 1, len(reduced.nodes) - 1
    return Space(instance, tuple(found.nodes), found.numbers, tuple(edges), depth, applied)


def part(
    instance: Instance,
    nodes: Iterable[Coordinator],
    see: Callable[[int, Seen], None] = lambda _node, _seen: None,
) -> Space:
    """A part of a space reduced by symmetry: these nodes, in their order, with their edges.

    Behind them are the nodes that these lead to, without theirs. Nothing is said of the depth.
    Each outcome of an edge is shown to `see`, which is cheaper than to ask for all of them again.
    """
    reduced = _Reduced(instance)
    for node in nodes:
        reduced.place(node)
    applied: Counter[str] = Counter()
    edges: list[tuple[Edge, ...]] = []
    for number, node in enumerate(reduced.nodes[:]):
        arrows = _arrows(instance, reduced, node, partial(see, number))
        edges.append(_each_once(arrows))
        _count(applied, arrows, 1)
    edges += [()] * (len(reduced.nodes) - len(edges))
    return Space(instance, tuple(reduced.nodes), reduced.numbers, tuple(edges), 0, applied)


def _arrows(
    instance: Instance,
    reduced: _Reduced,
    node: Coordinator,
    see: Callable[[Seen], None] | None = None,
) -> list[Arrow]:
    """Every outcome of every input of a node that belongs to the space."""
    profile, config = instance.profile, instance.config
    found = []
    for given in instance.inputs(node):
        for outcome in successors(node, given, profile, config):
            after, responses, fired, _ = outcome
            if instance.admits(after):
                target, names = reduced.place(after)
                if see is not None:
                    there = dict(zip(names, reduced.names[target], strict=True))
                    see(Seen(given, outcome, target, there))
                answers = tuple(sorted(responses, key=attrgetter("request_id")))
                found.append(Arrow(given, answers, target, names, fired))
    return found


def _each_once(arrows: Iterable[Arrow]) -> tuple[Edge, ...]:
    """The labelled edges, each once."""
    found: dict[tuple[object, ...], Edge] = {}
    for given, responses, target, _, fired in arrows:
        found.setdefault((given, responses, target), Edge(given, responses, target, fired))
    return tuple(found.values())


def _count(applied: Counter[str], arrows: Iterable[Arrow], times: int) -> None:
    for arrow in arrows:
        for rule in set(arrow.fired):
            applied[rule] += times
