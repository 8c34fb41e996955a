"""The state machine of the group in the explored instances, compared with Kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from groupcheck.model.classic.exploring.group_graph import (
    STATE_CHANGES,
    Arrow,
    GroupGraph,
    arrows_of_step,
    group_graph_of,
    merged,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.vocabulary import GroupState
from support.economy import exhaustive_if
from support.spaces import every_instance

pytestmark = pytest.mark.untraced

PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
EMPTY, STABLE, DEAD = GroupState.EMPTY, GroupState.STABLE, GroupState.DEAD

# validPreviousStates as each version of GroupMetadata.scala has it, CompletingRebalance for
# AwaitingSync, and the state of a new group. Transitions to Dead are for unloading, for groups
# without offsets and, at first, for groups without members.
OLD: Final[Mapping[GroupState, set[GroupState]]] = {  # 0.10.0.1, line 88
    DEAD: {STABLE, PREPARING, COMPLETING},
    COMPLETING: {PREPARING},
    STABLE: {COMPLETING},
    PREPARING: {STABLE, COMPLETING},
}
# 0.10.2.2, line 108; 2.7.2, line 54 and on; 4.1, ClassicGroupState.java:112 and on
NEW: Final[Mapping[GroupState, set[GroupState]]] = {
    DEAD: {STABLE, PREPARING, COMPLETING, EMPTY, DEAD},
    COMPLETING: {PREPARING},
    STABLE: {COMPLETING},
    PREPARING: {STABLE, COMPLETING, EMPTY},
    EMPTY: {PREPARING},
}
KAFKAS = {"0.10.0": (OLD, STABLE), "0.10.2": (NEW, EMPTY), "2.7": (NEW, EMPTY), "4.1": (NEW, EMPTY)}
OF_VERSION = {
    "2.7": {"join/static-changed"},
    "4.1": {
        "join/static-changed",
        "leave/pending-member",
        "time/replaced-member-sync-expired",
        "time/syncs-expired",
    },
}  # and of no other


@pytest.fixture(scope="module", params=exhaustive_if(lambda name: name in {"2.7", "4.1"}, PROFILES))
def spaces(request: pytest.FixtureRequest) -> list[StateSpace]:
    return list(every_instance(request.param).values())


def _whole(spaces: list[StateSpace]) -> GroupGraph:
    return merged([group_graph_of(space) for space in spaces])


def test_the_arrows_are_those_of_kafkas_valid_previous_states(spaces: list[StateSpace]) -> None:
    profile = spaces[0].instance.profile.name
    previous, begins = KAFKAS[profile]
    arrows = {Arrow(before, after) for after, those in previous.items() for before in those}
    arrows = {arrow for arrow in arrows if arrow.target is not DEAD} | {Arrow("absent", begins)}
    whole = _whole(spaces)
    assert set(whole.expected) == arrows
    found = {arrow for arrow in whole.arrows if DEAD not in arrow and arrow.source != "absent"}
    assert found | {Arrow("absent", begins)} == arrows
    assert (whole.unexpected, whole.missing, whole.inconsistent) == ([], [], [])


def test_each_arrow_has_the_reasons_that_kafka_knows(spaces: list[StateSpace]) -> None:
    rules, arrows = spaces[0].instance.profile.rules, _whole(spaces).arrows
    assert set(arrows[Arrow(COMPLETING, STABLE)]) == {"sync/leader-completing"} | (
        {"log/release"} & set(rules)
    )
    joins = {"join/new-member", "join/pending-member"} & set(rules)
    if Arrow(EMPTY, PREPARING) in arrows:
        assert set(arrows[Arrow(EMPTY, PREPARING)]) == joins
    reasons = set(arrows[Arrow(STABLE, PREPARING)])
    loads = {"failover/too-large"} & set(rules)
    assert reasons - {"time/orphaned-timer-expired"} == joins | loads | OF_VERSION.get(
        spaces[0].instance.profile.name, set()
    ) | {"join/changed-stable", "join/leader-stable", "leave/member", "time/session-expired"}


def test_a_step_through_several_states_has_an_arrow_for_each(spaces: list[StateSpace]) -> None:
    profile = spaces[0].instance.profile
    end = DEAD if "rebalance/complete-dead" in profile.rules else EMPTY
    batch = "leave/together" if "leave/together" in profile.rules else "leave/batch"
    applied = (batch, "leave/member", "rebalance/prepare-from-stable")
    last = "rebalance/complete-dead" if end is DEAD else "rebalance/complete-empty"
    assert list(arrows_of_step(profile, STABLE, end, (*applied, last))) == [
        (Arrow(STABLE, PREPARING), "leave/member"),
        (Arrow(PREPARING, end), "leave/member"),
    ]
    assert any(
        edge.applied == (*applied, last)
        for space in spaces
        for edges in space.edges
        for edge in edges
    )


def test_a_transition_whose_rules_lead_to_another_state_is_named(spaces: list[StateSpace]) -> None:
    space = spaces[0]
    node, place = next(
        (node, place)
        for node, edges in enumerate(space.edges)
        for place, edge in enumerate(edges)
        if "rebalance/complete" in edge.applied and edge.target != node
    )
    torn = space.edges[node][place]._replace(applied=("time/pass",))
    edges = (*space.edges[node][:place], torn, *space.edges[node][place + 1 :])
    broken = space._replace(edges=(*space.edges[:node], edges, *space.edges[node + 1 :]))
    assert group_graph_of(broken).inconsistent == [(node, place)]


def test_a_group_is_unloaded_in_every_state_and_loaded_as_stable_or_empty(
    spaces: list[StateSpace],
) -> None:
    profile = spaces[0].instance.profile
    previous, begins = KAFKAS[profile.name]
    arrows = _whole(spaces).arrows
    dead = {arrow.source for arrow in arrows if arrow.target == DEAD}
    there = {arrow.target for arrow in arrows if arrow.source == "absent"}
    if "failover/crash" not in profile.rules:
        # Only a cleanup takes it.
        assert (dead, there) == ({EMPTY}, {begins})
        return
    assert dead == previous[DEAD] - {DEAD}
    assert there == {STABLE, begins}
    assert set(arrows[Arrow("absent", STABLE)]) >= {"failover/crash", "failover/load"}


def test_an_arrow_that_kafka_does_not_have_is_unexpected(
    spaces: list[StateSpace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STATE_CHANGES, "rebalance/complete", Arrow(PREPARING, STABLE))
    group_graph = group_graph_of(spaces[0])
    assert group_graph.unexpected == [Arrow(PREPARING, STABLE)]
    assert Arrow(PREPARING, COMPLETING) in group_graph.missing
    assert group_graph.inconsistent
