"""Explores the instances of a result again, since a result only counts transitions.

If the digest shows that the model has changed, the instance has no graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from groupcheck.model.classic.edits import MalformedEditError
from groupcheck.model.classic.instances.small import instances_named
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.exploration import StateSpace, TooManyStatesError, explore
from groupcheck.model.engine.graph import StateGraph
from groupcheck.properties.coverage.covered import digest
from groupcheck.properties.deviations.deviating import deviating, deviations_of
from groupcheck.properties.result import InstanceCoverage
from groupcheck.reports.record import ResultRecord


class Known(NamedTuple):
    """An instance of a result, and its graph."""

    result: InstanceCoverage
    graph: StateGraph

    @property
    def name(self) -> str:
        """The name of the instance in coverage files."""
        return self.result.label

    @property
    def space(self) -> StateSpace:
        """The explored states and transitions."""
        return self.graph.space


class Graphs(NamedTuple):
    """The instances with known graphs, and the names of those whose model has changed."""

    known: tuple[Known, ...]
    unknown: tuple[str, ...]


def explored_again(
    result: ResultRecord, count: Callable[[int], None] = lambda _states: None
) -> Graphs:
    """Explore the instances of a result; `count` is called with the number of new states."""
    known: list[Known] = []
    unknown: list[str] = []
    for each in result.instances:
        space = _explored(result, each, count)
        if space is None:
            unknown.append(each.label)
        else:
            known.append(Known(each, StateGraph(space)))
    return Graphs(tuple(known), tuple(unknown))


def _explored(
    result: ResultRecord, wanted: InstanceCoverage, count: Callable[[int], None]
) -> StateSpace | None:
    """The instance by Kafka's rules, or with the deviations that the run has found."""
    if result.profile not in EVERY_PROFILE:
        return None
    profile = EVERY_PROFILE[result.profile]
    for instance in instances_named(profile, wanted.name, wanted.members, wanted.broker):
        for model in (profile, *_with_deviations(result)):
            try:
                modelled = instance._replace(profile=model)
                space = explore(modelled, count, most_states=wanted.states)
            except TooManyStatesError:
                continue
            if len(wanted.outcomes) == space.transition_count and digest(space) == wanted.digest:
                return space
    return None


def _with_deviations(result: ResultRecord) -> Iterator[Profile]:
    profile = EVERY_PROFILE[result.profile]
    found = [finding.cause.edit for finding in result.findings if finding.cause]
    with suppress(MalformedEditError):  # a merged result may have those of several ports
        if found:
            yield deviating(profile, deviations_of(profile, found))
