"""The console summary: its counts in correct English, the verdict, and escaped text of a port."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.result import InstanceCoverage, Result, Settings, Tours, TransitionCounts
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.terminal import summary, verdict
from groupcheck.reports.verification_record import result_record

BEAT = Request(1, 4, HeartbeatRequest(GROUP_ID, 0, "m"))
CRASH = Finding(
    Sequence("2.7", {}, (BEAT,)), (), {}, failure=PortFailedError("port crashed", "it fell")
)


def _result(*outcomes: str, tours: Tours = Tours()) -> Result:  # noqa: B008 - it is immutable
    instances = [
        InstanceCoverage(
            name="small",
            members=1,
            states=1,
            depth=1,
            transitions=TransitionCounts.of(each),
            outcomes=each,
            tours=tours,
        )
        for each in outcomes
    ]
    return Result("builtin", Settings(), "Apache Kafka 2.7.2", instances, answered=True)


def test_one_of_a_thing_is_in_the_singular() -> None:
    result = _result("n")
    result.sequences = result.steps = result.more = 1
    assert summary(result_record(result), [Path("r/result.json")]) == (
        "port       builtin, checked against Apache Kafka 2.7.2\n"
        "instance   small: 1 state, 1 transition; 0.0 % covered (1 allowed outcome not observed)\n"
        "total      1 state, 1 transition; 0 covered (0.0 %)\n"
        "ran        1 sequence, 1 step in 0.0 s (seed 0)\n"
        "truncated  1 more finding, neither minimized nor reported\n"
        "written    1 file in r\n"
        "verdict    none: the port answered no request\n"
    )


def test_tours_have_their_distance_to_the_lower_bound_with_v() -> None:
    record = result_record(_result("a", "a", tours=Tours(2, 60, 50)))
    line = "tours      4 sequences, 120 steps"
    assert f"{line}\n" in summary(record, [])
    assert f"{line}, within 20 % of the proved minimum\n" in summary(record, [], more=True)
    assert "tours" not in summary(result_record(_result("a", tours=Tours(2, 90, 0))), [])


def test_findings_of_an_interrupted_run_are_possibly_not_minimal() -> None:
    result = _result("n")
    result.ended_early = "interrupted"
    assert verdict(result_record(result)) == "interrupted; no finding so far"
    result.findings = [CRASH]
    assert verdict(result_record(result)) == "interrupted; 1 finding so far, possibly not minimal"


@pytest.mark.parametrize(
    ("outcomes", "rest"),
    [
        ("aah", "100 % of the transitions covered"),
        ("aahn", "covered; the others are allowed outcomes not observed"),
        ("aahmm", "covered; the others are ambiguous"),
        ("anm", "covered; the others are allowed outcomes not observed or ambiguous"),
        ("anmu", "% of the transitions covered"),
    ],
)
def test_the_verdict_names_the_transitions_that_no_test_could_cover(
    outcomes: str, rest: str
) -> None:
    assert verdict(result_record(_result(outcomes))).endswith(rest)


def test_text_of_a_port_is_escaped_and_cut() -> None:
    result = _result("n")
    result.unsupported = ["\x1b[2J", "x" * 5_000]
    printed = summary(result_record(result), [])
    assert all(line.isprintable() for line in printed.splitlines())
    assert "\\x1b[2J" in printed
    assert max(map(len, printed.splitlines())) < 2_100
    assert "more characters)" in printed
