"""A badge with the transition coverage, as SVG without external fonts or styles."""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element, tostring

from groupcheck.reports.drawing import shape, width
from groupcheck.reports.formatting import counted, percent
from groupcheck.reports.other_commands import figure
from groupcheck.reports.record import ResultRecord

LABEL: Final = "groupcheck"
HEIGHT: Final = 20
PADDING: Final = 6
# `width` estimates a font size of 13 px; the badge has 11 px.
SCALE: Final = 11 / 13

GREEN, YELLOW, RED, GREY = "#1a7f37", "#9a6700", "#cf222e", "#57606a"


def as_badge(saved: ResultRecord) -> str:
    """The badge, as an SVG document."""
    message, colour = _message(saved)
    left, right = (round(SCALE * 1.1 * width(text)) + 2 * PADDING for text in (LABEL, message))
    label = f"{LABEL}: {message}"
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": str(left + right),
            "height": str(HEIGHT),
            "role": "img",
            "aria-label": label,
        },
    )
    shape(root, "title", text=label)
    _box(root, 0, left, "#24292f", LABEL)
    _box(root, left, right, colour, message)
    return tostring(root, encoding="unicode") + "\n"


def _message(saved: ResultRecord) -> tuple[str, str]:
    if not saved.decided:
        return "no coverage", GREY
    if saved.command != "verify":
        return figure(saved), GREEN if saved.conforms else RED
    covered = f"{percent(saved.covered, saved.transitions)} of transitions"
    if saved.new:
        return f"{covered}, {counted(len(saved.new), 'finding')}", RED
    return (covered, GREEN) if saved.conforms else (f"{covered}, ended early", YELLOW)


def _box(root: Element, x: int, wide: int, colour: str, text: str) -> None:
    shape(root, "rect", x=x, y=0, width=wide, height=HEIGHT, fill=colour)
    style = {
        "x": f"{x + wide / 2:g}",
        "y": "14",
        "fill": "#ffffff",
        "text-anchor": "middle",
        "font-family": "Verdana, DejaVu Sans, Helvetica, Arial, sans-serif",
        "font-size": "11",
        "textLength": str(wide - 2 * PADDING),
    }
    shape(root, "text", text=text, **style)
