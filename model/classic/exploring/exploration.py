"""Explores several model instances of a profile in turn, and summarises them."""

from __future__ import annotations

import time
from collections.abc import Callable
from difflib import get_close_matches
from typing import Final, NamedTuple

from groupcheck.model.classic.exploring.fingerprint import digest, key, written
from groupcheck.model.classic.exploring.group_graph import GroupGraph, group_graph_of, merged
from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance, composed, instances, supported
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.exploration import StateSpace, TooManyStatesError, explore
from groupcheck.model.engine.graph import Component, StateGraph
from groupcheck.model.engine.statistics import Statistics, statistics
from groupcheck.model.engine.trace import TraceStep, trace_of

COMPOSED: Final = "composed"  # the name of the instance that is made of features


class UnfitSettingsError(Exception):
    """The request cannot be explored; the message says why, and what can be."""


class Witness(NamedTuple):
    """A shortest path to a transition that applies a rule."""

    rule: str
    space: str
    instance: Instance
    steps: tuple[TraceStep, ...]


class Explored(NamedTuple):
    """One state space: the statistics that TLC reports, and the properties of its graph.

    `digest` is the digest of its states (see `fingerprint`). No path leads to the `unreachable`
    transitions; a path to any other has at most `longest_witness` steps. `components` are None
    where they were not computed.
    """

    name: str
    instance: Instance
    statistics: Statistics
    digest: str
    unreachable: int
    longest_witness: int
    components: list[Component] | None
    group_graph: GroupGraph
    seconds: float


class Settings(NamedTuple):
    """What is explored: some `instances`, else one of these `features`, else every instance."""

    profile: Profile
    members: int = 2
    instances: tuple[str, ...] = ()
    symmetry: bool = True
    most_states: int | None = None
    witness: str | None = None
    features: frozenset[Feature] = frozenset()
    generations: int = 1


class Exploration(NamedTuple):
    """The state spaces of all instances together."""

    settings: Settings
    spaces: list[Explored]
    witness: Witness | None

    @property
    def whole(self) -> bool:
        """Whether every instance was explored: a rule not applied here is applied nowhere."""
        part = self.settings.instances or self.settings.features
        return not part and self.settings.members > 1

    @property
    def unreached(self) -> list[str]:
        """The declared rules that no transition applies."""
        reached = {rule for space in self.spaces for rule in space.statistics.rules}
        return sorted(set(self.settings.profile.rules) - reached)

    @property
    def group_graph(self) -> GroupGraph:
        """The arrows of the group's state in all state spaces."""
        return merged([space.group_graph for space in self.spaces])

    @property
    def errors(self) -> list[str]:
        """The errors of the model, as sentences."""
        group_graph = self.group_graph
        found = [
            f"{space.unreachable} transitions of {space.name} cannot be reached"
            for space in self.spaces
            if space.unreachable
        ]
        found += [
            f"{len(space.group_graph.inconsistent)} transitions of {space.name} lead to another"
            " state of the group than their rules do"
            for space in self.spaces
            if space.group_graph.inconsistent
        ]
        found += [f"Kafka has no group transition {arrow}" for arrow in group_graph.unexpected]
        if self.whole:
            found += [f"the model has no group transition {arrow}" for arrow in group_graph.missing]
            found += [f"no transition applies the rule {rule}" for rule in self.unreached]
        return found


def run(
    settings: Settings,
    progress: Callable[[str, int | None], Callable[[int], None]],
    keep: Callable[[str, StateSpace], None] = lambda _name, _space: None,
) -> Exploration:
    """Explore the instances; `keep` is called with each state space.

    Raises:
        TooManyStatesError: an instance has more than `most_states`; the message says which.
        UnfitSettingsError: there is no such instance, rule or witness, or it is sought by names.
    """
    check_witness(settings)
    found: list[Explored] = []
    witness: Witness | None = None
    for name, instance in chosen(settings).items():
        started = time.monotonic()
        space = _explore(settings, name, instance, progress(f"exploring {name}", None))
        seconds = time.monotonic() - started
        progress(f"analysing the graph of {name}", None)
        graph = StateGraph(space)
        found.append(_explored(name, graph, seconds))
        if settings.witness is not None:
            witness = shorter(witness, _witness(settings.witness, name, graph))
        keep(name, space)
    return whole_of(settings, found, witness)


def whole_of(settings: Settings, found: list[Explored], witness: Witness | None) -> Exploration:
    """The state spaces of all instances together.

    Raises:
        UnfitSettingsError: the witness that is asked for is in none.
    """
    if settings.witness is not None and witness is None:
        names = ", ".join(space.name for space in found)
        msg = f"no transition of {names} applies the rule {settings.witness}"
        raise UnfitSettingsError(msg)
    return Exploration(settings, found, witness)


def chosen(settings: Settings) -> dict[str, Instance]:
    """The instances asked for.

    Raises:
        UnfitSettingsError: there is no instance of that name, or the version lacks a feature.
    """
    found = {COMPOSED: _composed(settings)} if settings.features else _named(settings)
    return {name: each._replace(generations=settings.generations) for name, each in found.items()}


def _composed(settings: Settings) -> Instance:
    profile = settings.profile
    if lacking := settings.features - supported(profile):
        msg = f"the model of {profile.kafka} has no {', '.join(sorted(lacking))}"
        raise UnfitSettingsError(msg)
    return composed(profile, settings.members, settings.features)


def _named(settings: Settings) -> dict[str, Instance]:
    known = instances(settings.profile, settings.members)
    for name in settings.instances:
        if name not in known:
            msg = f"unknown model instance {name!r}; known: {', '.join(known)}"
            raise UnfitSettingsError(msg)
    return {name: known[name] for name in known if name in (settings.instances or known)}


def check_witness(settings: Settings) -> None:
    """Check that a witness of the rule can exist.

    Raises:
        UnfitSettingsError: there is no such rule, or it is sought by names.
    """
    rules, rule = settings.profile.rules, settings.witness
    if rule is None:
        return
    if rule not in rules:
        near = ", ".join(get_close_matches(rule, rules, 3, 0))
        msg = f"{settings.profile.kafka} has no rule {rule!r}; the nearest are {near}"
        raise UnfitSettingsError(msg)
    if not settings.symmetry:
        msg = "a witness is sought among states without names, so with symmetry"
        raise UnfitSettingsError(msg)


def _explore(
    settings: Settings, name: str, instance: Instance, tell: Callable[[int], None]
) -> StateSpace:
    try:
        return explore(instance, tell, symmetry=settings.symmetry, most_states=settings.most_states)
    except TooManyStatesError as error:
        msg = f"the model instance {name} has {error}, and was not explored whole"
        raise TooManyStatesError(msg) from error


def _explored(name: str, graph: StateGraph, seconds: float) -> Explored:
    space = graph.space
    return Explored(
        name,
        space.instance,
        statistics(space),
        digest(key(written(node)) for node in space.nodes),
        len(graph.unreachable()),
        1 + max(len(graph.path(node)) for node, edges in enumerate(space.edges) if edges),
        graph.components(),
        group_graph_of(space),
        seconds,
    )


def _witness(rule: str, name: str, graph: StateGraph) -> Witness | None:
    path = graph.witness_of(rule)
    if path is None:
        return None
    return Witness(rule, name, graph.space.instance, tuple(trace_of(graph.space, path)))


def shorter(one: Witness | None, other: Witness | None) -> Witness | None:
    """The shorter of two witnesses, if any."""
    known = [witness for witness in (one, other) if witness is not None]
    return min(known, key=lambda witness: len(witness.steps), default=None)
