"""The charts of the page: the rebalances of groups on a time axis, and covered transitions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup

from groupcheck.properties.coverage.curve import Point
from groupcheck.reports.drawing import picture, shape
from groupcheck.reports.formatting import UNITS, bounded, counted, duration
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

# The coverage curve.
CURVE_WIDE: Final = 640
CURVE_HIGH: Final = 180
LEFT: Final = 70
BOTTOM: Final = 26


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
    key = attrgetter("source", "session", "group_id", "last_ms")
    for (source, session, group_id, last_ms), several in groupby(rebalances, key):
        timeline = Timeline(bounded(group_id), last_ms, tuple(several))
        found.setdefault((source, session), []).append(timeline)
    return [_session(*each) for each in found.items()]


def _session(key: tuple[str, int], timelines: list[Timeline]) -> Session:
    source, session = key
    name = bounded(f"{source}, session {session}")
    root = drawn(timelines, f"Rebalances in {name}")
    return Session(name, Markup(tostring(root, encoding="unicode")), timelines)  # noqa: S704 - it is escaped


def drawn(timelines: list[Timeline], name: str) -> Element:
    """The timelines as an SVG element; the page has its style."""
    last_ms = max((each.last_ms for each in timelines), default=0) or 1
    high = AXIS + ROW * len(timelines)
    root = picture("timeline", WIDE, high, name)
    _axis(root, last_ms, high)
    for number, timeline in enumerate(timelines):
        _row(root, timeline, AXIS + ROW * number, last_ms)
    return root


def rounded(ms: int) -> str:
    """A duration in its two largest units: `1 h 3 min`; from 10 s on, in whole seconds."""
    whole_ms = ms if ms < 10_000 else ms - ms % 1_000
    return " ".join(duration(whole_ms).split()[:4])


def _axis(root: Element, last_ms: int, high: int) -> None:
    step_ms = _step(last_ms)
    for at_ms in range(0, last_ms + 1, step_ms):
        x = _x(at_ms, last_ms)
        shape(root, "line", x1=x, x2=x, y1=AXIS - 6, y2=high)
        shape(
            root,
            "text",
            "tick",
            rounded(at_ms) if at_ms else "0",
            x=x,
            y=AXIS - 9,
            text_anchor="middle",
        )


def _step(last_ms: int) -> int:
    """The time between two ticks: a round number that gives about eight of them."""
    least_ms = max(last_ms // TICKS, 1)
    sizes = (1, 1_000, *(size for size, _ in reversed(UNITS)))
    rounds = [many * size for size in sizes for many in ROUND]
    rounds += [many * 100 for many in ROUND]
    return min((each for each in rounds if each >= least_ms), default=least_ms)


def _row(root: Element, timeline: Timeline, top: int, last_ms: int) -> None:
    middle = top + ROW / 2
    shape(
        root,
        "text",
        "name",
        _short(timeline.group_id),
        x=NAMES - 10,
        y=middle + 4,
        text_anchor="end",
    )
    last = _x(timeline.last_ms, last_ms)
    shape(root, "line", "time", x1=_x(0, last_ms), x2=last, y1=middle, y2=middle)
    for place, each in enumerate(timeline.rebalances):
        following = timeline.rebalances[place + 1 :]
        until_ms = following[0].began_ms if following else timeline.last_ms
        _rebalance(root, each, middle, last_ms, until_ms)


def _rebalance(root: Element, each: Rebalance, middle: float, last_ms: int, until_ms: int) -> None:
    group = shape(root, "g")
    shape(group, "title", text=described(each))
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
        shape(group, "rect", kind, x=x, y=middle - BAR / 2, width=wide, height=BAR)
    if each.generation is not None:
        text = str(each.generation)
        x = _x(end_ms, last_ms)
        if _x(until_ms, last_ms) - x > LETTER * len(text) + 4:  # it ends before the next bar
            shape(group, "text", "generation", text, x=x + 3, y=middle - 3, text_anchor="start")


def described(each: Rebalance) -> str:
    """A rebalance as text."""
    took = "not ended" if each.ended_ms is None else rounded(each.ended_ms - each.began_ms)
    parts = [f"at {rounded(each.began_ms)}: {took}", f"because of {each.reason}"]
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


def covered_over_steps(curve: tuple[Point, ...], transitions: int) -> Element:
    """The coverage curve: transitions covered over steps."""
    last = curve[-1]
    most_steps, most = max(last.steps, 1), max(transitions, last.covered, 1)
    title = f"Coverage: {last.covered:,} of {transitions:,} transitions after {last.steps:,} steps"
    root = picture("curve", CURVE_WIDE, CURVE_HIGH, title)
    floor, across = CURVE_HIGH - BOTTOM, CURVE_WIDE - LEFT - 10
    for part in (0, 0.5, 1):
        y = floor - part * (floor - 10)
        shape(root, "line", x1=LEFT, x2=CURVE_WIDE - 10, y1=float(y), y2=float(y))
        shape(root, "text", "", f"{round(part * most):,}", x=LEFT - 6, y=y + 4, text_anchor="end")
    points = [
        (LEFT + across * point.steps / most_steps, floor - (floor - 10) * point.covered / most)
        for point in curve
    ]
    line = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    shape(root, "path", d=f"M{LEFT},{floor} L{line}")
    shape(root, "text", "", "0 steps", x=LEFT, y=CURVE_HIGH - 8, text_anchor="start")
    end = f"{last.steps:,} steps, {last.seconds:.1f} s"
    shape(root, "text", "", end, x=CURVE_WIDE - 10, y=CURVE_HIGH - 8, text_anchor="end")
    return root
