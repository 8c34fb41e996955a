"""How coverage grew: after how many seconds and steps so many labelled edges had been shown."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_POINTS: Final = 200


class Point(NamedTuple):
    """So many seconds after the beginning, after so many steps, so many edges had been shown."""

    seconds: float
    steps: int
    shown: int


class Curve:
    """The points of a curve, thinned out while it grows so that they never are too many."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._every = 1
        self._asked = 0

    def note(self, point: Point) -> None:
        """Keep a point, if it is one of those that are kept."""
        self._asked += 1
        if self._asked % self._every == 0:
            self.points.append(point)
        if len(self.points) >= MOST_POINTS:
            self.points = self.points[1::2]
            self._every *= 2

    def end(self, point: Point) -> None:
        """Keep the last point, whatever it is."""
        self.points.append(point)
