"""The transitions of the table `transitions`: states without members and timers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from groupcheck import pipeline, properties
from groupcheck.cache import derived
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.explored import space_of, virtual
from groupcheck.properties.result import Settings

NO_GROUP: Final = "none"


class Transition(NamedTuple):
    """The group's state before, the input, the rules that were applied, the state after."""

    before: str
    given: str
    rules: tuple[str, ...]
    after: str


def transition_of(before: Coordinator, given: Input, outcome: Outcome) -> Transition:
    """The transition of one allowed outcome."""
    name = given.api if isinstance(given, Request) else type(given).__name__
    after = state_name(outcome.coordinator.group)
    return Transition(state_name(before.group), name, tuple(dict.fromkeys(outcome.applied)), after)


def state_name(group: Group | None) -> str:
    """The name of the state of a group, `none` without a group."""
    return NO_GROUP if group is None else str(group.state)


@cache
def transitions(name: str) -> list[Transition]:
    """Each transition of the instances on which groupcheck verify runs in virtual time, once.

    They are derived once for all processes.
    """
    profile = EVERY_PROFILE[name]
    return derived(
        f"transitions of {name}", lambda: sorted(set(_transitions(profile))), pipeline, properties
    )


def _transitions(profile: Profile) -> Iterator[Transition]:
    for instance in virtual(profile, Settings(profile.name)).values():
        space = space_of(instance)
        for node, edges in zip(space.nodes, space.edges, strict=True):
            for edge in edges:
                outcome = Outcome(space.nodes[edge.target], edge.responses, edge.applied, ())
                yield transition_of(node, edge.given, outcome)
