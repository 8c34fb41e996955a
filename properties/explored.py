"""The explored model instances that a port is verified on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Final

from groupcheck.cache import derived
from groupcheck.model.classic.instances.instance import (
    Instance,
    feature_instances,
    virtual_time_instances,
)
from groupcheck.model.classic.instances.small import small_instances
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import (
    ChangeAnswer,
    DropGuard,
    Edit,
    FirstNumber,
    FromVersion,
    about,
    always,
    rules_beside,
    table_of,
)
from groupcheck.model.engine.exploration import StateSpace, TooManyStatesError, Transition, explore
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.rules import Version
from groupcheck.model.vocabulary import Response
from groupcheck.properties import generators
from groupcheck.properties.coverage.covered import digest
from groupcheck.properties.generators.precomputed import PrecomputedSteps, all_changes
from groupcheck.properties.result import Settings

# The factor by which deviations may enlarge an instance.
MOST_GROWTH: Final = 4


@dataclass(frozen=True)
class Explored:
    """The model instances that a port is verified on, explored."""

    spaces: Mapping[str, StateSpace]
    graphs: Mapping[str, StateGraph]

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """A digest of each state space; coverages of equal state spaces can be merged."""
        return {name: digest(space) for name, space in self.spaces.items()}


def explored(
    instances: Mapping[str, Instance], done: Callable[[int], None] = lambda _states: None
) -> Explored:
    """Explore the instances; `done` receives the number of states found since its last call."""
    found = {name: space_of(each, done) for name, each in instances.items()}
    return Explored(found, {name: StateGraph(space) for name, space in found.items()})


def space_of(instance: Instance, done: Callable[[int], None] = lambda _states: None) -> StateSpace:
    """The state space of an instance; that of Kafka's rules is derived once for all processes."""
    if instance.profile is not EVERY_PROFILE.get(instance.profile.name):
        return explore(instance, done)
    states = 0

    def count(found: int) -> None:
        nonlocal states
        states += found
        done(found)

    # Rules are functions and cannot be pickled; numbers are quickly computed.
    space = derived(
        f"states, transitions of {instance.text}",
        lambda: _shared(explore(instance, count))._replace(instance=None, numbers={}),
        _package_of(instance),
    )
    done(len(space.nodes) - states)
    numbers = {node: number for number, node in enumerate(space.nodes)}
    return space._replace(instance=instance, numbers=numbers)


def steps_of(space: StateSpace, model: Profile) -> PrecomputedSteps:
    """The precomputed steps of a space, by the rules of a profile; Kafka's are derived once."""
    instance = space.instance
    if not model is instance.profile is EVERY_PROFILE.get(model.name):
        return PrecomputedSteps(space, model)
    changes = derived(
        f"changes of {instance.text}", lambda: all_changes(space), _package_of(instance), generators
    )
    return PrecomputedSteps(space, model, changes)


def _package_of(instance: Instance) -> ModuleType:
    package, _, _ = type(instance).__module__.rpartition(".")
    return sys.modules[package]


def _shared(space: StateSpace) -> StateSpace:
    """The space with equal inputs and equal responses once: it is smaller, and read faster."""
    inputs: dict[tuple[type, Input], Input] = {}
    responses: dict[tuple[type, Response], Response] = {}

    def once(edge: Transition) -> Transition:
        # Records of different types may be equal.
        given = inputs.setdefault((type(edge.given), edge.given), edge.given)
        answers = (responses.setdefault((type(each.body), each), each) for each in edge.responses)
        return edge._replace(given=given, responses=tuple(answers))

    return space._replace(edges=tuple(tuple(map(once, edges)) for edges in space.edges))


def with_deviations(
    given: Explored, model: Profile, changed: Iterable[Edit], done: Callable[[int], None]
) -> Explored:
    """The same instances, explored with the rules of another profile.

    An instance that the `changed` edits do not affect keeps its space.
    """
    version = EVERY_PROFILE[model.name].version
    rules = [rules_affected(edit, version) for edit in changed]
    spaces: dict[str, StateSpace] = {}
    for name, space in given.spaces.items():
        affected = any(not each or not each.isdisjoint(space.applied) for each in rules)
        spaces[name] = _deviating(space, model, done) if affected else space
    graphs = {
        name: given.graphs[name] if space is given.spaces[name] else StateGraph(space)
        for name, space in spaces.items()
    }
    return Explored(spaces, graphs)


def rules_affected(edit: Edit, version: Version) -> frozenset[str]:
    """The rules of which one is applied wherever an edit may change something.

    Empty if there are no such rules: the edit is about no single table, or it may make a rule apply
    where none of its table does.
    """
    rules = rules_beside(edit, version)
    if rules and isinstance(always(edit), DropGuard | FromVersion):
        last = version.tables[table_of(version, about(edit))][-1]
        return frozenset() if last.guards else rules
    return rules


def deviating_space(
    space: StateSpace, model: Profile, done: Callable[[int], None] = lambda _states: None
) -> StateSpace | None:
    """The space of an instance by other rules; None if that is too large."""
    instance = space.instance._replace(profile=model)
    try:
        most = MOST_GROWTH * len(space.nodes)
        return explore(instance, done, most_states=most, within=instance.has_issued_ids)
    except TooManyStatesError:
        return None


def _deviating(space: StateSpace, model: Profile, done: Callable[[int], None]) -> StateSpace:
    """The space of an instance by other rules, or the same if they make no difference to it.

    If it is too large, tests are planned by the rules without the deviations.
    """
    found = deviating_space(space, model, done)
    if found is None:
        return space._replace()  # a new object, as its tests are checked by other rules
    # Answers with a field that may have any value equal all others; states are counted as usual.
    exact = not any(isinstance(edit, ChangeAnswer | FirstNumber) for edit in model.edits)
    return space if exact and found.nodes == space.nodes and found.edges == space.edges else found


def virtual(profile: Profile, settings: Settings) -> dict[str, Instance]:
    """The instances that a port in virtual time is verified on."""
    found = virtual_time_instances(profile, settings.members)
    if settings.members > 1:
        found |= small_instances(profile, settings.members)
    if settings.every_instance:
        found |= feature_instances(profile, settings.members)
    return found
