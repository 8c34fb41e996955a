"""Faults put into a copy of the built-in coordinator are found soon and shown in few steps."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from functools import cache

import pytest

from groupcheck.model.explorer import Space, explore
from groupcheck.model.graph import Hop, StateGraph
from groupcheck.model.instance import virtual_spaces
from groupcheck.model.path import realise
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance
from groupcheck.model.vocabulary import Request
from groupcheck.properties.finding import Finding
from groupcheck.properties.machine import lockstep
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence, dump, parse
from groupcheck.properties.shrink import merged, shrink
from groupcheck.properties.verify import Verification
from support.faulty import FAULTS, faulty_port

PROFILE = PROFILES["2.7"]
LIMIT_S = 10 if sys.gettrace() is None else 40  # coverage makes everything slower


@pytest.fixture(scope="module")
def graphs() -> list[StateGraph]:
    return [StateGraph(explore(instance)) for instance in virtual_spaces(PROFILE, 2).values()]


@cache
def _verified(fault: str) -> tuple[Result, float]:
    """The result, and the seconds of work it took, whatever else the machine does meanwhile."""
    source = PortSource("faulty", lambda: faulty_port(fault))
    started = time.process_time()
    result = Verification(source, Settings()).run()
    return result, time.process_time() - started


def _shortest_that_exists(graph: StateGraph, fault: str) -> int:
    """The length of the shortest sequence of a space that the faulty copy answers unlawfully.

    Every labelled edge is tried after a shortest way to its node, the nearest first; times that
    pass one after the other count as one step. That proves the length: the copy shows its inner
    state, which is compared after every step, so that two lawful ways to a node leave it in the
    same state.
    """
    space, shortest = graph.space, 1_000
    for length, hops in _by_length(space):
        if length >= shortest:
            return shortest
        state, steps = realise(space, hops)
        for edge in space.edges[space.numbers[space.frame(state).node]]:
            given = edge.given
            if isinstance(given, Request):
                given = space.frame(state).restore(given, len(steps) + 1)
            sequence = merged(Sequence("2.7", space.instance.broker, (*steps, given)))
            if replay(sequence, faulty_port(fault)) is not None:
                assert length <= len(sequence.steps) <= length + 1
                shortest = min(shortest, len(sequence.steps))
    pytest.fail("no labelled edge shows the fault")


def _by_length(space: Space) -> Iterator[tuple[int, list[Hop]]]:
    """A shortest way to each node, once ending in time that passes and once not."""
    queue: deque[tuple[int, int, bool, list[Hop]]] = deque([(0, 0, False, [])])
    done: set[tuple[int, bool]] = set()
    while queue:
        length, node, waited, hops = queue.popleft()
        if (node, waited) in done:
            continue
        done.add((node, waited))
        yield length, hops
        for place, edge in enumerate(space.edges[node]):
            way = [*hops, Hop(node, place)]
            if not isinstance(edge.given, Advance):
                queue.append((length + 1, edge.target, False, way))
            elif waited:
                queue.appendleft((length, edge.target, True, way))
            else:
                queue.append((length + 1, edge.target, True, way))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_found_in_seconds_and_shown_by_the_shortest_sequence_there_is(
    fault: str, graphs: list[StateGraph]
) -> None:
    result, seconds = _verified(fault)
    assert result.findings
    assert seconds < LIMIT_S
    shortest = min(_shortest_that_exists(graph, fault) for graph in graphs)
    assert len(result.findings[0].sequence.steps) == shortest


@pytest.mark.parametrize("fault", FAULTS)
def test_the_trace_of_a_finding_finds_it_again_and_no_lawful_port_shows_it(fault: str) -> None:
    for finding in _verified(fault)[0].findings:
        trace = parse(dump(finding.sequence), "trace")
        for seed in range(16):  # of what the copy draws where Kafka leaves something open
            found = replay(trace, faulty_port(fault, seed))
            assert found is not None
            assert found.key == finding.key
        assert replay(trace, BuiltinPort()) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_the_state_machine_finds_the_fault_by_itself_and_it_is_small_without_a_graph(
    fault: str,
) -> None:
    def trial(sequences: list[Sequence], key: tuple[str, ...]) -> Finding | None:
        found = (replay(sequence, faulty_port(fault)) for sequence in sequences)
        return next((finding for finding in found if finding and finding.key == key), None)

    tests: list[int] = []
    finding = lockstep(
        faulty_port(fault),
        PROFILE,
        examples=500,
        steps=30,
        seed_number=1,
        known=set(),
        tally=tests.append,
    )
    assert finding is not None
    assert len(shrink(finding, trial).sequence.steps) <= 6
