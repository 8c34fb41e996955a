"""Transitions as the table `transitions` has them: without members, and without timers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

from groupcheck.model.engine.exploration import explore
from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.instances.small import small_instances
from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.state import Coordinator, Group
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request

MEMBERS: Final = 2  # of the explored instances
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
    return Transition(state_name(before.group), name, tuple(dict.fromkeys(outcome.fired)), after)


def state_name(group: Group | None) -> str:
    """The state of a group, or that there is none."""
    return NO_GROUP if group is None else str(group.state)


def explored_transitions(profiles: Iterable[str]) -> list[tuple[str, str, str, list[str], str]]:
    """Each transition of the instances on which groupcheck verify runs in virtual time, once."""
    return [
        (name, each.before, each.given, list(each.rules), each.after)
        for name in profiles
        for each in _known(name)
    ]


@cache
def _known(name: str) -> list[Transition]:
    return sorted(set(_transitions(EVERY_PROFILE[name])))


def _transitions(profile: Profile) -> Iterator[Transition]:
    for instance in {
        **virtual_time_instances(profile, MEMBERS),
        **small_instances(profile, MEMBERS),
    }.values():
        space = explore(instance)
        for node, edges in zip(space.nodes, space.edges, strict=True):
            for edge in edges:
                outcome = Outcome(space.nodes[edge.target], edge.responses, edge.fired, ())
                yield transition_of(node, edge.given, outcome)
