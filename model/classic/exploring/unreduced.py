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

from groupcheck.model.classic.exploring.canonical import parked_ids, with_names
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.engine.exploration import Reached
from groupcheck.model.vocabulary import (
    Assignment,
    DescribedGroupMember,
    JoinGroupResponseMember,
    Response,
)

# Records that are sorted by their first field. (The order of a LeaveGroup is significant.)
LISTED = (Assignment, DescribedGroupMember, JoinGroupResponseMember, Response)


class _Namings(NamedTuple):
    """The namings of a number of members.

    `names` has for each naming the names of the members, then the unused names; `numbers` maps the
    names of the members to the number of the naming.
    """

    names: list[tuple[str, ...]]
    numbers: dict[tuple[str, ...], int]


@cache
def _namings(pool: tuple[str, ...], members: int) -> _Namings:
    chosen = list(permutations(pool, members))
    return _Namings(
        [(*names, *(n for n in pool if n not in names)) for names in chosen],
        {names: number for number, names in enumerate(chosen)},
    )


class _Orbit(NamedTuple):
    """The states that differ from one state in names alone.

    `numbers` has the state for each naming of the members. If some members are equal, several
    namings give the same state; `namings` has one naming for each state.
    """

    names: tuple[str, ...]
    numbers: list[int]
    namings: list[int]


class UnreducedStates:
    """The states found so far and their numbers; those of an orbit are next to each other."""

    def __init__(self, pool: tuple[str, ...], generations: int) -> None:
        self.nodes: list[Coordinator] = []
        self.numbers: dict[Coordinator, int] = {}
        self._pool = pool
        self._generations = generations
        self._orbits: list[_Orbit] = []
        self._target_namings: dict[tuple[tuple[str, ...], ...], list[list[int]]] = {}
        self._images: dict[tuple[object, ...], list[Any]] = {}

    def add(self, nodes: Sequence[Coordinator], names: Sequence[tuple[str, ...]]) -> None:
        """Add the orbits of the new nodes of the reduced state space."""
        for at in range(len(self._orbits), len(nodes)):
            orbit = _Orbit(names[at], [], [])
            for naming, chosen in enumerate(_namings(self._pool, len(orbit.names)).names):
                exchanged = dict(zip(orbit.names, chosen, strict=False))
                state = with_names(nodes[at], exchanged, self._generations)
                number = self.numbers.setdefault(state, len(self.nodes))
                if number == len(self.nodes):
                    self.nodes.append(state)
                    orbit.namings.append(naming)
                orbit.numbers.append(number)
            self._orbits.append(orbit)

    def edges(
        self, number: int, outcomes: Iterable[Reached]
    ) -> Iterator[Iterable[tuple[Any, ...]]]:
        """For each state of an orbit, in order, its transitions, each once."""
        orbit = self._orbits[number]
        found: dict[tuple[int, ...], tuple[Any, ...]] = {}
        for outcome in outcomes:
            kind = (orbit.names, type(getattr(outcome.given, "body", outcome.given)))
            givens = self._renamed(kind, outcome.given)
            answered = (*kind, *(type(response.body) for response in outcome.responses))
            answers = self._renamed(answered, outcome.responses)
            numbers = self._orbits[outcome.target].numbers
            for target_namings in self._namings_of_targets(orbit.names, outcome.names):
                targets = [numbers[naming] for naming in target_namings]
                # Transitions that are equal under one naming are equal under every naming.
                key = (id(givens), id(answers), targets[0])
                found.setdefault(key, (givens, answers, targets, outcome.applied))
        for at in orbit.namings:
            yield [
                (g[at], a[at], targets[at], applied) for g, a, targets, applied in found.values()
            ]

    def _namings_of_targets(self, here: tuple[str, ...], there: tuple[str, ...]) -> list[list[int]]:
        """For each naming of the source the naming of the target.

        There is one such list for each free name that a new member may get.
        """
        known = self._target_namings.get((here, there))
        if known is None:
            kept = {name: index for index, name in enumerate(here) if name in there}
            free = [index for index in range(len(self._pool)) if index not in kept.values()]
            newcomers = [name for name in there if name not in kept]
            known = []
            for chosen in permutations(free, len(newcomers)):
                indices = kept | dict(zip(newcomers, chosen, strict=True))
                known.append(self._namings_of_target(len(here), [indices[name] for name in there]))
            self._target_namings[here, there] = known
        return known

    def _namings_of_target(self, members: int, indices: Sequence[int]) -> list[int]:
        """The same, if the members of the target have the names at these indices."""
        numbers = _namings(self._pool, len(indices)).numbers
        sources = _namings(self._pool, members).names
        return [numbers[tuple(names[index] for index in indices)] for names in sources]

    def _renamed(self, kind: tuple[Any, ...], record: tuple[Any, ...]) -> list[Any]:
        """An input, or the responses to it, under each naming.

        Records of different types may be equal as tuples, so `kind` has the types of the input and
        of its responses.
        """
        key = (*kind, type(record), record)
        images = self._images.get(key)
        if images is None:
            namings = _namings(self._pool, len(kind[0])).names
            images = [renamed(record, _names(kind[0], chosen)) for chosen in namings]
            self._images[key] = images
        return images


def _names(names: Iterable[str], others: Iterable[str]) -> dict[str | int, str | int]:
    """Other names for names, and for the ids of the requests that each member has parked."""
    exchanged: dict[str | int, str | int] = {}
    for name, other in zip(names, others, strict=False):
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
