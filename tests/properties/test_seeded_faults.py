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
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import dump, parse
from groupcheck.properties.verify import Verification
from support.economy import exhaustive_if
from support.faults import ABSENT, KAFKA, MADE_UP, faulty_port, source
from support.shortest import shortest
from support.spaces import whole

FACTS: Final = 35  # of Kafka's past bugs, as they are counted in docs/seeded-faults.md

FAULTS: Final = {**KAFKA, **MADE_UP}
QUICK: Final = {"KAFKA-8896", "KAFKA-10134"}
PAGE: Final = Path(__file__, "../../../docs/seeded-faults.md").resolve()
# To verify one of them to the end takes half a minute or more.
LONG: Final = (
    *("KAFKA-3470", "KAFKA-4704", "MINOR #4788", "KAFKA-5600", "KAFKA-7610"),
    *("KAFKA-8220", "KAFKA-10284", "KAFKA-10401", "KAFKA-13636"),
)
CASES: Final = exhaustive_if(
    lambda fault: fault in LONG, FAULTS, slow=lambda fault: fault not in QUICK
)


@cache
def _explored(profile: str, name: str) -> tuple[StateSpace, StateGraph]:
    space = whole(virtual(PROFILES[profile], Settings(profile))[name])
    return space, StateGraph(space)


def _verified(fault: str, walks: int = 500, most: int = Settings().max_findings) -> Result:
    """The result of a verification of that instance alone, by default to the end."""
    profile, name = FAULTS[fault].profile, FAULTS[fault].instance
    space, graph = _explored(profile, name)
    given = Explored({name: space}, {name: graph})
    how = Settings(profile, examples=0, walks=walks, max_findings=most)
    return Verification(source(fault), how, given=given).run()


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
    _reproduced_by_every_copy(fault, first)
    # Other findings may depend on the random choices of the copy.
    assert all(
        finding._replace(cause=None).key in _found_again(fault, finding) for finding in others
    )


@pytest.mark.parametrize("fault", LONG)
@pytest.mark.slow
def test_the_first_finding_of_a_fault_has_a_trace_that_reproduces_it(fault: str) -> None:
    _reproduced_by_every_copy(fault, _verified(fault, walks=0, most=1).findings[0])


def _reproduced_by_every_copy(fault: str, finding: Finding) -> None:
    again = _found_again(fault, finding)
    assert again == [finding._replace(cause=None).key] * len(again)


def _found_again(fault: str, finding: Finding) -> list[tuple[str, ...] | None]:
    """The findings of its trace on copies with other random choices."""
    trace = parse(dump(finding.sequence), "trace")
    assert replay(trace._replace(deviations=()), BuiltinPort()) is None
    found = (replay(trace, faulty_port(fault, seed)) for seed in range(8))
    return [each and each.key for each in found]


def test_the_page_has_the_reason_of_each_bug_that_cannot_be_observed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, why in ABSENT.items():
        assert f"| {name} | {why} |" in page
