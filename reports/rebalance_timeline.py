"""Draws the rebalances of groups on one time axis."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from groupcheck.reports.formatting import bounded, counted
from groupcheck.reports.record import Rebalance

WIDE: Final = 1180
NAMES: Final = 190  # the width of the names, on the left
ROW: Final = 30
BAR: Final = 12
AXIS: Final = 24
LEAST: Final = 2.0  # the width of a visible bar
LETTER: Final = 7.0
TICKS: Final = 8
# Round numbers of units between two ticks.
ROUND: Final = (1, 2, 5, 10, 15, 30)
UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


class Timeline(NamedTuple):
    """The rebalances of a group in a session, in their order."""

    group_id: str
    last_ms: int
    rebalances: tuple[Rebalance, ...]


class Session(NamedTuple):
    """A session of a source: its name, its picture and its timelines."""

    name: str
    picture: Markup
    timelines: list[Timeline]


def sessions(rebalances: Iterable[Rebalance]) -> list[Session]:
    """The sessions of some rebalances, which are ordered by session and group."""
    found: dict[tuple[str, int], list[Timeline]] = {}
    whose = attrgetter("source", "session", "group_id", "last_ms")
    for (source, session, group_id, last_ms), several in groupby(rebalances, whose):
        timeline = Timeline(bounded(group_id), last_ms, tuple(several))
        found.setdefault((source, session), []).append(timeline)
    return [_session(*each) for each in found.items()]


def _session(whose: tuple[str, int], timelines: list[Timeline]) -> Session:
    source, session = whose
    name = bounded(f"{source}, session {session}")
    picture = tostring(drawn(timelines, f"Rebalances in {name}"), encoding="unicode")
    return Session(name, Markup(picture), timelines)  # noqa: S704 - ElementTree has escaped it


def drawn(timelines: list[Timeline], name: str) -> Element:
    """The timelines as an SVG element; the page has its style."""
    last_ms = max((each.last_ms for each in timelines), default=0) or 1
    high = AXIS + ROW * len(timelines)
    size = {"viewBox": f"0 0 {WIDE} {high}", "width": f"{WIDE}", "height": f"{high}"}
    root = Element("svg", {"class": "timeline", "role": "img", **size})
    SubElement(root, "title").text = name
    _axis(root, last_ms, high)
    for number, timeline in enumerate(timelines):
        _row(root, timeline, AXIS + ROW * number, last_ms)
    return root


def duration(ms: int) -> str:
    """A duration in its two largest units: `1 h 3 min`, `250 ms`."""
    if ms < 1_000:
        return f"{ms} ms"
    parts, left = [], ms
    for size, unit in UNITS:
        if left >= size and (unit != "ms" or ms < 10_000):
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2])


def _axis(root: Element, last_ms: int, high: int) -> None:
    step_ms = _step(last_ms)
    for at_ms in range(0, last_ms + 1, step_ms):
        x = _x(at_ms, last_ms)
        SubElement(root, "line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{AXIS - 6}", y2=f"{high}")
        _text(root, (x, AXIS - 9), duration(at_ms) if at_ms else "0", "middle", "tick")


def _step(last_ms: int) -> int:
    """The time between two ticks: a round number that gives about eight of them."""
    least_ms = max(last_ms // TICKS, 1)
    rounds = [many * size for size, _ in UNITS[::-1] for many in ROUND]
    rounds += [many * 100 for many in ROUND]
    return min((each for each in rounds if each >= least_ms), default=least_ms)


def _row(root: Element, timeline: Timeline, top: int, last_ms: int) -> None:
    middle = top + ROW / 2
    _text(root, (NAMES - 10, middle + 4), _short(timeline.group_id), "end", "name")
    first, last = _x(0, last_ms), _x(timeline.last_ms, last_ms)
    ends = {"x1": f"{first:.1f}", "x2": f"{last:.1f}", "y1": f"{middle}", "y2": f"{middle}"}
    SubElement(root, "line", {"class": "time", **ends})
    for place, each in enumerate(timeline.rebalances):
        following = timeline.rebalances[place + 1 :]
        until_ms = following[0].began_ms if following else timeline.last_ms
        _rebalance(root, each, middle, last_ms, until_ms)


def _rebalance(root: Element, each: Rebalance, middle: float, last_ms: int, until_ms: int) -> None:
    group = SubElement(root, "g")
    SubElement(group, "title").text = described(each)
    end_ms = until_ms if each.ended_ms is None else each.ended_ms
    joined_ms = end_ms if each.joined_ms is None else each.joined_ms
    phases = [("join", each.began_ms, joined_ms), ("sync", joined_ms, end_ms)]
    if each.ended_ms is None:
        phases = [("unended", each.began_ms, end_ms)]
    for kind, began_ms, ended_ms in phases:
        if kind == "sync" and ended_ms <= began_ms:
            continue
        x = _x(began_ms, last_ms)
        wide = max(_x(ended_ms, last_ms) - x, LEAST)
        at = {"x": f"{x:.1f}", "y": f"{middle - BAR / 2}", "width": f"{wide:.1f}"}
        SubElement(group, "rect", {"class": kind, **at, "height": f"{BAR}"})
    if each.generation is not None:
        text = str(each.generation)
        x = _x(end_ms, last_ms)
        if _x(until_ms, last_ms) - x > LETTER * len(text) + 4:  # it ends before the next bar
            _text(group, (x + 3, middle - 3), text, "start", "generation")


def described(each: Rebalance) -> str:
    """A rebalance as text."""
    took = "not ended" if each.ended_ms is None else duration(each.ended_ms - each.began_ms)
    parts = [f"at {duration(each.began_ms)}: {took}", f"because of {each.reason}"]
    if each.generation is not None:
        parts.append(f"generation {each.generation}")
    if each.members is not None:
        parts.append(counted(each.members, "member"))
    if each.last_client:
        parts.append(f"last to join {each.last_client}")
    return ", ".join([*parts, each.outcome])


def _x(at_ms: int, last_ms: int) -> float:
    return NAMES + (WIDE - NAMES - 30) * at_ms / last_ms


def _short(text: str) -> str:
    most = int(NAMES / LETTER) - 2
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(root: Element, at: tuple[float, float], text: str, anchor: str, kind: str) -> None:
    where = {"x": f"{at[0]:.1f}", "y": f"{at[1]:.1f}", "text-anchor": anchor, "class": kind}
    SubElement(root, "text", where).text = text
