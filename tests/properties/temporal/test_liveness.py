"""Liveness: the expected violations of each version, and faults that violate each property."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance, instances, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.session import restart_session
from groupcheck.model.classic.state import JoinTimer, Member, Pending
from groupcheck.model.classic.step import Profile, Step
from groupcheck.model.engine.edits import AddRule, DropEffect, DropGuard, DropRule, ReplaceEffects
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.lasso import MarkedStep
from groupcheck.model.engine.rules import Effect
from groupcheck.model.vocabulary import GroupState, Request
from groupcheck.properties.temporal import liveness
from groupcheck.properties.temporal.liveness import TICK, marks, shortest_cycle
from groupcheck.properties.temporal.property import Violation
from support.economy import exhaustive_if
from support.spaces import explored_once, whole

OLD, NEW = PROFILES["0.10.2"], PROFILES["2.7"]
HOLDING = frozenset({Feature.TIME, Feature.HELD_APPENDS})
NODE_COUNT = 5
NODES = st.integers(0, NODE_COUNT - 1)


def explored(profile: Profile, members: int) -> StateSpace:
    return explored_once(virtual_time_instances(profile, members)["membership"])


def by_name(space: StateSpace) -> dict[str, Violation]:
    return {found.property.name: found for found in liveness.violations(space)}


def sizes(space: StateSpace) -> dict[str, tuple[int, int]]:
    """The lengths of the path and the cycle of each violation."""
    return {prop: (len(each.path), len(each.cycle)) for prop, each in by_name(space).items()}


def inputs_of(space: StateSpace, path: tuple[TransitionReference, ...]) -> list[str]:
    """The inputs along a path: the API, or the type."""
    givens = [space.edges[transition.node][transition.edge].given for transition in path]
    return [given.api if isinstance(given, Request) else type(given).__name__ for given in givens]


LEAVE_JOINS_PARKED = DropEffect(
    "rebalance/complete", "answer every parked JoinGroup and restart every session timer"
)


@pytest.fixture(scope="module")
def newer() -> StateSpace:
    return explored(NEW, 2)


@pytest.mark.parametrize("members", exhaustive_if(lambda members: members > 2, [1, 2, 3]))
@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
@pytest.mark.untraced
def test_every_version_violates_only_the_properties_that_it_is_known_to_violate(
    profile: Profile, members: int
) -> None:
    found = liveness.violations(whole(virtual_time_instances(profile, members)["membership"]))
    expected = {
        "0.10.0": {"preparing-ends", "join-answered", "silent-members-removed"},
        "0.10.2": {"preparing-ends", "join-answered", "silent-members-removed"},
        "2.7": {"completing-ends"}
        | ({"sync-answered", "silent-members-removed"} if members > 1 else set()),
        "4.1": set(),
    }
    assert {each.property.name for each in found} == expected[profile.name]
    assert all(each.known for each in found)


def test_in_2_7_completing_rebalance_lasts_as_long_as_the_leader_heartbeats(
    newer: StateSpace,
) -> None:
    found = by_name(newer)["completing-ends"]
    assert found.known is not None
    assert "KAFKA-12890" in found.known.cited("2.7")
    assert inputs_of(newer, found.path) == ["JoinGroup", "Advance"]
    assert inputs_of(newer, found.cycle) == ["Advance", "Heartbeat"]
    for transition in found.cycle:
        group = newer.nodes[transition.node].group
        assert group is not None
        assert group.state is GroupState.COMPLETING_REBALANCE


def test_in_2_7_a_followers_sync_waits_as_long_as_the_leader_heartbeats(newer: StateSpace) -> None:
    found = by_name(newer)["sync-answered"]
    assert inputs_of(newer, found.path) == [
        "JoinGroup",
        "JoinGroup",
        "Advance",
        "Advance",
        "SyncGroup",
    ]
    assert inputs_of(newer, found.cycle) == ["Advance", "Heartbeat"]


def test_in_0_10_2_a_first_member_without_protocols_sticks_for_good() -> None:
    space = explored(OLD, 2)
    found = by_name(space)
    for prop in ("preparing-ends", "join-answered", "silent-members-removed"):
        assert found[prop].known is not None
        assert inputs_of(space, found[prop].path) == ["JoinGroup"]
        assert inputs_of(space, found[prop].cycle) == ["Advance"]


def test_a_lasso_is_a_path_that_ends_where_its_cycle_begins(
    newer: StateSpace,
) -> None:
    for found in liveness.violations(newer):
        node = 0
        for transition in (*found.path, *found.cycle):
            assert transition.node == node
            node = newer.edges[transition.node][transition.edge].target
        assert node == found.cycle[0].node


@pytest.mark.parametrize(
    ("prop", "field"), [("join-answered", "awaiting_join"), ("sync-answered", "awaiting_sync")]
)
def test_a_request_is_followed_under_the_name_that_its_member_has_in_each_node(
    newer: StateSpace, prop: str, field: str
) -> None:
    pending = {each.name: steps for each, steps in liveness._pending_steps(newer).items()}
    assert pending[prop]
    for node, who in (end for each in pending[prop] for end in each.step[:2]):
        group = newer.nodes[node].group
        assert group is not None
        assert getattr(group.member(who), field) is not None


def test_2_7_violates_nothing_if_no_heartbeat_counts_in_completing_rebalance() -> None:
    completing = OLD.rules["heartbeat/completing"]
    profile = NEW.edited(AddRule(completing, "heartbeat/other-generation"))
    assert not liveness.violations(explored(profile, 2))


def test_4_1_violates_nothing_only_because_there_is_a_timer_for_sync_groups() -> None:
    unlimited = PROFILES["4.1"].edited(
        DropEffect("rebalance/complete", "start the sync timer (KAFKA-12890)")
    )
    found = by_name(explored(unlimited, 2))
    assert found.keys() == {"completing-ends", "sync-answered", "silent-members-removed"}
    assert not any(each.known for each in found.values())


def test_in_4_1_an_absent_static_member_extends_a_join_phase_or_is_kept_by_others() -> None:
    space = explored_once(instances(PROFILES["4.1"], 2)["static"])
    found = by_name(space)
    assert found.keys() == {"preparing-ends", "silent-members-removed"}
    assert all(each.known for each in found.values())
    cycles = {prop: inputs_of(space, each.cycle) for prop, each in found.items()}
    assert cycles["preparing-ends"] == ["Advance", "Heartbeat"]
    assert cycles["silent-members-removed"] == ["Advance", "LeaveGroup", "JoinGroup"]


def test_the_expected_violations_of_2_7_are_unexpected_in_0_10_2() -> None:
    like_2_7 = (
        DropRule("heartbeat/completing"),
        DropGuard("heartbeat/alive", "the group is Stable"),
    )
    found = by_name(explored(OLD.edited(*like_2_7), 2))
    for prop, size in {
        "completing-ends": (1, 2),
        "sync-answered": (4, 2),
        "silent-members-removed": (4, 2),
    }.items():
        assert found[prop].known is None
        assert (len(found[prop].path), len(found[prop].cycle)) == size


def test_a_join_timer_that_always_restarts_violates_preparing_ends() -> None:
    @partial(Effect, "restart the timer")
    def restart(step: Step, _subject: object) -> None:
        timer = cast("JoinTimer", step.existing.join_timer)
        step.group = step.existing._replace(join_timer=timer._replace(left_ms=150_000))

    rules = ("time/rebalance-timeout", "time/initial-delay-extended", "time/initial-delay-over")
    profile = NEW.edited(*(ReplaceEffects(rule, (restart,)) for rule in rules))
    assert sizes(explored(profile, 1))["preparing-ends"] == (2, 2)


def test_a_join_that_is_not_answered_at_the_end_of_the_join_phase_violates_join_answered() -> None:
    assert sizes(explored(OLD.edited(LEAVE_JOINS_PARKED), 1))["join-answered"] == (1, 1)


def test_a_sync_that_is_not_answered_with_the_assignments_violates_sync_answered() -> None:
    silent = DropEffect(
        "log/assignments-stored", "answer every parked SyncGroup with its assignment"
    )
    found = by_name(explored(NEW.edited(silent), 1))["sync-answered"]
    assert found.known is None
    assert (len(found.path), len(found.cycle)) == (3, 1)


def test_a_session_timer_that_restarts_when_it_fires_violates_silent_members_removed() -> None:
    @partial(Effect, "restart the session timer")
    def restart(step: Step, member: Member) -> None:
        restart_session(step, cast("Member", step.existing.member(member.member_id)))

    rules = ("time/new-member-expired", "time/session-expired")
    profile = NEW.edited(*(ReplaceEffects(rule, (restart,)) for rule in rules))
    assert sizes(explored(profile, 1))["silent-members-removed"] == (2, 2)


def test_a_pending_member_id_that_is_never_dropped_violates_silent_members_removed() -> None:
    @partial(Effect, "restart the timer of the pending member id")
    def restart(step: Step, pending: Pending) -> None:
        step.group = step.existing._replace(pending=(pending._replace(left_ms=150_000),))

    profile = NEW.edited(ReplaceEffects("time/pending-expired", (restart,)))
    assert sizes(explored(profile, 1)) == {
        "completing-ends": (2, 2),
        "silent-members-removed": (2, 1),
    }


def test_liveness_is_not_checked_without_timers() -> None:
    assert not liveness.violations(explored_once(virtual_time_instances(NEW, 1)["metadata"]))


@pytest.mark.parametrize("members", exhaustive_if(lambda members: members > 1, [1, 2]))
def test_held_assignments_arrive_at_the_release(members: int) -> None:
    found = liveness.violations(explored_once(Instance(NEW, members, HOLDING)))
    assert all(each.known for each in found)
    assert [each.property.name for each in found] == [
        "completing-ends",
        *(["sync-answered", "silent-members-removed"] if members > 1 else []),
    ]


def test_assignments_that_are_lost_at_the_release_violate_sync_answered() -> None:
    space = explored_once(Instance(NEW.edited(DropRule("log/assignments-stored")), 1, HOLDING))
    found = by_name(space)["sync-answered"]
    assert found.known is None
    assert (len(found.path), len(found.cycle)) == (3, 1)
    assert not any(space.nodes[transition.node].holding for transition in found.cycle)


def marked(steps: list[tuple[int, int, bool]], held: frozenset[int]) -> list[MarkedStep[int]]:
    """Steps of a graph, by their ends and whether time passes; appends are held in some nodes."""
    return [
        MarkedStep(here, there, marks(tick=tick, holding=here in held))
        for here, there, tick in steps
    ]


def test_a_cycle_over_a_tick_while_appends_are_held_goes_on_to_their_release() -> None:
    # Held at 1 and 2, where time passes; free at 3, which is on the longer path back.
    steps, held = [(0, 1, False), (1, 2, True), (2, 1, False)], frozenset({1, 2})
    assert shortest_cycle(marked(steps, held), lambda node: node) is None
    longer = [(2, 3, False), (3, 1, False)]
    cycle = shortest_cycle(marked(steps + longer, held), lambda node: node)
    assert cycle == marked([(1, 2, True), *longer], held)


@given(st.lists(st.tuples(NODES, NODES, st.booleans())), st.frozensets(NODES))
def test_there_is_a_cycle_exactly_if_an_obligation_can_stay_pending_forever(
    steps: list[tuple[int, int, bool]], held: frozenset[int]
) -> None:
    """By definition: a closed walk over a tick and a node without held appends."""
    cycle = shortest_cycle(marked(steps, held), lambda node: node)
    assert (cycle is not None) == _goes_on(set(steps), held)
    if cycle is not None:
        assert set(cycle) <= set(marked(steps, held))
        assert any(TICK in step.marks for step in cycle)
        assert any(step.here not in held for step in cycle)
        assert all(step.there == after.here for step, after in pairwise([*cycle, cycle[0]]))
        assert cycle[0].here == min(step.here for step in cycle)


def _goes_on(steps: set[tuple[int, int, bool]], held: frozenset[int]) -> bool:
    """Whether a closed walk from a node has a tick and a free node."""
    for begin in range(NODE_COUNT):
        ends = {(begin, False, begin not in held)}
        while True:
            more = ends | {
                (there, ticked or tick, free or there not in held)
                for here, there, tick in steps
                for at, ticked, free in ends
                if at == here
            }
            if more == ends:
                break
            ends = more
        if (begin, True, True) in ends:
            return True
    return False
