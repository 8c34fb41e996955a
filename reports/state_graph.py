"""Lays out and draws the state graph of a group: its states, transitions and their rules.

The states are on a ring, so that no arrow passes behind a state and no layout engine is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple
from xml.etree.ElementTree import Element, indent, tostring

from groupcheck.model.exploring.projection import ABSENT, DEAD
from groupcheck.model.rules.guards import COMPLETING, EMPTY, PREPARING, STABLE
from groupcheck.reports.drawing import picture, shape
from groupcheck.reports.drawing import width as width_of

WIDE: Final = 1080
HIGH: Final = 640
NODE_HIGH: Final = 40
LINE: Final = 15
BEND: Final = 46  # how far from the straight line an arrow goes in its middle
MOST_REASONS: Final = 2  # on an arrow; the others are counted
SCALE: Final = 12 / 13  # of the letters beside those that `drawing` measures

# From the top to the right: a group's life, then what ends it.
ORDER: Final = tuple(map(str, (ABSENT, EMPTY, PREPARING, COMPLETING, STABLE, DEAD)))

Colour = Literal["covered", "missing", "violated", "plain"]

STYLE: Final = """
 .graph text { font: 12px Helvetica, Arial, 'Liberation Sans', sans-serif; fill: #24292f }
 .graph .state rect { fill: #f6f8fa; stroke: #24292f; stroke-width: 1.5 }
 .graph .state text { font-weight: bold; font-size: 14px; text-anchor: middle }
 .graph .arrow path.line { fill: none; stroke: #57606a }
 .graph .arrow path.head { fill: #57606a }
 .graph .arrow.covered path.line { stroke: #1a7f37 }
 .graph .arrow.covered path.head { fill: #1a7f37 }
 .graph .arrow.missing path.line { stroke: #8c959f; stroke-dasharray: 6 4 }
 .graph .arrow.missing path.head { fill: #8c959f }
 .graph .arrow.violated path.line { stroke: #cf222e }
 .graph .arrow.violated path.head { fill: #cf222e }
 .graph .arrow text { text-anchor: middle }
 .graph .arrow rect { fill: #ffffff; fill-opacity: 0.9 }
 .graph rect.paper { fill: #ffffff }
"""


class GraphArrow(NamedTuple):
    """An arrow to be drawn: its reasons, the most frequent first, how wide, and in which colour."""

    source: str
    target: str
    reasons: tuple[str, ...]
    weight: int
    colour: Colour = "plain"
    tooltip: str = ""


class _Point(NamedTuple):
    x: float
    y: float


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return not (
            self.right < other.left
            or other.right < self.left
            or self.bottom < other.top
            or other.bottom < self.top
        )


def as_svg(arrows: Iterable[GraphArrow], title: str) -> str:
    """The graph as an SVG document, complete in itself."""
    root = element(arrows, title)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    style = Element("style")
    style.text = STYLE
    root.insert(1, style)
    paper = Element("rect", {"class": "paper", "width": f"{WIDE}", "height": f"{HIGH}"})
    root.insert(2, paper)
    indent(root, " ")
    return tostring(root, encoding="unicode") + "\n"


def element(arrows: Iterable[GraphArrow], title: str) -> Element:
    """The graph as an element of a page that has the style; arrows are numbered in `data-arrow`."""
    drawn = list(arrows)
    at = _places(drawn)
    root = picture("graph", WIDE, HIGH, title)
    taken = [_node_box(name, place) for name, place in at.items()]
    for number, arrow in enumerate(drawn):
        _arrow(root, number, arrow, at, taken)
    for name, place in at.items():
        _state(root, name, place)
    return root


def _places(arrows: list[GraphArrow]) -> dict[str, _Point]:
    """The position of each state: on an ellipse, in the order of a group's life from its top."""
    there = {name for arrow in arrows for name in arrow[:2]}
    names = [name for name in ORDER if name in there]
    across, down = WIDE / 2 - 110, HIGH / 2 - 40
    turns = {name: 2 * math.pi * place / len(names) for place, name in enumerate(names)}
    return {
        name: _Point(WIDE / 2 + across * math.sin(turn), HIGH / 2 - down * math.cos(turn))
        for name, turn in turns.items()
    }


def _state(root: Element, name: str, place: _Point) -> None:
    box = _node_box(name, place)
    group = shape(root, "g", "state")
    _rect(group, box, 8)
    shape(group, "text", text=name, x=place.x, y=place.y + 5)


def _rect(group: Element, box: _Box, rx: int) -> None:
    wide, high = float(box.right - box.left), float(box.bottom - box.top)
    shape(group, "rect", x=float(box.left), y=float(box.top), width=wide, height=high, rx=rx)


def _node_box(name: str, place: _Point) -> _Box:
    half = 1.1 * width_of(name) / 2 + 14
    return _Box(place.x - half, place.y - NODE_HIGH / 2, place.x + half, place.y + NODE_HIGH / 2)


def _arrow(
    root: Element, number: int, arrow: GraphArrow, at: dict[str, _Point], taken: list[_Box]
) -> None:
    """A curve that bends to its own side, so that the way back does not lie upon it."""
    start, end = at[arrow.source], at[arrow.target]
    length = math.hypot(end.x - start.x, end.y - start.y)
    aside = _Point((end.y - start.y) / length, -(end.x - start.x) / length)
    control = _Point(
        (start.x + end.x) / 2 + 2 * BEND * aside.x, (start.y + end.y) / 2 + 2 * BEND * aside.y
    )
    first = _leaves(_node_box(arrow.source, start), start, control)
    last = _leaves(_node_box(arrow.target, end), end, control)
    group = shape(root, "g", f"arrow {arrow.colour}", data_arrow=number)
    said = f"{arrow.source} to {arrow.target}: {arrow.tooltip or ', '.join(arrow.reasons)}"
    shape(group, "title", text=said)
    wide = 1.2 + 0.4 * math.log2(1 + arrow.weight)
    head = 8 + wide
    towards = math.atan2(last.y - control.y, last.x - control.x)
    neck = _Point(last.x - head * math.cos(towards), last.y - head * math.sin(towards))
    curve = (
        f"M{first.x:.1f},{first.y:.1f} Q{control.x:.1f},{control.y:.1f} {neck.x:.1f},{neck.y:.1f}"
    )
    shape(group, "path", "line", d=curve, stroke_width=wide)
    sides = (towards + math.pi / 2, towards - math.pi / 2)
    corners = " ".join(
        f"L{neck.x + head * 0.5 * math.cos(side):.1f},{neck.y + head * 0.5 * math.sin(side):.1f}"
        for side in sides
    )
    shape(group, "path", "head", d=f"M{last.x:.1f},{last.y:.1f} {corners} Z")
    _label(group, arrow, (first, control, last), taken)


def _leaves(box: _Box, inside: _Point, outside: _Point) -> _Point:
    """Where the line from a point in a box to one out of it crosses its border."""
    x, y = outside.x - inside.x, outside.y - inside.y
    across = (box.right - box.left) / 2 / abs(x) if x else math.inf
    down = (box.bottom - box.top) / 2 / abs(y) if y else math.inf
    part = min(across, down)
    return _Point(inside.x + part * x, inside.y + part * y)


def _label(
    group: Element, arrow: GraphArrow, curve: tuple[_Point, _Point, _Point], taken: list[_Box]
) -> None:
    """The reasons, at the first place along the curve where they hide nothing."""
    lines = list(arrow.reasons[:MOST_REASONS])
    if rest := len(arrow.reasons) - len(lines):
        lines.append(f"and {rest} more")
    places = [
        _label_box(lines, *_along(curve, part))
        for part in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
    ]
    box = next((b for b in places if not any(map(b.meets, taken))), places[0])
    taken.append(box)
    _rect(group, box, 3)
    for number, line in enumerate(lines, 1):
        x, y = (box.left + box.right) / 2, box.top + number * LINE - 3
        shape(group, "text", text=line, x=float(x), y=float(y))


def _label_box(lines: list[str], x: float, y: float) -> _Box:
    half = max(map(width_of, lines)) * SCALE / 2 + 4
    high = len(lines) * LINE + 2
    left = min(max(x - half, 0), WIDE - 2 * half)
    top = min(max(y - high / 2, 0), HIGH - high)
    return _Box(left, top, left + 2 * half, top + high)


def _along(curve: tuple[_Point, _Point, _Point], part: float) -> _Point:
    """The point of a quadratic curve after that part of it."""
    rest = 1 - part
    shares = (rest * rest, 2 * rest * part, part * part)
    x, y = (
        sum(share * point[axis] for share, point in zip(shares, curve, strict=True))
        for axis in (0, 1)
    )
    return _Point(x, y)
