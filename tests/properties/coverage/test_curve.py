"""The coverage curve: never too many points, from the first to the last, in the order of steps."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from groupcheck.properties.coverage.curve import MOST_POINTS, Curve, Point


@given(count=st.integers(0, 3_000))
def test_a_curve_is_thinned_out_evenly_and_has_its_end(count: int) -> None:
    curve = Curve()
    for number in range(1, count + 1):
        curve.note(Point(number / 10, number, number))
    end = Point(count / 10, count + 1, count)
    curve.end(end)
    assert len(curve.points) <= MOST_POINTS
    assert curve.points[-1] == end
    steps = [point.steps for point in curve.points[:-1]]
    if count:
        assert len(steps) >= min(count, MOST_POINTS // 2 - 1)
        gaps = {after - before for before, after in itertools.pairwise(steps)}
        assert len(gaps) <= 1  # evenly
