"""Findings as sequence diagrams: Mermaid text held as it is, SVG that is sound and fits."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import dedent
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.state import Advance
from groupcheck.model.vocabulary import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    Protocol,
    Request,
)
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, Port, PortFailedError
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.diagram import MOST_STEPS, Arrow, Diagram, Note, diagram
from groupcheck.reports.mermaid import as_mermaid
from groupcheck.reports.svg import as_svg
from groupcheck.reports.text_width import broken, width
from support.faults import faulty_port

OFFER = JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
JOIN = Request(1, 3, OFFER)
SVG: Final = "{http://www.w3.org/2000/svg}"


class Silent(BuiltinPort):
    """Says nothing to a heartbeat."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        seen = super().request(request, expected)
        return seen._replace(responses=()) if request.api == "Heartbeat" else seen


def _finding(port: Port, *steps: Request | Advance) -> Finding:
    finding = replay(Sequence("2.7", {}, steps), port)
    assert finding is not None
    return finding


def _parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - it comes from here


@pytest.fixture
def told() -> Finding:
    """A follower is told the members."""
    port = faulty_port("a follower is given the member list")
    return _finding(port, JOIN, JOIN._replace(request_id=2), Advance(6_000))


def test_a_finding_is_drawn_as_mermaid_text_with_what_is_wrong_in_red(told: Finding) -> None:
    assert as_mermaid(diagram(told)) == dedent(f"""\
        sequenceDiagram
            title: Finding {told.finding_id}: not as Apache Kafka 2.7.2: 6 s pass in PreparingRebalance, answer to JoinGroup v3 without a member id: a member list for a follower
            participant p0 as A
            participant p1 as B
            participant p2 as coordinator
            p0->>p2: 1. JoinGroup v3 without a member id, offering range b'r'<br/>(session timeout 10 s, rebalance timeout 1 min 30 s)
            p1->>p2: 2. JoinGroup v3 without a member id, offering range b'r'<br/>(session timeout 10 s, rebalance timeout 1 min 30 s)
            Note over p0,p2: 3. 6 s pass
            p2-->>p0: (to 1) no error, generation 1, member id A, leader A,<br/>protocol consumer/range, members A b'r', B b'r'
            rect rgb(255, 226, 224)
            p2-->>p1: (to 2) no error, generation 1, member id B, leader A,<br/>protocol consumer/range, members A b'r', B b'r'
            end
            Note over p0,p2: What came back:<br/>  to step 2: no error, generation 1, member id B, leader A,<br/>protocol range, members A b'r', B b'r'<br/>What Apache Kafka 2.7.2 does here:<br/>  to step 2: no error, generation 1, member id B, leader A,<br/>protocol range, no member list<br/>    because the join phase ends and a new generation begins<br/>[GroupCoordinator.scala:1208]
        """)  # noqa: E501 - it is drawn from as it is


def test_what_means_something_to_mermaid_is_said_by_its_number() -> None:
    drawn = Diagram("a;b", ("A", "c"), (Note("<b>#1 100%%"), Arrow("A", "c", "{}", "request")), ())
    lines = as_mermaid(drawn).splitlines()
    assert lines[1] == "    title: a#59;b"
    assert lines[4] == "    Note over p0,p1: #60;b#62;#35;1 100#37;#37;"
    assert lines[5] == "    p0->>p1: #123;#125;"


def test_who_is_nobody_known_is_drawn_as_somebody_and_a_missing_answer_as_lost() -> None:
    beat = Request(2, 3, HeartbeatRequest(GROUP_ID, 0, "nobody"))
    drawn = diagram(_finding(Silent(), JOIN, beat))
    assert drawn.participants == ("A", "somebody", "coordinator")
    *_, asked, lost = drawn.events
    assert asked == Arrow(
        "somebody",
        "coordinator",
        "2. Heartbeat v3 for generation 0 (of nobody known ('nobody'))",
        "request",
    )
    assert lost == Arrow("coordinator", "somebody", "no answer", "silence")


@pytest.mark.parametrize("during", ["open", "request", "close"])
def test_a_port_that_fails_is_drawn_where_it_did(during: str) -> None:
    def fail(*_arguments: object) -> None:
        kind = "port crashed"
        raise PortFailedError(kind, "it fell")

    port = BuiltinPort()
    setattr(port, during, fail)
    drawn = diagram(_finding(port, JOIN))
    last = drawn.events[-1]
    if during == "request":
        assert last == Arrow("coordinator", "A", "port crashed: it fell", "silence")
    else:
        where = "opened" if during == "open" else "closed"
        assert last == Note(f"port crashed: it fell (when the test was {where})")
    assert _parsed(as_svg(drawn)) is not None


def test_of_a_long_finding_the_last_steps_are_drawn() -> None:
    beats = [
        Request(i, 3, LeaveGroupRequest(GROUP_ID, (MemberIdentity("nobody"),)))
        for i in range(1, MOST_STEPS + 30)
    ]
    end = Request(1_000, 3, HeartbeatRequest(GROUP_ID, 0, "nobody"))
    drawn = diagram(_finding(Silent(), *beats, end))
    assert drawn.events[0] == Note("... 30 steps before")
    asked = [e for e in drawn.events if isinstance(e, Arrow) and e.kind == "request"]
    assert len(asked) == MOST_STEPS


def test_an_svg_needs_nothing_from_elsewhere_and_says_all_that_is_drawn(told: Finding) -> None:
    drawn = diagram(told)
    text = as_svg(drawn)
    root = _parsed(text)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {
        "svg", "title", "style", "g", "rect", "line", "polygon", "text",
    }  # fmt: skip
    assert not any(word in text.replace(SVG[1:-1], "") for word in ("http", "url(", "@import"))
    said = " ".join(each.text or "" for each in root.iter(f"{SVG}text"))
    events = [event.label for event in drawn.events]
    for label in (drawn.title, *drawn.participants, *events, *drawn.verdict):
        assert label.strip() in said
    odd = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "odd"]
    assert " ".join(filter(None, odd)) == events[-1]


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
        Note(label)
        if number % 3 == 2
        else Arrow(names[number % clients], "coordinator", label, "wrong")
        for number, label in enumerate(labels)
    ]
    said = ("What came back:", *(f"  {each}" for each in verdict), "What Kafka does:", "  this")
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
    lines = broken(text, most)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(width(line) <= most for line in lines)
