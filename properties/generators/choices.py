"""Strategies of a walk over an explored instance: uniform, swarm and guided."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from groupcheck.properties.generators.precomputed import PrecomputedInput, PrecomputedSteps
from groupcheck.properties.generators.walks import Choice

# How often an input outside the swarm is redrawn before it is taken.
DRAWS = 8

# The number of inputs, drawn at random, from which a guide chooses.
AMONG = 4


def uniform(_precomputed: PrecomputedSteps, random: Random) -> Choice:
    """Chooses uniformly among the inputs of the node."""
    draw = random.random

    def choose(_node: int, inputs: list[PrecomputedInput]) -> PrecomputedInput | None:
        return inputs[int(draw() * len(inputs))] if inputs else None

    return choose


def swarm(_precomputed: PrecomputedSteps, random: Random) -> Choice:
    """Chooses uniformly among half of the APIs and faults; the other half cannot undo them.

    With all of them, a walk rarely repeats one of them often.
    """
    draw = random.random
    taken: dict[object, bool] = {}

    def choose(_node: int, inputs: list[PrecomputedInput]) -> PrecomputedInput | None:
        chosen = None
        for _ in range(DRAWS if inputs else 0):
            chosen = inputs[int(draw() * len(inputs))]
            kind = chosen.kind[0]
            if kind not in taken:
                taken[kind] = draw() < 0.5
            if taken[kind]:
                break
        return chosen

    return choose


class Guide:
    """Chooses the least tried inputs of an instance, over many walks.

    It prefers inputs of the node that were never tried. After that it draws some inputs that lead
    to another node, and takes the one whose node was visited least.
    """

    def __init__(self, precomputed: PrecomputedSteps, random: Random) -> None:
        self._space = precomputed.space
        self._draw = random.random
        self._seen = [0] * len(precomputed.space.nodes)
        self._untried: dict[int, list[PrecomputedInput]] = {}
        self._ways: dict[int, list[tuple[int, PrecomputedInput]]] = {}

    def __call__(self, node: int, inputs: list[PrecomputedInput]) -> PrecomputedInput | None:
        """The next input."""
        self._seen[node] += 1
        untried = self._untried.get(node)
        if untried is None:
            untried = self._untried[node] = list(inputs)
            edges = self._space.edges[node]
            self._ways[node] = [
                (edges[index].target, chosen)
                for chosen in inputs
                for index in chosen.indexes
                if edges[index].target != node
            ]
        if untried:
            at = int(self._draw() * len(untried))
            untried[at], untried[-1] = untried[-1], untried[at]
            return untried.pop()
        ways = self._ways[node]
        if not ways:
            return inputs[int(self._draw() * len(inputs))] if inputs else None
        draw, seen, count = self._draw, self._seen, len(ways)
        target, chosen = ways[int(draw() * count)]
        for _ in range(AMONG - 1):
            other = ways[int(draw() * count)]
            if seen[other[0]] < seen[target]:
                target, chosen = other
        return chosen


CHOICES: Final[dict[str, Callable[[PrecomputedSteps, Random], Choice]]] = {
    "uniform": uniform,
    "swarm": swarm,
    "guided": Guide,
}
