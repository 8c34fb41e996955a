"""Tours try every reachable transition, despite divergences and the port's choices."""

from __future__ import annotations

from random import Random

import pytest

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.coverage.covered import references
from groupcheck.properties.coverage.kind import SHOWN, Kind
from groupcheck.properties.coverage.transition_coverage import MAX_DIVERGENCES, Coverage, Fork
from support.spaces import explored

LIMIT = 60  # steps of a test
OTHER_GENERATION = "heartbeat/other-generation"  # it leads to no other state


def _toured(
    space: StateSpace,
    wrong: frozenset[TransitionReference] = frozenset(),
    late: frozenset[TransitionReference] = frozenset(),
    *,
    has_time: bool = False,
) -> Coverage:
    """The coverage of a simulated port, which takes the first branch of each fork.

    Its answers to the `wrong` transitions, by their nodes and places, are not allowed; those to the
    `late` ones come after a timeout, so that its state is outside the instance. If there is time,
    what was given up is tried in the end.
    """
    coverage = Coverage(space, Random(0))

    def tried(node: int, fork: Fork) -> int | None:
        transition = fork.branches[0]
        if transition in wrong:
            coverage.diverge(node, fork)
            return None
        if transition in late:
            return None
        coverage.show(fork, [transition])
        return coverage.after(transition)

    def test() -> None:
        node: int | None = 0
        for left in reversed(range(LIMIT)):
            if node is None or (way := coverage.way(node, left)) is None:
                return
            fork = coverage.fork(way[0]) if way else coverage.take(node)
            if fork is None:
                return
            node = tried(node, fork)
            if way and node != coverage.after(way[0]):
                coverage.miss(way[0])

    while coverage.way(0, LIMIT - 1) is not None or (has_time and coverage.resume_given_up()):
        test()
    return coverage


def _applying(space: StateSpace, rule: str) -> list[TransitionReference]:
    """The transitions that apply a rule."""
    return [at for at in references(space) if rule in space.edges[at.node][at.edge].applied]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_diverges_in_some_states_is_tried_in_all_others(seed: int) -> None:
    space = explored("2.7", "membership")
    every = _applying(space, OTHER_GENERATION)
    wrong = frozenset(Random(seed).sample(every, 2 * MAX_DIVERGENCES))
    coverage = _toured(space, wrong)
    assert len(every) > 10 * len(wrong)
    assert coverage.diverged == wrong
    assert {transition for transition in every if transition not in wrong} <= coverage.shown


@pytest.mark.slow
def test_what_diverges_in_every_state_is_tried_in_a_few() -> None:
    space = explored("2.7", "membership")
    coverage = _toured(space, frozenset(_applying(space, OTHER_GENERATION)))
    counts = coverage.counts()
    assert len(coverage.diverged) == counts.diverged == 2 * MAX_DIVERGENCES
    assert counts.untried == len(_applying(space, OTHER_GENERATION)) - 2 * MAX_DIVERGENCES
    assert counts.covered + counts.not_observed + counts.diverged + counts.untried == counts.total


@pytest.mark.slow
def test_what_diverges_in_every_state_is_tried_in_all_if_there_is_time() -> None:
    space = explored("2.7", "membership")
    every = frozenset(_applying(space, OTHER_GENERATION))
    coverage = _toured(space, every, has_time=True)
    assert coverage.diverged == every
    assert coverage.counts().untried == 0


@pytest.mark.slow
@pytest.mark.parametrize("version", PROFILES)
def test_transitions_behind_a_branch_never_taken_count_as_not_observed(
    version: str,
) -> None:
    kinds = _toured(explored(version, "membership")).kinds()
    assert set(kinds) == {*SHOWN, Kind.NOT_CHOSEN}


def test_what_only_a_late_answer_leads_to_counts_as_not_observed() -> None:
    space = explored("2.7", "membership")
    late = frozenset(_applying(space, "sync/leader-completing"))
    coverage = _toured(space, late=late)
    kinds = dict(zip(references(space), coverage.kinds(), strict=True))
    assert {*kinds.values()} == {*SHOWN, Kind.NOT_CHOSEN}
    arrived = {0, *map(coverage.after, coverage.shown)}
    behind = [kind for transition, kind in kinds.items() if transition.node not in arrived]
    assert behind
    assert {*behind} == {Kind.NOT_CHOSEN}
    assert {kinds[transition] for transition in kinds if transition in late} == {Kind.NOT_CHOSEN}


def test_a_transition_that_was_allowed_leaves_paths_after_several_divergences_in_a_row() -> None:
    space = explored("2.7", "membership")
    coverage = Coverage(space, Random(0))
    wanted, *others = (f for f in coverage.forks(0) if coverage.after(f.branches[0]) != 0)
    for other in others:
        coverage.diverge(0, other)
    way: list[bool] = []
    for is_allowed in (True, *[False] * MAX_DIVERGENCES, True, False):
        if is_allowed:
            coverage.show(wanted, wanted.branches[:1])
        else:
            coverage.diverge(0, wanted)
        way.append(coverage.after(wanted.branches[0]) in coverage._ways[0])
    assert way == [*[True] * MAX_DIVERGENCES, False, True, True]
