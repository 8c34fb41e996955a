"""Numbers for the transitions of an explored model instance, in node order, and for their pairs.

A pair is two adjacent transitions of which the first leads to another state (see `pairs`).
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from groupcheck.model.engine.exploration import StateSpace

NO_PAIR: Final = -1  # the transition is first in no pair


def first_edges(space: StateSpace) -> list[int]:
    """Return the number of each node's first transition; the last item is their total."""
    return [0, *accumulate(map(len, space.edges))]


def first_pairs(space: StateSpace) -> list[int]:
    """Return the number of the first pair that each transition is first in.

    The last item is the total of pairs.
    """
    out = [len(edges) for edges in space.edges]
    found, number = list[int](), 0
    for node, edges in enumerate(space.edges):
        for edge in edges:
            if edge.target == node:
                found.append(NO_PAIR)
            else:
                found.append(number)
                number += out[edge.target]
    return [*found, number]
