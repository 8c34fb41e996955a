"""A bug has one finding id and one sequence, whatever seed or generator finds it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from groupcheck.model.classic.instances.instance import DELAY, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.vocabulary import DescribeGroupsRequest, Request
from groupcheck.properties.explored import Explored
from groupcheck.properties.findings.canonicalise import canonicalise
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.shrink import Trial, shrink, way_to
from groupcheck.properties.input_kinds import kind_of
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence, dump, well_formed
from groupcheck.properties.verify import Verification
from support.economy import slow_if
from support.faults import faulty_port
from support.spaces import together
from support.state_machine import found_by_the_state_machine

FAULTS = (
    "a heartbeat from an old generation is accepted",
    "the generation is not raised when the last member leaves",
    "a follower is given the member list",
)
SHORT = 6  # steps, also if no graph is known


@cache
def _explored() -> Explored:
    """The smallest instance: all three faults show in it."""
    return together({"metadata": virtual_time_instances(PROFILES["2.7"], 2)["metadata"]})


@cache
def _caused(fault: str, seed: int) -> tuple[Finding, ...]:
    source = PortSource("faulty", lambda: faulty_port(fault, seed))
    settings = Settings(examples=0, walks=0, seed=seed)
    return tuple(Verification(source, settings, given=_explored()).run().findings)


def _toured(fault: str, seed: int) -> list[Finding]:
    """The findings if no deviation explains them."""
    return [finding._replace(cause=None) for finding in _caused(fault, seed)]


def _text(finding: Finding) -> str:
    """The sequence of a finding, with the requests numbered in their order."""
    return dump(finding.sequence.renumbered())


def _trial(fault: str, key: tuple[str, ...]) -> Trial:
    def trial(sequences: list[Sequence]) -> Finding | None:
        found = (replay(sequence, faulty_port(fault)) for sequence in sequences)
        return next((finding for finding in found if finding and finding.key == key), None)

    return trial


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.slow
def test_tours_with_other_seeds_give_the_same_ids_and_sequences(fault: str) -> None:
    first, second = [[(f.finding_id, _text(f)) for f in _caused(fault, seed)] for seed in (0, 1)]
    assert first == second != []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_state_machine_gives_a_short_finding_with_the_sequence_of_the_tours(fault: str) -> None:
    """For findings of both: tours do not try a transition again whose answer is not allowed."""
    graphs = list(_explored().graphs.values())
    texts = {finding.key: _text(finding) for finding in _toured(fault, 0)}
    found = found_by_the_state_machine(fault, frozenset(texts))
    trial = _trial(fault, found.key)
    assert len(shrink(found, trial).sequence.steps) <= SHORT
    assert _text(canonicalise(shrink(found, trial, graphs), trial, graphs)) == texts[found.key]


@pytest.mark.slow
def test_a_finding_has_one_sequence_for_every_last_step() -> None:
    """Time or a joining member may end a join phase."""
    fault = "a follower is given the member list"
    graphs = list(_explored().graphs.values())
    original = {finding.reason: finding for finding in _toured(fault, 0)}["rebalance/complete"]
    trial = _trial(fault, original.key)
    shown = {
        kind_of(finding.sequence.steps[-1])[0]: finding
        for finding in _by_any_step(original, trial, graphs)
    }
    assert len(shown) > 1
    for finding in shown.values():
        assert _text(canonicalise(finding, trial, graphs)) == _text(original)


def _by_any_step(original: Finding, trial: Trial, graphs: list[StateGraph]) -> Iterator[Finding]:
    """The same finding by longer traces of one instance, one for each kind of last step."""
    space, kinds = graphs[0].space, set[object]()
    for node, edges in enumerate(space.edges):
        for edge in edges:
            if original.reason in edge.applied and kind_of(edge.given)[0] not in kinds:
                way = way_to(graphs[0], node, edge.given).sequence
                found = trial([way]) if well_formed(way.steps) else None
                if found is not None:
                    kinds.add(kind_of(edge.given)[0])
                    yield found


@pytest.mark.parametrize("fault", slow_if(lambda fault: fault != FAULTS[0], FAULTS))
@pytest.mark.parametrize("delay_ms", slow_if(lambda delay_ms: delay_ms != 1, [0, 1, 5_000]))
def test_a_finding_has_one_sequence_for_every_broker_setting(fault: str, delay_ms: int) -> None:
    """Without the initial delay the finding takes a step less."""
    graphs = list(_explored().graphs.values())
    shown = []
    for finding in _toured(fault, 0):
        trial = _trial(fault, finding.key)
        elsewhere = finding.sequence._replace(broker={DELAY: delay_ms})
        found = replay(elsewhere, faulty_port(fault))
        if found is None or found.key != finding.key:
            continue
        small = shrink(found, trial, graphs)
        shown.append(small.sequence.broker)
        assert _text(canonicalise(small, trial, graphs)) == _text(finding)
    assert shown or delay_ms != 1  # with another delay the same steps may show no finding


@pytest.mark.parametrize("fault", slow_if(lambda fault: fault != FAULTS[0], FAULTS))
def test_a_longer_finding_has_the_same_id_and_sequence(fault: str) -> None:
    graphs = list(_explored().graphs.values())
    for finding in _toured(fault, 0):
        trial = _trial(fault, finding.key)
        idle = (Request(900, 0, DescribeGroupsRequest(("group",))), Advance(0))
        steps = (*idle, *finding.sequence.steps)
        longer = replay(finding.sequence._replace(steps=steps), faulty_port(fault))
        assert longer is not None
        assert longer.finding_id == finding.finding_id
        assert _text(canonicalise(longer, trial, graphs)) == _text(finding)
