"""Explores the instances of a result again, to name the transitions that it counts.

The digest says whether the model is still the same. If it is not, the instance has no graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupcheck.model.engine.exploration import StateSpace, TooManyStatesError, explore
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.instances.small import instances_named
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.coverage.covered import digest
from groupcheck.properties.result import InstanceCoverage
from groupcheck.reports.record import ResultRecord


class Known(NamedTuple):
    """An instance of a result, and its graph."""

    result: InstanceCoverage
    graph: StateGraph

    @property
    def name(self) -> str:
        """The instance, as coverage files name it."""
        return self.result.label

    @property
    def space(self) -> StateSpace:
        """The explored states and transitions."""
        return self.graph.space


class Again(NamedTuple):
    """The instances whose graphs are known, and the names of those whose model has changed."""

    known: tuple[Known, ...]
    unknown: tuple[str, ...]


def again(result: ResultRecord, tell: Callable[[int], None] = lambda _states: None) -> Again:
    """Explore the instances of a result; `tell` is called with the number of new states."""
    known: list[Known] = []
    unknown: list[str] = []
    for each in result.instances:
        space = _explored(result.profile, each, tell)
        if space is None:
            unknown.append(each.label)
        else:
            known.append(Known(each, StateGraph(space)))
    return Again(tuple(known), tuple(unknown))


def _explored(
    profile: str, wanted: InstanceCoverage, tell: Callable[[int], None]
) -> StateSpace | None:
    if profile not in PROFILES:
        return None
    for instance in instances_named(PROFILES[profile], wanted.name, wanted.members, wanted.broker):
        try:
            space = explore(instance, tell, most_states=wanted.states)
        except TooManyStatesError:
            continue
        if len(wanted.outcomes) == space.transition_count and digest(space) == wanted.digest:
            return space
    return None
