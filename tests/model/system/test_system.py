"""Consumers and their coordinator together: the reachable states, promises, three scenarios."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Final

import pytest

from groupcheck.model.client import ASSIGNED, LOST, REVOKED
from groupcheck.model.engine.checking import violations
from groupcheck.model.engine.edits import ReplaceEffects, edited
from groupcheck.model.engine.exploration import StateSpace, Transition, explore
from groupcheck.model.engine.specification import Property
from groupcheck.model.member import specification as members
from groupcheck.model.system import network, specification
from groupcheck.model.system.promises import (
    ALL_OWNED,
    KEPT,
    ONE_OWNER,
    ONE_OWNER_AT_ANY_TIME,
    PROMISES,
)
from groupcheck.model.system.specification import WholeSystem
from groupcheck.model.system.state import System
from support.rebalances import SCENARIOS, Phases

# States, transitions and generations.
SMALL: Final = {
    WholeSystem("2.7", 1): (13, 16, 1),
    WholeSystem("4.1", 1): (13, 16, 1),
    WholeSystem("2.7", 2): (271, 626, 2),
    WholeSystem("4.1", 2): (303, 698, 2),
    WholeSystem("2.7", 2, cooperative=True): (647, 1_554, 3),
    WholeSystem("4.1", 2, cooperative=True): (647, 1_554, 3),
    WholeSystem("2.7", 2, closes=True): (553, 1_250, 4),
    WholeSystem("4.1", 2, closes=True): (585, 1_322, 4),
}
LARGE: Final = {
    WholeSystem("4.1", 2, commits=True): (3_997, 12_428, 2),
    WholeSystem("2.7", 2, commits=True): (3_965, 12_356, 2),
    WholeSystem("2.7", 2, faults=1): (7_322, 17_924, 4),
    WholeSystem("4.1", 2, faults=1): (8_020, 19_688, 4),
    WholeSystem("4.1", 2, faults=1, cooperative=True, generations=9): (22_929, 55_687, 6),
    WholeSystem("4.1", 2, cooperative=True, commits=True): (10_343, 34_342, 3),
}
INSTANCES: Final = [
    *SMALL.items(),
    *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in LARGE.items()),
]


@cache
def explored(instance: WholeSystem) -> StateSpace:
    return explore(instance)


def generations(space: StateSpace) -> int:
    found: int = max(node.group().generation_id for node in space.nodes)
    return found


@pytest.mark.parametrize(("instance", "counts"), INSTANCES, ids=str)
def test_the_promises_hold_in_every_reachable_state(
    instance: WholeSystem, counts: tuple[int, int, int]
) -> None:
    space = explored(instance)
    assert (len(space.nodes), space.transition_count, generations(space)) == counts
    assert generations(space) < instance.generations, "the limit has cut off states"
    assert violations(space, PROMISES) == []


@pytest.mark.exhaustive
def test_a_slow_consumer_may_own_what_another_one_owns_by_now() -> None:
    (found,) = violations(explored(WholeSystem("4.1", 2, faults=1)), [ONE_OWNER_AT_ANY_TIME])
    assert len(found.path) == 15


def test_without_faults_no_partition_has_two_owners_at_any_time() -> None:
    for instance in SMALL:
        assert violations(explored(instance), [ONE_OWNER_AT_ANY_TIME]) == []


def broken(instance: WholeSystem) -> list[Property]:
    """The promises that do not hold, when it is explored with the rules of this test."""
    return [each.property for each in violations(explore(instance), PROMISES)]


def test_a_leader_that_gives_a_partition_twice_breaks_the_promise_of_one_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def all_to_each(members: network.Owned, *, cooperative: bool) -> network.Owned:
        del cooperative
        return tuple((member_id, network.PARTITIONS) for member_id, _ in members)

    monkeypatch.setattr(network, "assignments", all_to_each)
    assert ONE_OWNER in broken(WholeSystem("4.1", 2))


@pytest.mark.exhaustive
def test_a_consumer_that_ignores_committed_offsets_breaks_the_promise_to_keep_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(specification, "first_positions", lambda _state: {})
    assert broken(WholeSystem("4.1", 2, commits=True, generations=3)) == [KEPT]


def test_a_consumer_that_does_not_rejoin_leaves_partitions_without_an_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edit = ReplaceEffects("heartbeat/rebalancing", ())
    monkeypatch.setitem(members.VERSIONS, "4.1", edited(members.VERSIONS["4.1"], [edit]))
    assert broken(WholeSystem("4.1", 2)) == [ALL_OWNED]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("version", ["2.7"])
def test_the_scenarios_of_three_consumers_are_in_the_graph(version: str, name: str) -> None:
    phases, calls = SCENARIOS[name]
    path = _scenario(explored(WholeSystem(version, 3)), phases, calls)
    assert path is not None
    assert [str(edge.given) for edge in path].count("consumer 3: the application subscribes") == 1


def _scenario(
    space: StateSpace, phases: Phases, calls: Sequence[tuple[int, int]]
) -> list[Transition] | None:
    """A shortest path through these states of the group, with so many calls of each consumer."""
    start = (0, 0, ((0, 0),) * len(calls))
    came: dict[object, list[Transition]] = {start: []}
    queue = deque([start])
    while queue:
        here = node, phase, counts = queue.popleft()
        if phase == len(phases) - 1 and list(counts) == list(calls):
            return came[here]
        for edge in space.edges[node]:
            group = space.nodes[edge.target].group()
            at = (group.state.value, group.generation_id)
            after = phase + (at != phases[phase])
            counted = _counted(counts, edge)
            there = (edge.target, after, counted)
            fits = after < len(phases) and at == phases[after]
            if fits and there not in came and all(map(_at_most, counted, calls)):
                came[there] = [*came[here], edge]
                queue.append(there)
    return None


def _at_most(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]


def _counted(counts: tuple[tuple[int, int], ...], edge: Transition) -> tuple[tuple[int, int], ...]:
    events = edge.responses[0] if edge.responses else ()
    assigned = sum(event.name == ASSIGNED for event in events)
    revoked = sum(event.name in (REVOKED, LOST) for event in events)
    found = list(counts)
    if assigned or revoked:
        before = found[edge.given.consumer]
        found[edge.given.consumer] = (before[0] + assigned, before[1] + revoked)
    return tuple(found)


def _walk(instance: WholeSystem, random: Random, steps: int) -> Iterator[System]:
    """The states of a random walk."""
    state = instance.initial
    for _ in range(steps):
        yield state
        outcomes = [
            o for given in instance.inputs(state) for o in instance.successors(state, given)
        ]
        if not outcomes:
            return
        state = random.choice(outcomes)[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("cooperative", [False, True])
@pytest.mark.parametrize("version", ["2.7", "4.1"])
def test_the_invariants_hold_in_random_walks_of_five_consumers_with_faults(
    version: str, *, cooperative: bool
) -> None:
    random = Random(f"{version} {cooperative}")
    instance = WholeSystem(
        version, 5, cooperative, faults=4, generations=1_000, closes=True, commits=True
    )
    for _ in range(5):
        for state in _walk(instance, random, 150):
            assert ONE_OWNER.holds(state)
            assert KEPT.holds(state)
