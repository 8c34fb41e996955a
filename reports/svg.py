"""Sequence diagrams as SVG without external fonts, styles or scripts.

Line breaks use an estimate of the width of text (`drawing`).
"""

from __future__ import annotations

from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from groupcheck.reports.diagram import Diagram, Event
from groupcheck.reports.drawing import shape, width, wrapped
from groupcheck.reports.finding_text import Passage

LINE: Final = 17  # the height of one
MARGIN: Final = 24
HALF: Final = 50  # of a client's name, or the coordinator's
LANE: Final = 92  # between two clients
GAP: Final = 470  # between the last client and the coordinator, where the labels are

STYLE: Final = """
 text { font: 13px Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif; fill: #24292f }
 text.bold { font-weight: bold }
 text.middle { text-anchor: middle }
 text.wrong { fill: #b31d28 }
 line { stroke: #24292f; stroke-width: 1.5 }
 line.life { stroke: #8c959f; stroke-dasharray: 2 4 }
 line.answer { stroke-dasharray: 6 4 }
 line.wrong { stroke: #cf222e }
 polygon { fill: #24292f }
 polygon.wrong { fill: #cf222e }
 rect { fill: #f6f8fa; stroke: #24292f }
 rect.paper { fill: #ffffff; stroke: none }
 rect.note { fill: #fff8e1; stroke: #bf8700 }
 rect.behind { fill: #ffebe9; stroke: none }
 rect.observed { fill: #ffebe9; stroke: #cf222e }
 rect.expected { fill: #dafbe1; stroke: #1a7f37 }
"""


def as_svg(diagram: Diagram) -> str:
    """The diagram as an SVG document."""
    return _Drawing(diagram).text()


class _Drawing:
    """A diagram that grows downwards from `y`."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        clients = diagram.participants[:-1]
        self.at = {name: float(MARGIN + HALF + LANE * i) for i, name in enumerate(clients)}
        self.at[diagram.participants[-1]] = self.at[clients[-1]] + GAP
        self.width = self.at[diagram.participants[-1]] + HALF + MARGIN
        self.root = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
        SubElement(self.root, "title").text = diagram.title
        SubElement(self.root, "style").text = STYLE
        self.y = float(MARGIN)

    def text(self) -> str:
        """The whole diagram, drawn from the top."""
        paper = self._shape("rect", "paper", x=0, y=0, width=self.width)
        for line in wrapped(self.diagram.title, 0.92 * (self.width - 2 * MARGIN)):
            self.y += LINE
            self._text(line, MARGIN, "bold")
        lives = SubElement(self.root, "g")
        top = self._heads()
        for event in self.diagram.events:
            if event.kind == "note":
                self._note(event)
            else:
                self._arrow(event)
        self.y += 6
        for x in self.at.values():
            shape(lives, "line", "life", x1=x, y1=top, x2=x, y2=self.y)
        for passage in self.diagram.verdict:
            self._passage(passage)
        height = self.y + MARGIN
        paper.set("height", f"{height:g}")
        self.root.set("viewBox", f"0 0 {self.width:g} {height:g}")
        self.root.set("width", f"{self.width:g}")
        self.root.set("height", f"{height:g}")
        indent(self.root, " ")
        return tostring(self.root, encoding="unicode") + "\n"

    def _heads(self) -> float:
        self.y += 12
        for name, x in self.at.items():
            wide = max(1.1 * width(name) + 14, 44)
            self._shape("rect", "", x=x - wide / 2, y=self.y, width=wide, height=28, rx=4)
        self.y += 18.5
        for name, x in self.at.items():
            self._text(name, x, "bold middle")
        self.y += 9.5
        return self.y

    def _arrow(self, arrow: Event) -> None:
        source, target = self.at[arrow.source], self.at[arrow.target]
        left = max(source, target) - GAP  # where the last client is
        wrong = "wrong" if arrow.is_wrong else ""
        lines = wrapped(arrow.label, GAP - 40)
        self.y += 12
        if wrong:
            tall = LINE * len(lines) + 20
            box = {"x": left + 8, "y": self.y - 4, "width": GAP - 16, "height": tall, "rx": 4}
            self._shape("rect", "behind", **box)
        for line in lines:
            self.y += LINE
            self._text(line, left + 18, wrong, up=4)
        self.y += 6
        dashed = "" if arrow.kind == "request" else "answer"
        self._line(source, target, f"{dashed} {wrong}".strip())
        if arrow.kind == "missing":
            self._cross(target)
        else:
            self._head(target, 1 if target > source else -1, wrong)
        self.y += 4

    def _line(self, start: float, end: float, kind: str) -> None:
        self._shape("line", kind, x1=start, y1=self.y, x2=end, y2=self.y)

    def _head(self, x: float, way: int, kind: str) -> None:
        back = x - 10 * way
        points = f"{x:g},{self.y:g} {back:g},{self.y - 5:g} {back:g},{self.y + 5:g}"
        self._shape("polygon", kind, points=points)

    def _cross(self, x: float) -> None:
        for end in (-6, 6):
            self._shape("line", "wrong", x1=x - 6, y1=self.y - end, x2=x + 6, y2=self.y + end)

    def _note(self, note: Event) -> None:
        most = self.width - 2 * MARGIN
        lines = wrapped(note.label, most - 20)
        self.y += 12
        tall = LINE * len(lines) + 8
        self._shape("rect", "note", x=MARGIN, y=self.y, width=most, height=tall, rx=4)
        for line in lines:
            self.y += LINE
            self._text(line, self.width / 2, "middle")
        self.y += 8

    def _passage(self, passage: Passage) -> None:
        self.y += 14
        top, most = self.y, self.width - 2 * MARGIN
        kind = "expected" if passage.is_expected else "observed"
        box = self._shape("rect", kind, x=MARGIN, y=top, width=most, rx=4)
        for each in passage.text:
            inset = 12 + 10 * (len(each) - len(each.lstrip()))
            for line in wrapped(each.strip(), most - inset - 12):
                self.y += LINE
                self._text(line, MARGIN + inset)
        self.y += 8
        box.set("height", f"{self.y - top:g}")

    def _text(self, text: str, x: float, kind: str = "", up: float = 0) -> None:
        shape(self.root, "text", kind, text, x=x, y=self.y - up)

    def _shape(self, name: str, kind: str, **fields: Any) -> Element:  # noqa: ANN401 - of a shape
        return shape(self.root, name, kind, **fields)
