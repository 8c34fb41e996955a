"""The statistics of a state space: those that TLC reports, and how often each rule is applied."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import ceil
from typing import NamedTuple

from groupcheck.model.engine.exploration import StateSpace


class Degrees(NamedTuple):
    """How many transitions leave a state: minimum, mean, 95th percentile, maximum."""

    least: int
    mean: float
    percentile_95: int
    most: int

    @classmethod
    def of(cls, histogram: Counter[int]) -> Degrees:
        """The degrees of a histogram: the number of states of each degree."""
        degrees, states = sorted(histogram), histogram.total()
        sofar = accumulate(histogram[degree] for degree in degrees)
        reached = zip(degrees, sofar, strict=True)
        return cls(
            degrees[0],
            sum(degree * times for degree, times in histogram.items()) / states,
            next(degree for degree, count in reached if count >= ceil(states * 0.95)),
            degrees[-1],
        )


class Statistics(NamedTuple):
    """The statistics of a state space.

    `out_degree` counts the transitions that leave a state, `discovered` the states that it was
    first to lead to. (TLC calls the latter out-degree. Only its mean is independent of the order
    of successors.) `actions` counts the transitions of each action, `rules` the outcomes in which
    each rule was applied.
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
        """The states that TLC generates without symmetry: one a transition, and the initial one."""
        return self.edges + 1


def statistics(space: StateSpace) -> Statistics:
    """The statistics of a state space."""
    first: dict[int, int] = {0: -1}
    for source, edges in enumerate(space.edges):
        for edge in edges:
            first.setdefault(edge.target, source)
    discovered = Counter(first.values())
    return Statistics(
        len(space.nodes),
        space.transition_count,
        space.depth,
        Degrees.of(Counter(map(len, space.edges))),
        Degrees.of(Counter(discovered[node] for node in range(len(space.nodes)))),
        Counter(space.instance.action(edge.given) for edges in space.edges for edge in edges),
        space.applied,
    )
