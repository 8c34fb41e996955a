"""An explored space in figures: those that TLC reports, and how often each rule is applied."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import ceil
from typing import NamedTuple

from groupcheck.model.exploring.explorer import Space
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request


class Degrees(NamedTuple):
    """How many edges leave a state."""

    least: int
    mean: float
    percentile_95: int
    most: int

    @classmethod
    def of(cls, histogram: Counter[int]) -> Degrees:
        """The degrees of which so many states have each."""
        degrees, states = sorted(histogram), histogram.total()
        sofar = accumulate(histogram[degree] for degree in degrees)
        reached = zip(degrees, sofar, strict=True)
        return cls(
            degrees[0],
            sum(degree * times for degree, times in histogram.items()) / states,
            next(degree for degree, count in reached if count >= ceil(states * 0.95)),
            degrees[-1],
        )


class Figures(NamedTuple):
    """The figures of a space.

    `out_degree` counts the labelled edges that leave a state, `discovered` the states that it was
    the first to lead to: that is what TLC calls out-degree, and but for its mean it depends on the
    order in which successors are looked at. `actions` counts the labelled edges of each action,
    `rules` the outcomes in which each rule was applied.
    """

    states: int
    edges: int
    depth: int
    out_degree: Degrees
    discovered: Degrees
    actions: Counter[str]
    rules: Counter[str]

    @property
    def generated(self) -> int:
        """The states that TLC says it generates, without symmetry: one an edge, and the initial."""
        return self.edges + 1


def action(given: Input) -> str:
    """The name of the PlusCal process that an input belongs to."""
    return given.api if isinstance(given, Request) else type(given).__name__


def figures(space: Space) -> Figures:
    """Count what there is."""
    first: dict[int, int] = {0: -1}
    for source, edges in enumerate(space.edges):
        for edge in edges:
            first.setdefault(edge.target, source)
    discovered = Counter(first.values())
    return Figures(
        len(space.nodes),
        space.edge_count,
        space.depth,
        Degrees.of(Counter(map(len, space.edges))),
        Degrees.of(Counter(discovered[node] for node in range(len(space.nodes)))),
        Counter(action(edge.given) for edges in space.edges for edge in edges),
        space.applied,
    )
