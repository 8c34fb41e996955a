"""The coverage curve: the number of covered transitions over seconds and steps."""

from __future__ import annotations

from typing import Final

import msgspec

MAX_POINTS: Final = 200


class Point(msgspec.Struct, frozen=True):
    """The number of transitions covered after `seconds` and `steps`."""

    seconds: float
    steps: int
    covered: int


class Curve:
    """The points of a curve; as it grows, it drops every other one to stay below `MAX_POINTS`."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._every = 1
        self._asked = 0

    def note(self, point: Point) -> None:
        """Add a point, unless the interval skips it."""
        self._asked += 1
        if self._asked % self._every == 0:
            self.points.append(point)
        if len(self.points) >= MAX_POINTS:
            self.points = self.points[1::2]
            self._every *= 2

    def end(self, point: Point) -> None:
        """Add the last point unconditionally."""
        self.points.append(point)
