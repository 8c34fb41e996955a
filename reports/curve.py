"""Draws the coverage curve: transitions covered over steps."""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element, SubElement

from groupcheck.properties.coverage.curve import Point

WIDE: Final = 640
HIGH: Final = 180
LEFT: Final = 70
BOTTOM: Final = 26


def drawn(curve: tuple[Point, ...], transitions: int) -> Element:
    """The curve as an SVG element; the page has its style."""
    size = {"viewBox": f"0 0 {WIDE} {HIGH}", "width": f"{WIDE}", "height": f"{HIGH}"}
    root = Element("svg", {"class": "curve", "role": "img", **size})
    last = curve[-1]
    most_steps, most = max(last.steps, 1), max(transitions, last.covered, 1)
    said = f"Coverage: {last.covered:,} of {transitions:,} transitions after {last.steps:,} steps"
    SubElement(root, "title").text = said
    floor, across = HIGH - BOTTOM, WIDE - LEFT - 10
    for part in (0, 0.5, 1):
        y = floor - part * (floor - 10)
        SubElement(root, "line", x1=f"{LEFT}", x2=f"{WIDE - 10}", y1=f"{y:.1f}", y2=f"{y:.1f}")
        _text(root, LEFT - 6, y + 4, f"{round(part * most):,}", "end")
    points = [
        (LEFT + across * point.steps / most_steps, floor - (floor - 10) * point.covered / most)
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
