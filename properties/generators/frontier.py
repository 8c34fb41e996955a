"""The way to the nearest node with something to be tried, asked for again and again."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, NamedTuple

FAR: Final = 1 << 60  # further than anything is


class Way(NamedTuple):
    """How to get from a node to another: the place of the edge, and about how many tries it takes.

    At a fork the port decides, so that each branch takes as many tries as there are branches.
    """

    place: int
    tries: int


class Nearest:
    """Adaptive A* (Koenig and Likhachev, 2005).

    What is to be tried only gets less, and ways only get barred. So how far it was, from each node
    that a search went through, to what it found, is a lower bound for good: the next search is led
    by it, and mostly goes straight.
    """

    def __init__(self, ways: list[dict[int, Way]], wanted: Callable[[int], object]) -> None:
        self._ways = ways
        self._wanted = wanted
        self._least = [0] * len(ways)

    def find(self, start: int) -> list[int] | None:
        """The nodes of the way, from `start` to the first with something to be tried."""
        least, ways = self._least, self._ways
        if least[start] == FAR:
            return None
        before = {start: start}
        reached = {start: 0}
        closed: dict[int, int] = {}
        heap = [(least[start], 0, start)]
        while heap:
            _, back, node = heappop(heap)
            if node in closed:
                continue
            closed[node] = tries = -back
            if self._wanted(node):
                for passed, gone in closed.items():
                    least[passed] = max(least[passed], tries - gone)
                return path_to(before, start, node)
            for target, way in ways[node].items():
                there = tries + way.tries
                if there < reached.get(target, FAR) and least[target] != FAR:
                    reached[target], before[target] = there, node
                    heappush(heap, (there + least[target], -there, target))
        for passed in closed:
            least[passed] = FAR
        return None


def path_to(before: dict[int, int], start: int, node: int) -> list[int]:
    """The nodes from `start` to `node`, if `before` has the one before each."""
    path = [node]
    while node != start:
        node = before[node]
        path.append(node)
    return path[::-1]
