"""Numbers for the labelled edges of an explored space, in the order of its nodes, and for pairs.

A pair is two adjacent edges of which the first leads to another state (see `pairs`).
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from groupcheck.model.exploring.explorer import Space

# In the place of a pair's number: the edge is first in none.
NO_PAIR: Final = -1


def first_edges(space: Space) -> list[int]:
    """The number of the first labelled edge of each node; at the end, how many there are."""
    return [0, *accumulate(map(len, space.edges))]


def first_pairs(space: Space) -> list[int]:
    """For each labelled edge, by its number, the number of the first pair that it is first in.

    At the end, how many pairs there are.
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
