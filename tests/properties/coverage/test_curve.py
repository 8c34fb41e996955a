"""The coverage curve: a limited number of points, in the order of steps, up to the last one."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from groupcheck.properties.coverage.curve import MAX_POINTS, Curve, Point


@given(count=st.integers(0, 3_000))
def test_curve_has_evenly_spaced_points_and_the_last_one(count: int) -> None:
    curve = Curve()
    for number in range(1, count + 1):
        curve.note(Point(number / 10, number, number))
    end = Point(count / 10, count + 1, count)
    curve.end(end)
    assert len(curve.points) <= MAX_POINTS
    assert curve.points[-1] == end
    steps = [point.steps for point in curve.points[:-1]]
    if count:
        assert len(steps) >= min(count, MAX_POINTS // 2 - 1)
        gaps = {after - before for before, after in itertools.pairwise(steps)}
        assert len(gaps) <= 1  # evenly
