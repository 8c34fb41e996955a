"""The summary: its figures in correct English, its verdict, and nothing that a terminal obeys."""

from __future__ import annotations

from pathlib import Path

from groupcheck.model.clients import GROUP_ID
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.finding import Finding
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.result import Result, Settings, Shares, SpaceResult
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.terminal import summary, verdict

ONE = SpaceResult("small", 1, 1, 1, Shares(1, 0, 0, 1, 0, 0, 0, 0))
BEAT = Request(1, 4, HeartbeatRequest(GROUP_ID, 0, "m"))
CRASH = Finding(
    Sequence("2.7", {}, (BEAT,)), (), {}, failure=PortFailedError("port crashed", "it fell")
)


def _result() -> Result:
    return Result("builtin", Settings(), "Apache Kafka 2.7.2", [ONE])


def test_one_of_a_thing_is_told_in_the_singular() -> None:
    result = _result()
    result.sequences = result.steps = result.more = 1
    assert summary(result, [Path("r/result.json")]) == (
        "port       builtin, judged as Apache Kafka 2.7.2\n"
        "space      small: 1 state, 1 labelled edge explored; 0.0 % of the edges shown"
        " (1 lawful branch the port did not take)\n"
        "in all     1 state, 1 labelled edge explored; 0 edges shown (0.0 %)\n"
        "ran        1 sequence, 1 step in 0.0 s (seed 0)\n"
        "more       1 other finding, not made minimal and not told\n"
        "written    1 file in r\n"
        "verdict    none: the port answered no request, so nothing can be said of it\n"
    )


def test_findings_of_an_interrupted_run_are_said_to_be_perhaps_not_minimal() -> None:
    result = _result()
    result.ended_early = "interrupted"
    assert verdict(result) == "interrupted, with nothing found until then"
    result.findings = [CRASH]
    assert verdict(result) == "interrupted, with 1 finding until then, perhaps not minimal"


def test_what_a_port_said_of_itself_can_do_nothing_to_the_terminal() -> None:
    result = _result()
    result.unsupported = ["\x1b[2J", "x" * 5_000]
    printed = summary(result, [])
    assert all(line.isprintable() for line in printed.splitlines())
    assert "\\x1b[2J" in printed
    assert max(map(len, printed.splitlines())) < 2_100
    assert "more characters)" in printed
