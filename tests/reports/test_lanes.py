"""Lanes: each rebalance a bar where it was, in a picture as wide as the longest history."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.reports.lanes import NAMES, WIDE, Lane, Rebalance, drawn, duration, lanes_of, said

WHOLE = Rebalance(1_000, 3_000, 4_000, "join/new-member", 7, 2, "slow", "Stable")


def _bars(picture: Element, kind: str) -> list[tuple[float, float]]:
    """From where to where each bar of a kind is."""
    found = [each for each in picture.iter("rect") if each.get("class") == kind]
    return [(x := float(each.attrib["x"]), x + float(each.attrib["width"])) for each in found]


def test_the_join_phase_ends_where_that_of_the_assignment_begins() -> None:
    picture = drawn([Lane("group", 10_000, (WHOLE,))], "lanes")
    ((began, joined),) = _bars(picture, "join")
    ((again, ended),) = _bars(picture, "sync")
    assert joined == pytest.approx(again, abs=0.2)
    # 2 s and 1 s of 10 s.
    assert joined - began == pytest.approx(2 * (ended - again), abs=0.3)


def test_what_has_not_ended_is_a_bar_to_the_end_of_the_history() -> None:
    unended = WHOLE._replace(joined_ms=None, ended_ms=None, generation=None, outcome="unended")
    picture = drawn([Lane("group", 10_000, (unended,))], "lanes")
    ((began, ended),) = _bars(picture, "unended")
    assert ended - began == pytest.approx(9 * (began - NAMES), abs=0.3)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)), min_size=1, max_size=9))
def test_every_rebalance_has_its_bars_inside_the_picture(each: list[tuple[int, int]]) -> None:
    rebalances = tuple(
        WHOLE._replace(began_ms=began, joined_ms=began + took, ended_ms=began + 2 * took)
        for began, took in sorted(each)
    )
    last_ms = max(r.ended_ms or 0 for r in rebalances)
    picture = drawn([Lane("group", last_ms, rebalances)], "lanes")
    bars = _bars(picture, "join") + _bars(picture, "sync")
    assert len(_bars(picture, "join")) == len(each)
    assert all(NAMES <= first < last <= WIDE for first, last in bars)


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_500, "1 s 500 ms"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (90_061_000, "1 d 1 h"),
        (10_500, "10 s"),
    ],
)
def test_a_length_of_time_is_said_in_its_two_greatest_units(ms: int, words: str) -> None:
    assert duration(ms) == words


def test_a_bar_says_when_why_how_long_and_who_was_last() -> None:
    assert said(WHOLE) == (
        "at 1 s: 3 s, because of join/new-member, generation 7, 2 members, last to join slow,"
        " Stable"
    )


def test_rows_are_lanes_by_source_session_and_group() -> None:
    row = {"source": "a", "session": 1, "group_id": "g", "last_ms": 9, **WHOLE._asdict()}
    rows = [row, row, {**row, "group_id": "h"}, {**row, "session": 2}]
    assert lanes_of(rows) == {
        ("a", 1): [Lane("g", 9, (WHOLE, WHOLE)), Lane("h", 9, (WHOLE,))],
        ("a", 2): [Lane("g", 9, (WHOLE,))],
    }
