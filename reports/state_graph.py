"""Lays out and draws the state graph of a group: its states, transitions and their rules.

The states are on an ellipse, so that no arrow crosses a state. This needs no layout engine.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple
from xml.etree.ElementTree import Element, indent, tostring

from groupcheck.model.classic.exploring.group_graph import ABSENT, DEAD
from groupcheck.model.classic.rules.guards import COMPLETING, EMPTY, PREPARING, STABLE
from groupcheck.reports.drawing import picture, shape
from groupcheck.reports.drawing import width as width_of

WIDE: Final = 1080
HIGH: Final = 640
NODE_HIGH: Final = 40
LINE: Final = 15
BEND: Final = 46  # the maximum distance of an arrow from the straight line
MOST_REASONS: Final = 2  # on an arrow; the others are counted
SCALE: Final = 12 / 13  # of the letters beside those that `drawing` measures

# Clockwise from the top: the lifecycle of a group, then the final states.
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
    """An arrow to draw: its reasons, the most frequent first, its width and its colour."""

    source: str
    target: str
    reasons: tuple[str, ...]
    weight: int
    colour: Colour = "plain"
    tooltip: str = ""


# Points of the picture are complex numbers: x + y * 1j.


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
    """The graph as a standalone SVG document."""
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
    boxes = [_node_box(name, place) for name, place in at.items()]
    for number, arrow in enumerate(drawn):
        _arrow(root, number, arrow, at, boxes)
    for name, place in at.items():
        _state(root, name, place)
    return root


def _places(arrows: list[GraphArrow]) -> dict[str, complex]:
    """The position of each state: on an ellipse, clockwise.

    States of a group are in the order of its lifecycle, others in the order of the arrows.
    """
    present = {name for arrow in arrows for name in arrow[:2]}
    others = dict.fromkeys(name for arrow in arrows for name in arrow[:2] if name not in ORDER)
    names = [*(name for name in ORDER if name in present), *others]
    across, down = WIDE / 2 - 110, HIGH / 2 - 40
    turns = {name: 2 * math.pi * place / len(names) for place, name in enumerate(names)}
    return {
        name: complex(WIDE / 2 + across * math.sin(turn), HIGH / 2 - down * math.cos(turn))
        for name, turn in turns.items()
    }


def _state(root: Element, name: str, place: complex) -> None:
    box = _node_box(name, place)
    group = shape(root, "g", "state")
    _rect(group, box, 8)
    shape(group, "text", text=name, x=place.real, y=place.imag + 5)


def _rect(group: Element, box: _Box, rx: int) -> None:
    wide, high = float(box.right - box.left), float(box.bottom - box.top)
    shape(group, "rect", x=float(box.left), y=float(box.top), width=wide, height=high, rx=rx)


def _node_box(name: str, place: complex) -> _Box:
    half, x, y = 1.1 * width_of(name) / 2 + 14, place.real, place.imag
    return _Box(x - half, y - NODE_HIGH / 2, x + half, y + NODE_HIGH / 2)


def _arrow(
    root: Element, number: int, arrow: GraphArrow, at: dict[str, complex], boxes: list[_Box]
) -> None:
    """A curve that bends to one side, so that the opposite arrow does not overlap it."""
    start, end = at[arrow.source], at[arrow.target]
    aside = -1j * (end - start) / abs(end - start)
    control = (start + end) / 2 + 2 * BEND * aside
    first = _leaves(_node_box(arrow.source, start), start, control)
    last = _leaves(_node_box(arrow.target, end), end, control)
    group = shape(root, "g", f"arrow {arrow.colour}", data_arrow=number)
    title = f"{arrow.source} to {arrow.target}: {arrow.tooltip or ', '.join(arrow.reasons)}"
    shape(group, "title", text=title)
    wide = 1.2 + 0.4 * math.log2(1 + arrow.weight)
    head = 8 + wide
    towards = cmath.phase(last - control)
    neck = last - cmath.rect(head, towards)
    curve = f"M{_written(first)} Q{_written(control)} {_written(neck)}"
    shape(group, "path", "line", d=curve, stroke_width=wide)
    sides = (towards + math.pi / 2, towards - math.pi / 2)
    corners = " ".join(f"L{_written(neck + cmath.rect(head * 0.5, side))}" for side in sides)
    shape(group, "path", "head", d=f"M{_written(last)} {corners} Z")
    _label(group, arrow, (first, control, last), boxes)


def _written(point: complex) -> str:
    return f"{point.real:.1f},{point.imag:.1f}"


def _leaves(box: _Box, inside: complex, outside: complex) -> complex:
    """The point at which the line from a point in a box to one outside crosses its border."""
    way = outside - inside
    across = (box.right - box.left) / 2 / abs(way.real) if way.real else math.inf
    down = (box.bottom - box.top) / 2 / abs(way.imag) if way.imag else math.inf
    return inside + min(across, down) * way


def _label(
    group: Element, arrow: GraphArrow, curve: tuple[complex, complex, complex], boxes: list[_Box]
) -> None:
    """The reasons, at the first position along the curve where they overlap nothing."""
    lines = list(arrow.reasons[:MOST_REASONS])
    if rest := len(arrow.reasons) - len(lines):
        lines.append(f"and {rest} more")
    places = [
        _label_box(lines, _along(curve, part)) for part in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
    ]
    box = next((b for b in places if not any(map(b.meets, boxes))), places[0])
    boxes.append(box)
    _rect(group, box, 3)
    for number, line in enumerate(lines, 1):
        x, y = (box.left + box.right) / 2, box.top + number * LINE - 3
        shape(group, "text", text=line, x=float(x), y=float(y))


def _label_box(lines: list[str], middle: complex) -> _Box:
    half = max(map(width_of, lines)) * SCALE / 2 + 4
    high = len(lines) * LINE + 2
    left = min(max(middle.real - half, 0), WIDE - 2 * half)
    top = min(max(middle.imag - high / 2, 0), HIGH - high)
    return _Box(left, top, left + 2 * half, top + high)


def _along(curve: tuple[complex, complex, complex], part: float) -> complex:
    """The point of a quadratic curve at that fraction of its parameter."""
    rest = 1 - part
    first, control, last = curve
    return rest * rest * first + 2 * rest * part * control + part * part * last
