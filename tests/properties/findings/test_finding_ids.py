"""The same bug found twice is one finding: by whatever seed, and by whatever came upon it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from groupcheck.model.exploring.graph import StateGraph
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import DELAY
from groupcheck.model.state import Advance
from groupcheck.model.vocabulary import DescribeGroupsRequest, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.settle import _sort, settled
from groupcheck.properties.findings.shrink import Trial, shrink, way_to
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence, well_formed
from groupcheck.properties.verify import Explored, Verification, virtual
from support.faults import faulty_port
from support.spaces import together
from support.state_machine import found_by_the_state_machine

FAULTS = (
    "a heartbeat from an old generation is accepted",
    "the generation is not raised when the last member leaves",
    "a follower is given the member list",
)


@cache
def _explored() -> Explored:
    return together(virtual(PROFILES["2.7"], Settings()))


@cache
def _toured(fault: str, seed: int) -> tuple[Finding, ...]:
    source = PortSource("faulty", lambda: faulty_port(fault, seed))
    settings = Settings(examples=0, walks=0, seed=seed)
    return tuple(Verification(source, settings, given=_explored()).run().findings)


def _trial(fault: str) -> Trial:
    def trial(sequences: list[Sequence], key: tuple[str, ...]) -> Finding | None:
        found = (replay(sequence, faulty_port(fault)) for sequence in sequences)
        return next((finding for finding in found if finding and finding.key == key), None)

    return trial


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.slow
def test_tours_by_other_seeds_come_to_the_same_ids(fault: str) -> None:
    first, second = [[f.finding_id for f in _toured(fault, seed)] for seed in (0, 1)]
    assert first == second != []


@pytest.mark.parametrize("fault", FAULTS)
def test_what_the_state_machine_finds_has_the_id_that_the_tours_gave_it(fault: str) -> None:
    """Of what both find: tours do not try on what is answered unlawfully in the same way."""
    trial, graphs = _trial(fault), list(_explored().graphs.values())
    ids = {finding.key: finding.finding_id for finding in _toured(fault, 0)}
    found = found_by_the_state_machine(fault, frozenset(ids))
    assert settled(shrink(found, trial, graphs), trial, graphs).finding_id == ids[found.key]


def test_a_finding_settles_to_one_id_whatever_step_it_was_shown_by() -> None:
    """A join phase is ended by time, or by a member that joins: chance decides which was met."""
    fault = "a follower is given the member list"
    trial, graphs = _trial(fault), list(_explored().graphs.values())
    told = {finding.reason: finding for finding in _toured(fault, 0)}["rebalance/complete"]
    shown = {
        _sort(finding.sequence.steps[-1]): finding for finding in _by_any_step(told, trial, graphs)
    }
    assert len(shown) > 1
    for finding in shown.values():
        assert settled(finding, trial, graphs).finding_id == told.finding_id


def _by_any_step(told: Finding, trial: Trial, graphs: list[StateGraph]) -> Iterator[Finding]:
    """The same finding by ways of one space that are longer, one for each sort of last step."""
    space, sorts = graphs[0].space, set[object]()
    for node, edges in enumerate(space.edges):
        for edge in edges:
            if told.reason in edge.fired and _sort(edge.given) not in sorts:
                way = way_to(graphs[0], node, edge.given).sequence
                found = trial([way], told.key) if well_formed(way.steps) else None
                if found is not None:
                    sorts.add(_sort(edge.given))
                    yield found


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("delay_ms", [0, 1, 5_000])
def test_what_is_found_under_other_settings_of_the_broker_has_the_id_it_has_under_these(
    fault: str, delay_ms: int
) -> None:
    """With no delay a member is one at once: the same is shown in a step less, and is the same."""
    trial, graphs = _trial(fault), list(_explored().graphs.values())
    shown = []
    for finding in _toured(fault, 0):
        elsewhere = finding.sequence._replace(broker={DELAY: delay_ms})
        found = replay(elsewhere, faulty_port(fault))
        if found is None or found.key != finding.key:
            continue
        small = shrink(found, trial, graphs)
        shown.append(small.sequence.broker)
        assert settled(small, trial, graphs).finding_id == finding.finding_id
    assert shown


@pytest.mark.parametrize("fault", FAULTS)
def test_a_finding_made_longer_settles_to_what_it_was(fault: str) -> None:
    """As it would be, had it been found on a long way round and not been shrunk at all."""
    trial, graphs = _trial(fault), list(_explored().graphs.values())
    for finding in _toured(fault, 0):
        idle = (Request(900, 0, DescribeGroupsRequest(("group",))), Advance(0))
        steps = (*idle, *finding.sequence.steps)
        longer = replay(finding.sequence._replace(steps=steps), faulty_port(fault))
        assert longer is not None
        assert settled(longer, trial, graphs).finding_id == finding.finding_id
