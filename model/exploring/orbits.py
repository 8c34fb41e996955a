"""The full state space, derived from the one reduced by symmetry.

The rules do not depend on the names of members, so all states of an orbit (states that differ in
names alone) have the same transitions, with other names. The rules run on one state of each orbit.
This module renames its states, inputs and responses for the others; each is renamed once and then
shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from operator import itemgetter
from typing import Any, NamedTuple

from groupcheck.model.engine.exploration import Reached
from groupcheck.model.exploring.canonical import parked_ids, under
from groupcheck.model.state import Coordinator
from groupcheck.model.vocabulary import (
    Assignment,
    DescribedGroupMember,
    JoinGroupResponseMember,
    Response,
)

# Records that are sorted by their first field. (The order of a LeaveGroup is significant.)
LISTED = (Assignment, DescribedGroupMember, JoinGroupResponseMember, Response)


class _Ways(NamedTuple):
    """The ways of naming a number of members.

    `names` has for each way the names of the members, then the unused names; `numbers` maps the
    names of the members to the way.
    """

    names: list[tuple[str, ...]]
    numbers: dict[tuple[str, ...], int]


@cache
def _ways(pool: tuple[str, ...], members: int) -> _Ways:
    chosen = list(permutations(pool, members))
    return _Ways(
        [(*names, *(n for n in pool if n not in names)) for names in chosen],
        {names: way for way, names in enumerate(chosen)},
    )


class _Orbit(NamedTuple):
    """The states that differ from one state in names alone.

    `numbers` has the state for each way of naming the members. If some members are equal, several
    ways give the same state; `ways` has one way for each state.
    """

    names: tuple[str, ...]
    numbers: list[int]
    ways: list[int]


class Orbits:
    """The states found so far and their numbers; those of an orbit are next to each other."""

    def __init__(self, pool: tuple[str, ...], generations: int) -> None:
        self.nodes: list[Coordinator] = []
        self.numbers: dict[Coordinator, int] = {}
        self._pool = pool
        self._generations = generations
        self._orbits: list[_Orbit] = []
        self._leads: dict[tuple[tuple[str, ...], ...], list[list[int]]] = {}
        self._images: dict[tuple[object, ...], list[Any]] = {}

    def add(self, nodes: Sequence[Coordinator], names: Sequence[tuple[str, ...]]) -> None:
        """Add the orbits of those nodes of the reduced state space that were not there before."""
        for at in range(len(self._orbits), len(nodes)):
            orbit = _Orbit(names[at], [], [])
            for way, borne in enumerate(_ways(self._pool, len(orbit.names)).names):
                renamed = dict(zip(orbit.names, borne, strict=False))
                state = under(nodes[at], renamed, self._generations)
                number = self.numbers.setdefault(state, len(self.nodes))
                if number == len(self.nodes):
                    self.nodes.append(state)
                    orbit.ways.append(way)
                orbit.numbers.append(number)
            self._orbits.append(orbit)

    def edges(self, number: int, arrows: Iterable[Reached]) -> Iterator[Iterable[tuple[Any, ...]]]:
        """For each state of an orbit, in order, its transitions, each once."""
        orbit = self._orbits[number]
        found: dict[tuple[int, ...], tuple[Any, ...]] = {}
        for arrow in arrows:
            kind = (orbit.names, type(getattr(arrow.given, "body", arrow.given)))
            givens = self._renamed(kind, arrow.given)
            answered = (*kind, *(type(response.body) for response in arrow.responses))
            answers = self._renamed(answered, arrow.responses)
            numbers = self._orbits[arrow.target].numbers
            for lead in self._led(orbit.names, arrow.names):
                targets = [numbers[way] for way in lead]
                # Transitions that are equal in one way of naming are equal in every way.
                key = (id(givens), id(answers), targets[0])
                found.setdefault(key, (givens, answers, targets, arrow.fired))
        for way in orbit.ways:
            yield [(g[way], a[way], targets[way], fired) for g, a, targets, fired in found.values()]

    def _led(self, here: tuple[str, ...], there: tuple[str, ...]) -> list[list[int]]:
        """For each way of the source the way of the target, if its members had those names.

        There is one such list for each free name that a new member may get.
        """
        known = self._leads.get((here, there))
        if known is None:
            kept = {name: place for place, name in enumerate(here) if name in there}
            free = [place for place in range(len(self._pool)) if place not in kept.values()]
            newcomers = [name for name in there if name not in kept]
            known = []
            for chosen in permutations(free, len(newcomers)):
                places = kept | dict(zip(newcomers, chosen, strict=True))
                known.append(self._lead(len(here), [places[name] for name in there]))
            self._leads[here, there] = known
        return known

    def _lead(self, members: int, places: Sequence[int]) -> list[int]:
        """The same, where the target's members had the names at these places."""
        numbers = _ways(self._pool, len(places)).numbers
        ways = _ways(self._pool, members).names
        return [numbers[tuple(names[place] for place in places)] for names in ways]

    def _renamed(self, kind: tuple[Any, ...], record: tuple[Any, ...]) -> list[Any]:
        """An input, or the responses to it, in each way of naming.

        Records of different types may be equal as tuples, so `kind` has the types of the input and
        of its responses.
        """
        key = (*kind, type(record), record)
        images = self._images.get(key)
        if images is None:
            ways = _ways(self._pool, len(kind[0])).names
            images = [renamed(record, _names(kind[0], borne)) for borne in ways]
            self._images[key] = images
        return images


def _names(names: Iterable[str], borne: Iterable[str]) -> dict[str | int, str | int]:
    """Other names for names, and for the ids of the requests that each member has parked."""
    exchanged: dict[str | int, str | int] = {}
    for name, other in zip(names, borne, strict=False):
        exchanged[name] = other
        if name.startswith("m"):  # a pending id has nothing parked
            exchanged.update(zip(parked_ids(name), parked_ids(other), strict=True))
    return exchanged


def renamed(record: Any, names: Mapping[str | int, str | int]) -> Any:  # noqa: ANN401 - any record
    """An input or responses with the names replaced, at any depth."""
    if isinstance(record, str):
        return names.get(record, record)
    if not isinstance(record, tuple):
        return record
    fields = [renamed(field, names) for field in record]
    if isinstance(record, Response):
        fields[0] = names.get(record.request_id, record.request_id)
    if hasattr(record, "_make"):
        return record._make(fields)
    if record and isinstance(record[0], LISTED):
        fields.sort(key=itemgetter(0))
    return tuple(fields)
