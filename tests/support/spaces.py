"""Explored model instances, each explored once for all tests in all processes."""

from __future__ import annotations

import fcntl
import gc
import hashlib
import os
import pickle
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from groupcheck.model.engine.exploration import StateSpace, explore, part
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.exploring import exploration as exploration_of_all
from groupcheck.model.exploring.exploration import Exploration, Settings, run
from groupcheck.model.instances.instance import Instance, instances
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.explored import Explored
from support.economy import SHARED, untraced

T = TypeVar("T")


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
    settings = tuple(sorted(instance.settings.items()))
    plain = instance._replace(profile=None, features=frozenset(), settings={})  # type: ignore[arg-type]
    name = repr((profile.name, plain, sorted(instance.features), settings))
    if name not in _WHOLE:
        _WHOLE[name] = _explored(instance, name)
        gc.freeze()  # it is never freed: the garbage collector need not look at it
    return _WHOLE[name]


_WHOLE: dict[str, StateSpace] = {}

# Each step expands the states of the steps before it again: more of them cost more than the whole.
MOST_STEPS_WITHIN = 4


def within(instance: Instance, steps: int) -> StateSpace:
    """The transitions that so many steps reach: all that a violation in at most as many needs."""
    if steps > MOST_STEPS_WITHIN:
        return explore(instance)
    space = part(instance, [instance.initial])
    for _ in range(steps - 1):
        space = part(instance, space.nodes)
    return space


def together(instances: Mapping[str, Instance]) -> Explored:
    """Instances in the form that a verification takes."""
    found = {name: whole(instance) for name, instance in instances.items()}
    return Explored(found, {name: StateGraph(space) for name, space in found.items()})


def _explored(instance: Instance, name: str) -> StateSpace:
    # Rules are functions, which are not pickled.
    space = shared(name, lambda: explore(instance)._replace(instance=None, numbers=None))  # type: ignore[arg-type]
    numbers = {node: number for number, node in enumerate(space.nodes)}
    return space._replace(instance=instance, numbers=numbers)


def shared(name: str, made: Callable[[], T]) -> T:
    """What the first process of this run made under this name; to read it takes a tenth as long."""
    folder = os.environ.get(SHARED)
    with untraced():
        if folder is None:
            return made()
        file = Path(folder, hashlib.sha256(name.encode()).hexdigest())
        with file.open("a+b") as kept:
            fcntl.flock(kept, fcntl.LOCK_EX)  # until it is closed
            kept.seek(0)
            if data := kept.read():
                loaded: T = pickle.loads(data)  # noqa: S301 - of this run's own directory
                return loaded
            value = made()
            kept.write(pickle.dumps(value))
            return value


def every_space(profile: str) -> dict[str, StateSpace]:
    """All spaces of a profile."""
    return {name: explored(profile, name) for name in instances(PROFILES[profile], 2)}


@cache
def exploration(profile: str) -> Exploration:
    """All instances of a version together, as `groupcheck explore` has them."""
    with patch.object(exploration_of_all, "explore", lambda instance, _tell, **_: whole(instance)):
        return run(Settings(PROFILES[profile]), lambda _what, _total: lambda _done: None)
