"""Bugs that Kafka had, seeded into copies of the coordinator, are found with short sequences."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import pytest

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph
from groupcheck.properties.explored import Explored, virtual
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.shrink import shrink
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence, dump, parse
from groupcheck.properties.verify import Verification
from support.economy import slow_if
from support.faults import ABSENT, KAFKA, MADE_UP, faulty_port, source
from support.shortest import shortest
from support.spaces import whole
from support.state_machine import found_by_the_state_machine

FACTS: Final = 35  # of Kafka's past bugs, as they are counted in docs/seeded-faults.md

FAULTS: Final = {**KAFKA, **MADE_UP}
QUICK: Final = {"KAFKA-8896", "KAFKA-10134"}
PAGE: Final = Path(__file__, "../../../docs/seeded-faults.md").resolve()
CASES: Final = slow_if(lambda fault: fault not in QUICK, FAULTS)


@cache
def _explored(profile: str, name: str) -> tuple[StateSpace, StateGraph]:
    space = whole(virtual(PROFILES[profile], Settings(profile))[name])
    return space, StateGraph(space)


def _verified(fault: str) -> Result:
    """The result of a default verification of that instance alone."""
    profile, name = FAULTS[fault].profile, FAULTS[fault].instance
    space, graph = _explored(profile, name)
    given = Explored({name: space}, {name: graph})
    return Verification(source(fault), Settings(profile, examples=0, walks=500), given=given).run()


def test_each_kafka_bug_is_seeded_or_has_a_reason_why_it_cannot_be_observed() -> None:
    assert len(KAFKA) + len(ABSENT) == FACTS


@pytest.mark.parametrize("fault", CASES)
def test_fault_has_a_shortest_finding_which_is_on_the_page_and_traces_that_reproduce_it(
    fault: str,
) -> None:
    """One test, since the verification takes most of the time."""
    first, *others = found = _verified(fault).findings
    shown = min(found, key=lambda finding: len(finding.sequence.steps))
    steps = len(shown.sequence.steps)
    space, _ = _explored(FAULTS[fault].profile, FAULTS[fault].instance)
    assert steps == shortest(space, faulty_port(fault), bound=steps)
    if fault in KAFKA:
        assert KAFKA[fault].row(shown.finding_id, steps, steps) in PAGE.read_text(encoding="utf-8")
    again = _found_again(fault, first)
    # Other findings may depend on the random choices of the copy.
    assert again == [first._replace(cause=None).key] * len(again)
    assert all(
        finding._replace(cause=None).key in _found_again(fault, finding) for finding in others
    )


def _found_again(fault: str, finding: Finding) -> list[tuple[str, ...] | None]:
    """The findings of its trace on copies with other random choices."""
    trace = parse(dump(finding.sequence), "trace")
    assert replay(trace._replace(deviations=()), BuiltinPort()) is None
    found = (replay(trace, faulty_port(fault, seed)) for seed in range(8))
    return [each and each.key for each in found]


@pytest.mark.parametrize("fault", MADE_UP)
@pytest.mark.slow
def test_state_machine_alone_finds_the_fault_with_a_short_sequence(fault: str) -> None:
    finding = found_by_the_state_machine(fault)

    def trial(sequences: list[Sequence]) -> Finding | None:
        found = (replay(sequence, faulty_port(fault)) for sequence in sequences)
        return next((each for each in found if each and each.key == finding.key), None)

    assert len(shrink(finding, trial).sequence.steps) <= 6


def test_the_page_has_the_reason_of_each_bug_that_cannot_be_observed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, why in ABSENT.items():
        assert f"| {name} | {why} |" in page
