"""`groupcheck graph`: every format and the documentation have the transitions of the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from groupcheck.model.classic.exploring import exploration
from groupcheck.model.classic.exploring.group_graph import group_graph_of, merged
from groupcheck.model.classic.profiles import PROFILES
from support.economy import slow_if
from support.spaces import explored, whole

DOCS = Path(__file__).parent.parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _explored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each instance is explored once for all tests."""
    monkeypatch.setattr(exploration, "explore", lambda instance, _tell, **_: whole(instance))


def _arrows(profile: str) -> dict[tuple[str, str], set[str]]:
    """The arrows of the model with their rules."""
    names = ("membership", "metadata", "storing")
    arrows = merged([group_graph_of(explored(profile, name)) for name in names]).arrows
    return {(str(arrow.source), str(arrow.target)): set(why) for arrow, why in arrows.items()}


@pytest.mark.parametrize("profile", slow_if(lambda profile: profile == "4.1", PROFILES))
def test_the_picture_in_the_documentation_has_the_transitions_of_the_model(
    profile: str, tmp_path: Path, printed: Callable[..., str]
) -> None:
    path = tmp_path / "states.svg"
    printed("graph", path, "--profile", profile)
    assert path.read_bytes() == (DOCS / f"states-{profile}.svg").read_bytes()
    titles = [element.text for element in ET.parse(path).iter(f"{SVG}title")]  # noqa: S314
    drawn = {}
    for title in titles[1:]:
        ends, reasons = (title or "").split(": ")
        source, target = ends.split(" to ")
        drawn[source, target] = set(reasons.split(", "))
    assert drawn == _arrows(profile)


def test_no_arrow_passes_behind_a_state() -> None:
    for profile in PROFILES:
        root = ET.parse(DOCS / f"states-{profile}.svg").getroot()  # noqa: S314 - our own file
        boxes = {}
        for group in root.iter(f"{SVG}g"):
            if group.get("class") == "state":
                x, y, wide, high = (
                    float(group[0].get(name) or 0) for name in ("x", "y", "width", "height")
                )
                boxes[group[1].text] = (x, y, x + wide, y + high)
        for group in root.iter(f"{SVG}g"):
            if (group.get("class") or "").startswith("arrow"):
                ends = (group[0].text or "").split(": ")[0].split(" to ")
                others = [box for name, box in boxes.items() if name not in ends]
                assert not any(_within(point, box) for point in _curve(group) for box in others)


def _curve(group: ET.Element) -> list[tuple[float, float]]:
    """Points along the quadratic curve of an arrow."""
    numbers = list(map(float, re.findall(r"-?[\d.]+", group[1].get("d") or "")))
    ax, ay, bx, by, cx, cy = numbers
    return [
        (
            (1 - t) ** 2 * ax + 2 * t * (1 - t) * bx + t * t * cx,
            (1 - t) ** 2 * ay + 2 * t * (1 - t) * by + t * t * cy,
        )
        for t in (n / 50 for n in range(51))
    ]


def _within(point: tuple[float, float], box: tuple[float, float, float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def test_dot_and_mermaid_have_the_same_arrows_and_rules(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    dot, mermaid, png = (tmp_path / f"states.{kind}" for kind in ("dot", "mmd", "png"))
    for path in (dot, mermaid, png):
        printed("graph", path)
    found = re.findall(r'"(\w+)" -> "(\w+)" \[label="(.*)"\];', dot.read_text())
    arrows = _arrows("2.7")
    assert {(a, b): set(why.split("\\n")) for a, b, why in found} == arrows
    found = re.findall(r"(\w+) --> (\w+): (.*)", mermaid.read_text())
    assert {(a, b): set(why.split("<br/>")) for a, b, why in found} == arrows
    assert png.read_bytes().startswith(b"\x89PNG\r\n")
