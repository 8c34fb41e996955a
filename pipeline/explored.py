"""The edges that the explored spaces have, in the form in which histories show theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from groupcheck.model.exploring.explorer import explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import virtual_spaces
from groupcheck.model.spaces.short_spaces import short_spaces
from groupcheck.model.step import Outcome, Profile
from groupcheck.pipeline.recordings.observed import Edge, edge_of

MEMBERS: Final = 2
EXPLORED: Final = "profile string, before string, given string, rules array<string>, after string"


def explored_edges(profiles: Iterable[str]) -> list[tuple[str, str, str, list[str], str]]:
    """Each edge of the spaces that any coordinator in virtual time is verified on, once."""
    return [
        (name, edge.before, edge.given, list(edge.rules), edge.after)
        for name in profiles
        for edge in _known(name)
    ]


@cache
def _known(name: str) -> list[Edge]:
    return sorted(set(_edges(PROFILES[name])))


def _edges(profile: Profile) -> Iterator[Edge]:
    for instance in {**virtual_spaces(profile, MEMBERS), **short_spaces(profile, MEMBERS)}.values():
        space = explore(instance)
        for node, edges in zip(space.nodes, space.edges, strict=True):
            for edge in edges:
                outcome = Outcome(space.nodes[edge.target], edge.responses, edge.fired, ())
                yield edge_of(node, edge.given, outcome)
