"""The rebalances of groups as lanes on one time axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import Element, SubElement

WIDE: Final = 1180
NAMES: Final = 190  # on the left
LANE: Final = 30
BAR: Final = 12
AXIS: Final = 24
LEAST: Final = 2.0  # of a bar, so that it is seen
LETTER: Final = 7.0
TICKS: Final = 8
# How many units of time are a round number of ticks.
ROUND: Final = (1, 2, 5, 10, 15, 30)
UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


class Rebalance(NamedTuple):
    """One rebalance of a group; times in ms since the session began, None where it was not seen."""

    began_ms: int
    joined_ms: int | None
    ended_ms: int | None
    reason: str
    generation: int | None
    members: int | None
    last_client: str | None
    outcome: str


class Lane(NamedTuple):
    """A group in a session, which lasted until `last_ms`, and its rebalances in their order."""

    group_id: str
    last_ms: int
    rebalances: tuple[Rebalance, ...]


def lanes_of(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int], list[Lane]]:
    """Rows of rebalances, in their order, as lanes, those of each source and session together."""
    found: dict[tuple[str, int], list[Lane]] = {}
    for (source, session, group_id, last_ms), several in groupby(rows, _whose):
        each = tuple(Rebalance(*(row[name] for name in Rebalance._fields)) for row in several)
        found.setdefault((source, session), []).append(Lane(group_id, last_ms, each))
    return found


def _whose(row: Mapping[str, Any]) -> tuple[str, int, str, int]:
    return row["source"], row["session"], row["group_id"], row["last_ms"]


def drawn(lanes: list[Lane], name: str) -> Element:
    """The lanes as an SVG element of a page that has the style."""
    last_ms = max((lane.last_ms for lane in lanes), default=0) or 1
    high = AXIS + LANE * len(lanes)
    size = {"viewBox": f"0 0 {WIDE} {high}", "width": f"{WIDE}", "height": f"{high}"}
    root = Element("svg", {"class": "lanes", "role": "img", **size})
    SubElement(root, "title").text = name
    _axis(root, last_ms, high)
    for number, lane in enumerate(lanes):
        _lane(root, lane, AXIS + LANE * number, last_ms)
    return root


def duration(ms: int) -> str:
    """A length of time in the two greatest units that it has: `1 h 3 min`, `250 ms`."""
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
    """A round length of time that is in the whole some times."""
    least_ms = max(last_ms // TICKS, 1)
    rounds = [many * size for size, _ in UNITS[::-1] for many in ROUND]
    rounds += [many * 100 for many in ROUND]
    return min((each for each in rounds if each >= least_ms), default=least_ms)


def _lane(root: Element, lane: Lane, top: int, last_ms: int) -> None:
    middle = top + LANE / 2
    _text(root, (NAMES - 10, middle + 4), _short(lane.group_id), "end", "name")
    first, last = _x(0, last_ms), _x(lane.last_ms, last_ms)
    ends = {"x1": f"{first:.1f}", "x2": f"{last:.1f}", "y1": f"{middle}", "y2": f"{middle}"}
    SubElement(root, "line", {"class": "time", **ends})
    for place, each in enumerate(lane.rebalances):
        following = lane.rebalances[place + 1 :]
        until_ms = following[0].began_ms if following else lane.last_ms
        _rebalance(root, each, middle, last_ms, until_ms)


def _rebalance(root: Element, each: Rebalance, middle: float, last_ms: int, until_ms: int) -> None:
    group = SubElement(root, "g")
    SubElement(group, "title").text = said(each)
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
        if _x(until_ms, last_ms) - x > LETTER * len(text) + 4:  # there is room before the next
            _text(group, (x + 3, middle - 3), text, "start", "generation")


def said(each: Rebalance) -> str:
    """A rebalance in words."""
    took = "not ended" if each.ended_ms is None else duration(each.ended_ms - each.began_ms)
    parts = [f"at {duration(each.began_ms)}: {took}", f"because of {each.reason}"]
    if each.generation is not None:
        parts.append(f"generation {each.generation}")
    if each.members is not None:
        parts.append(f"{each.members} member{'' if each.members == 1 else 's'}")
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
