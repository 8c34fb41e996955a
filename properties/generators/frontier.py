"""Repeated searches for a path to the nearest node with an untried input."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, NamedTuple

UNREACHABLE: Final = 1 << 60  # greater than any distance


class Way(NamedTuple):
    """An edge to another node: its index, and the expected number of tries.

    At a fork the port decides, so a branch is expected to take as many tries as there are branches.
    """

    edge: int
    tries: int


class NearestFrontier:
    """Adaptive A* (Koenig and Likhachev, 2005).

    Untried inputs and usable edges only become fewer. So the distance from each expanded node to
    the target of its search stays a lower bound, which guides the next search.
    """

    def __init__(self, ways: list[dict[int, Way]], wanted: Callable[[int], object]) -> None:
        self._ways = ways
        self._wanted = wanted
        self._lower_bounds = [0] * len(ways)

    def find(self, start: int) -> list[int] | None:
        """The nodes of the path from `start` to the first with an untried input."""
        bounds, ways = self._lower_bounds, self._ways
        if bounds[start] == UNREACHABLE:
            return None
        before = {start: start}
        reached = {start: 0}
        closed: dict[int, int] = {}
        heap = [(bounds[start], 0, start)]
        while heap:
            _, negated, node = heappop(heap)
            if node in closed:
                continue
            closed[node] = tries = -negated
            if self._wanted(node):
                for passed, tries_there in closed.items():
                    bounds[passed] = max(bounds[passed], tries - tries_there)
                return path_to(before, start, node)
            for target, way in ways[node].items():
                there = tries + way.tries
                if there < reached.get(target, UNREACHABLE) and bounds[target] != UNREACHABLE:
                    reached[target], before[target] = there, node
                    heappush(heap, (there + bounds[target], -there, target))
        for passed in closed:
            bounds[passed] = UNREACHABLE
        return None


def path_to(before: dict[int, int], start: int, node: int) -> list[int]:
    """The nodes from `start` to `node`; `before` maps each to its predecessor."""
    path = [node]
    while node != start:
        node = before[node]
        path.append(node)
    return path[::-1]
