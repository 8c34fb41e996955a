"""Strategies of a walk over an explored space: uniform, swarm and guided."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from groupcheck.properties.generators.precomputed import Track, Tracks
from groupcheck.properties.generators.walks import Choice

# How often an input outside the swarm is redrawn before it is taken.
DRAWS = 8

# The number of inputs, drawn at random, from which a guide chooses.
AMONG = 4


def uniform(_tracks: Tracks, random: Random) -> Choice:
    """Chooses uniformly among the inputs of the node."""
    draw = random.random

    def choose(_node: int, tracks: list[Track]) -> Track | None:
        return tracks[int(draw() * len(tracks))] if tracks else None

    return choose


def swarm(_tracks: Tracks, random: Random) -> Choice:
    """Chooses uniformly among half of the APIs and faults: the others do not undo their effects.

    With all of them, a walk rarely repeats one of them often.
    """
    draw = random.random
    taken: dict[object, bool] = {}

    def choose(_node: int, tracks: list[Track]) -> Track | None:
        track = None
        for _ in range(DRAWS if tracks else 0):
            track = tracks[int(draw() * len(tracks))]
            sort = track.sort[0]
            if sort not in taken:
                taken[sort] = draw() < 0.5
            if taken[sort]:
                break
        return track

    return choose


class Guide:
    """Chooses the input that was tried least in a space, over many walks.

    It prefers inputs of the node that were never tried. After that it draws some inputs that lead
    to another node, and takes the one whose node was visited least.
    """

    def __init__(self, tracks: Tracks, random: Random) -> None:
        self._space = tracks.space
        self._draw = random.random
        self._seen = [0] * len(tracks.space.nodes)
        self._untried: dict[int, list[Track]] = {}
        self._ways: dict[int, list[tuple[int, Track]]] = {}

    def __call__(self, node: int, tracks: list[Track]) -> Track | None:
        """The next input."""
        self._seen[node] += 1
        untried = self._untried.get(node)
        if untried is None:
            untried = self._untried[node] = list(tracks)
            edges = self._space.edges[node]
            self._ways[node] = [
                (edges[place].target, track)
                for track in tracks
                for place in track.places
                if edges[place].target != node
            ]
        if untried:
            at = int(self._draw() * len(untried))
            untried[at], untried[-1] = untried[-1], untried[at]
            return untried.pop()
        ways = self._ways[node]
        if not ways:
            return tracks[int(self._draw() * len(tracks))] if tracks else None
        draw, seen, count = self._draw, self._seen, len(ways)
        target, track = ways[int(draw() * count)]
        for _ in range(AMONG - 1):
            other = ways[int(draw() * count)]
            if seen[other[0]] < seen[target]:
                target, track = other
        return track


CHOICES: Final[dict[str, Callable[[Tracks, Random], Choice]]] = {
    "uniform": uniform,
    "swarm": swarm,
    "guided": Guide,
}
