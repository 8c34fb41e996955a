"""The summary: its figures in correct English, its verdict, and nothing that a terminal obeys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.result import Result, Settings, Shares, SpaceResult, Tours
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.terminal import summary, verdict
from groupcheck.reports.told import told

ONE = SpaceResult("small", 1, 1, 1, Shares(1, 0, 0, 1, 0, 0, 0, 0), kinds="n")
BEAT = Request(1, 4, HeartbeatRequest(GROUP_ID, 0, "m"))
CRASH = Finding(
    Sequence("2.7", {}, (BEAT,)), (), {}, failure=PortFailedError("port crashed", "it fell")
)


def _result() -> Result:
    return Result("builtin", Settings(), "Apache Kafka 2.7.2", [ONE])


def test_one_of_a_thing_is_told_in_the_singular() -> None:
    result = _result()
    result.sequences = result.steps = result.more = 1
    assert summary(told(result), [Path("r/result.json")]) == (
        "port       builtin, judged as Apache Kafka 2.7.2\n"
        "space      small: 1 state, 1 labelled edge explored; 0.0 % of the edges shown"
        " (1 lawful branch the port did not take)\n"
        "in all     1 state, 1 labelled edge explored; 0 edges shown (0.0 %)\n"
        "ran        1 sequence, 1 step in 0.0 s (seed 0)\n"
        "more       1 other finding, not made minimal and not told\n"
        "written    1 file in r\n"
        "verdict    none: the port answered no request, so nothing can be said of it\n"
    )


def test_tours_are_told_beside_the_least_steps_that_show_as_much() -> None:
    result = _result()
    result.spaces = [replace(ONE, tours=Tours(2, 90, 60)), replace(ONE, tours=Tours(1, 30, 40))]
    assert (
        "tours      3 sequences, 120 steps; none show as much in fewer than 100 (ratio 1.20)\n"
        in summary(told(result), [])
    )
    result.spaces = [replace(ONE, tours=Tours(2, 90, 0))]
    assert "tours" not in summary(told(result), [])


def test_findings_of_an_interrupted_run_are_said_to_be_perhaps_not_minimal() -> None:
    result = _result()
    result.ended_early = "interrupted"
    assert verdict(told(result)) == "interrupted, with nothing found until then"
    result.findings = [CRASH]
    assert verdict(told(result)) == "interrupted, with 1 finding until then, perhaps not minimal"


def test_the_verdict_says_what_is_not_shown_if_nothing_more_can_be_had() -> None:
    def verdict_of(kinds: str) -> str:
        result, shares = _result(), Shares.of(kinds)
        result.spaces = [SpaceResult("small", 1, len(kinds), 1, shares, kinds=kinds)]
        return verdict(told(result)).partition("edges")[2]

    assert verdict_of("aah") == ""
    assert verdict_of("aahn") == "; the others are lawful branches it did not take"
    assert verdict_of("aahmm") == "; the others are like another in all that was seen"
    assert verdict_of("anm").endswith("it did not take or like another in all that was seen")
    assert verdict_of("anmu") == ""


def test_what_a_port_said_of_itself_can_do_nothing_to_the_terminal() -> None:
    result = _result()
    result.unsupported = ["\x1b[2J", "x" * 5_000]
    printed = summary(told(result), [])
    assert all(line.isprintable() for line in printed.splitlines())
    assert "\\x1b[2J" in printed
    assert max(map(len, printed.splitlines())) < 2_100
    assert "more characters)" in printed
