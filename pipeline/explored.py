"""The transitions of the explored model instances, in the form of the table `transitions`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from groupcheck.model.engine.exploration import explore
from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.instances.small import small_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Outcome, Profile
from groupcheck.pipeline.recordings.transition import Transition, transition_of

MEMBERS: Final = 2
EXPLORED: Final = "profile string, before string, given string, rules array<string>, after string"


def explored_transitions(profiles: Iterable[str]) -> list[tuple[str, str, str, list[str], str]]:
    """Each transition of the instances on which groupcheck verify runs in virtual time, once."""
    return [
        (name, each.before, each.given, list(each.rules), each.after)
        for name in profiles
        for each in _known(name)
    ]


@cache
def _known(name: str) -> list[Transition]:
    return sorted(set(_transitions(PROFILES[name])))


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
