"""The timeline of rebalances: each one is a bar at its time."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.reports.charts import NAMES, WIDE, Timeline, described, drawn, rounded, sessions
from groupcheck.reports.record import Rebalance

replace = msgspec.structs.replace
WHOLE = Rebalance(
    source="a",
    session=1,
    group_id="g",
    last_ms=9,
    began_ms=1_000,
    joined_ms=3_000,
    ended_ms=4_000,
    reason="join/new-member",
    generation=7,
    members=2,
    last_client="slow",
    outcome="Stable",
)


def _bars(picture: Element, kind: str) -> list[tuple[float, float]]:
    """The start and end of each bar of a kind."""
    found = [each for each in picture.iter("rect") if each.get("class") == kind]
    return [(x := float(each.attrib["x"]), x + float(each.attrib["width"])) for each in found]


def test_the_sync_phase_begins_where_the_join_phase_ends() -> None:
    picture = drawn([Timeline("group", 10_000, (WHOLE,))], "rebalances")
    ((began, joined),) = _bars(picture, "join")
    ((again, ended),) = _bars(picture, "sync")
    assert joined == pytest.approx(again, abs=0.2)
    # 2 s and 1 s of 10 s.
    assert joined - began == pytest.approx(2 * (ended - again), abs=0.3)


def test_a_rebalance_without_an_end_lasts_to_the_end_of_the_history() -> None:
    unended = replace(WHOLE, joined_ms=None, ended_ms=None, generation=None, outcome="unended")
    picture = drawn([Timeline("group", 10_000, (unended,))], "rebalances")
    ((began, ended),) = _bars(picture, "unended")
    assert ended - began == pytest.approx(9 * (began - NAMES), abs=0.3)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)), min_size=1, max_size=9))
def test_every_rebalance_has_its_bars_inside_the_picture(each: list[tuple[int, int]]) -> None:
    rebalances = tuple(
        replace(WHOLE, began_ms=began, joined_ms=began + took, ended_ms=began + 2 * took)
        for began, took in sorted(each)
    )
    last_ms = max(r.ended_ms or 0 for r in rebalances)
    picture = drawn([Timeline("group", last_ms, rebalances)], "rebalances")
    bars = _bars(picture, "join") + _bars(picture, "sync")
    assert len(_bars(picture, "join")) == len(each)
    assert all(NAMES <= first < last <= WIDE for first, last in bars)


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 s"),
        (999, "999 ms"),
        (1_500, "1.5 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (90_061_000, "1 d 1 h"),
        (10_500, "10 s"),
    ],
)
def test_a_duration_has_its_two_largest_units(ms: int, words: str) -> None:
    assert rounded(ms) == words


def test_a_bar_has_a_description() -> None:
    assert described(WHOLE) == (
        "at 1 s: 3 s, because of join/new-member, generation 7, 2 members, last to join slow,"
        " Stable"
    )


def test_rebalances_are_grouped_by_source_session_and_group() -> None:
    rows = [WHOLE, WHOLE, replace(WHOLE, group_id="h"), replace(WHOLE, session=2)]
    first, second = sessions(rows)
    assert (first.name, second.name) == ("a, session 1", "a, session 2")
    assert first.timelines == [Timeline("g", 9, (WHOLE, WHOLE)), Timeline("h", 9, (rows[2],))]
    assert first.picture.count("<rect ") == 6
