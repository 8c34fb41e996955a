"""The graphs that the letters of a saved result are of: explored again, and known by their digests.

What was shown is in the result; what the edges are called, only the model says. A result of another
model has letters that mean nothing here, and its spaces are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupcheck.model.exploring.explorer import Space, TooManyStatesError, explore
from groupcheck.model.exploring.graph import StateGraph
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.known import instances
from groupcheck.properties.coverage.covered import digest
from groupcheck.reports import saved


class Known(NamedTuple):
    """A space of a result, and its graph."""

    saved: saved.Space
    graph: StateGraph

    @property
    def name(self) -> str:
        """The space, as coverage files name it."""
        return f"{self.saved.name}/{self.saved.members}"

    @property
    def space(self) -> Space:
        """The explored space."""
        return self.graph.space


class Again(NamedTuple):
    """The spaces whose graphs are known, and the names of those of another model."""

    known: tuple[Known, ...]
    unknown: tuple[str, ...]


def again(result: saved.Saved, tell: Callable[[int], None] = lambda _states: None) -> Again:
    """Explore the spaces of a result; `tell` is told of states found."""
    known: list[Known] = []
    unknown: list[str] = []
    for each in result.spaces:
        space = _explored(result.profile, each, tell)
        if space is None:
            unknown.append(f"{each.name}/{each.members}")
        else:
            known.append(Known(each, StateGraph(space)))
    return Again(tuple(known), tuple(unknown))


def _explored(profile: str, wanted: saved.Space, tell: Callable[[int], None]) -> Space | None:
    if profile not in PROFILES:
        return None
    for instance in instances(PROFILES[profile], wanted.name, wanted.members, wanted.broker):
        try:
            space = explore(instance, tell, most_states=wanted.states)
        except TooManyStatesError:
            continue
        if len(wanted.edge_kinds) == space.edge_count and digest(space) == wanted.digest:
            return space
    return None
