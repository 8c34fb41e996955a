"""Explored model instances, each explored once, or read from the cache, in a process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from functools import cache
from unittest.mock import patch

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.exploring import exploration as exploration_of_all
from groupcheck.model.classic.exploring.exploration import Exploration, Settings, run
from groupcheck.model.classic.instances.instance import Instance, instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import Edit
from groupcheck.model.engine.exploration import StateSpace, explore, part
from groupcheck.model.engine.graph import StateGraph
from groupcheck.properties.explored import Explored, space_of
from support.economy import untraced


def explored(profile: str, name: str) -> StateSpace:
    """The instance of two members of a version; do not change it."""
    return whole(instances(PROFILES[profile], 2)[name])


def whole(instance: Instance) -> StateSpace:
    """The state space of an instance under Kafka's rules; do not change it.

    Raises:
        ValueError: its rules are not Kafka's; a test explores such an instance itself.
    """
    profile = instance.profile
    if profile is not PROFILES.get(profile.name):
        msg = f"a profile of its own: {profile.name}"
        raise ValueError(msg)
    name = instance.text
    if name not in _WHOLE:
        with untraced():
            _WHOLE[name] = space_of(instance)
        gc.freeze()  # it is never freed: the garbage collector need not scan it
    return _WHOLE[name]


_WHOLE: dict[str, StateSpace] = {}


def explored_once(
    instance: Instance,
    done: Callable[[int], None] = lambda _states: None,
) -> StateSpace:
    """`space_of`; for Kafka's rules the space that all tests share."""
    if instance.profile is not PROFILES.get(instance.profile.name):
        return explore(instance, done)
    space = whole(instance)
    done(len(space.nodes))
    return space


# Each step expands the states of earlier steps again: with more steps the whole is cheaper.
MOST_STEPS_WITHIN = 4


def within(instance: Instance, steps: int) -> StateSpace:
    """The transitions within a number of steps: enough for violations of at most that length."""
    if steps > MOST_STEPS_WITHIN:
        return explore(instance)
    space = part(instance, [instance.initial])
    for _ in range(steps - 1):
        space = part(instance, space.nodes)
    return space


def edits_once(profile: Profile) -> tuple[Edit, ...]:
    """The single edits of a profile; those of Kafka's rules are made once."""
    kafka = profile is PROFILES.get(profile.name)
    return _edits_of(profile.name) if kafka else tuple(edits_of(profile))


@cache
def _edits_of(profile: str) -> tuple[Edit, ...]:
    return tuple(edits_of(PROFILES[profile]))


def together(instances: Mapping[str, Instance]) -> Explored:
    """Instances in the form that a verification takes."""
    found = {name: whole(instance) for name, instance in instances.items()}
    return Explored(found, {name: StateGraph(space) for name, space in found.items()})


def every_instance(profile: str) -> dict[str, StateSpace]:
    """All spaces of a profile."""
    return {name: explored(profile, name) for name in instances(PROFILES[profile], 2)}


@cache
def exploration(profile: str) -> Exploration:
    """All instances of a version together, as `groupcheck explore` has them."""
    with patch.object(exploration_of_all, "explore", lambda instance, _tell, **_: whole(instance)):
        return run(Settings(PROFILES[profile]), lambda _what, _total: lambda _done: None)
