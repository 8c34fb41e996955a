"""Findings as sequence diagrams: Mermaid text, and SVG in which every text fits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.reports.diagram import MOST_STEPS, Diagram, Event, diagram
from groupcheck.reports.drawing import width, wrapped
from groupcheck.reports.finding_record import finding_record
from groupcheck.reports.finding_text import Passage
from groupcheck.reports.mermaid import as_mermaid
from groupcheck.reports.svg import as_svg
from support import requests
from support.golden import assert_golden
from support.small_findings import finding_of, member_list_for_a_follower

SVG: Final = "{http://www.w3.org/2000/svg}"


class Silent(BuiltinPort):
    """Does not answer a heartbeat."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        seen = super().request(request, expected)
        return seen._replace(responses=()) if request.api == "Heartbeat" else seen


def _drawn(finding: Finding) -> Diagram:
    drawn = diagram(finding_record(finding, ""))
    assert drawn
    return drawn


def _parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - it comes from here


def test_mermaid_text_has_the_wrong_answer_in_a_red_box() -> None:
    assert_golden("finding.mmd", as_mermaid(_drawn(member_list_for_a_follower())))


def test_characters_with_a_meaning_in_mermaid_are_escaped() -> None:
    events = (Event("note", "<b>#1 100%%"), Event("request", "{}", "A", "c"))
    lines = as_mermaid(Diagram("a;b", ("A", "c"), events, ())).splitlines()
    assert lines[1] == "    title: a#59;b"
    assert lines[4] == "    Note over p0,p1: #60;b#62;#35;1 100#37;#37;"
    assert lines[5] == "    p0->>p1: #123;#125;"


def test_an_unknown_member_is_a_client_and_a_missing_answer_is_a_silence() -> None:
    beat = Request(2, 3, HeartbeatRequest(GROUP_ID, 0, "nobody"))
    drawn = _drawn(finding_of(Silent(), beat))
    assert drawn.participants == ("A", "client", "coordinator")
    *_, asked, lost = drawn.events
    label = "2. Heartbeat v3 for generation 0 (of unknown member 'nobody')"
    assert asked == Event("request", label, "client", "coordinator")
    assert lost == Event("missing", "no answer", "coordinator", "client")


@pytest.mark.parametrize(
    ("during", "last"),
    [
        ("open", Event("note", "port crashed: it fell (while opening the test)")),
        ("request", Event("missing", "port crashed: it fell", "coordinator", "A")),
        ("close", Event("note", "port crashed: it fell (while closing the test)")),
    ],
)
def test_a_failure_of_the_port_is_the_last_event(during: str, last: Event) -> None:
    def fail(*_arguments: object) -> None:
        kind = "port crashed"
        raise PortFailedError(kind, "it fell")

    port = BuiltinPort()
    setattr(port, during, fail)
    drawn = _drawn(finding_of(port))
    assert drawn.events[-1] == last
    assert _parsed(as_svg(drawn)) is not None


def test_a_diagram_of_a_long_finding_has_the_last_steps() -> None:
    beats = [Request(i, 3, requests.leave("nobody")) for i in range(2, MOST_STEPS + 30)]
    end = Request(1_000, 3, HeartbeatRequest(GROUP_ID, 0, "nobody"))
    drawn = _drawn(finding_of(Silent(), *beats, end))
    assert drawn.events[0] == Event("note", "... 30 earlier steps")
    assert sum(event.kind == "request" for event in drawn.events) == MOST_STEPS


def test_an_svg_loads_nothing_and_has_every_text_of_the_diagram() -> None:
    drawn = _drawn(member_list_for_a_follower())
    text = as_svg(drawn)
    root = _parsed(text)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {
        "svg", "title", "style", "g", "rect", "line", "polygon", "text",
    }  # fmt: skip
    assert not any(word in text.replace(SVG[1:-1], "") for word in ("http", "url(", "@import"))
    said = " ".join(each.text or "" for each in root.iter(f"{SVG}text"))
    events = [event.label for event in drawn.events]
    verdict = [line for passage in drawn.verdict for line in passage.text]
    for label in (drawn.title, *drawn.participants, *events, *verdict):
        assert label.strip() in said
    wrong = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "wrong"]
    assert " ".join(filter(None, wrong)) == events[-1]


TEXTS = st.text(st.characters(exclude_categories=["C"]), max_size=120)


@given(
    labels=st.lists(TEXTS, max_size=5),
    verdict=st.lists(TEXTS, max_size=3),
    clients=st.integers(1, 4),
)
def test_every_text_of_an_svg_is_within_it(
    labels: list[str], verdict: list[str], clients: int
) -> None:
    names = ["ABCD"[i] for i in range(clients)]
    events = [
        Event("note", label)
        if number % 3 == 2
        else Event("wrong", label, names[number % clients], "coordinator")
        for number, label in enumerate(labels)
    ]
    said = (Passage("Observed:", tuple(verdict)), Passage("Expected:", ("this",), is_expected=True))
    drawn = Diagram("".join(labels), (*names, "coordinator"), tuple(events), said)
    root = _parsed(as_svg(drawn))
    wide, high = float(root.get("width", "")), float(root.get("height", ""))
    for each in root.iter(f"{SVG}text"):
        x, needed = float(each.get("x", "")), width(each.text or "")
        left = x - needed / 2 if "middle" in (each.get("class") or "") else x
        assert left > 0
        assert left + needed < wide
        assert 0 < float(each.get("y", "")) < high


@given(text=st.text(max_size=200), most=st.floats(40, 500))
def test_a_broken_text_is_the_same_text_in_lines_that_fit(text: str, most: float) -> None:
    lines = wrapped(text, most)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(width(line) <= most for line in lines)
