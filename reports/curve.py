"""The coverage curve as a picture: how many labelled edges had been shown after how many steps."""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element, SubElement

from groupcheck.reports.saved import Moment

WIDE: Final = 640
HIGH: Final = 180
LEFT: Final = 70
BOTTOM: Final = 26


def drawn(curve: tuple[Moment, ...], edges: int) -> Element:
    """The curve as an SVG element of a page that has the style."""
    size = {"viewBox": f"0 0 {WIDE} {HIGH}", "width": f"{WIDE}", "height": f"{HIGH}"}
    root = Element("svg", {"class": "curve", "role": "img", **size})
    last = curve[-1]
    most_steps, most = max(last.steps, 1), max(edges, last.shown, 1)
    said = f"Coverage: {last.shown:,} of {edges:,} labelled edges after {last.steps:,} steps"
    SubElement(root, "title").text = said
    floor, across = HIGH - BOTTOM, WIDE - LEFT - 10
    for part in (0, 0.5, 1):
        y = floor - part * (floor - 10)
        SubElement(root, "line", x1=f"{LEFT}", x2=f"{WIDE - 10}", y1=f"{y:.1f}", y2=f"{y:.1f}")
        _text(root, LEFT - 6, y + 4, f"{round(part * most):,}", "end")
    points = [
        (LEFT + across * point.steps / most_steps, floor - (floor - 10) * point.shown / most)
        for point in curve
    ]
    line = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    SubElement(root, "path", d=f"M{LEFT},{floor} L{line}")
    _text(root, LEFT, HIGH - 8, "0 steps", "start")
    _text(root, WIDE - 10, HIGH - 8, f"{last.steps:,} steps, {last.seconds:.1f} s", "end")
    return root


def _text(root: Element, x: float, y: float, text: str, anchor: str) -> None:
    where = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    SubElement(root, "text", where).text = text
