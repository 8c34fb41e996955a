"""The group's state machine as the explored spaces have it, held against Kafka's."""

from __future__ import annotations

import pytest

from groupcheck.model.explorer import Space, explore
from groupcheck.model.instance import real_spaces, virtual_spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.projection import CREATED, LAWFUL, MAKES, Arrow, merged, passed, project
from groupcheck.model.vocabulary import GroupState

PROFILE = PROFILES["2.7"]
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE

# GroupMetadata.scala:54, 71, 89, 123, as Kafka writes it: the states before each state.
VALID_PREVIOUS_STATES = {
    PREPARING: {STABLE, COMPLETING, EMPTY},
    COMPLETING: {PREPARING},
    STABLE: {COMPLETING},
    EMPTY: {PREPARING},
}


@pytest.fixture(scope="module")
def spaces() -> list[Space]:
    instances = {**virtual_spaces(PROFILE, 2), **real_spaces(PROFILE, 2)}
    return [explore(instance) for instance in instances.values()]


def test_the_arrows_are_those_of_kafkas_valid_previous_states_no_more_and_no_less(
    spaces: list[Space],
) -> None:
    kafkas = {Arrow(b, after) for after, before in VALID_PREVIOUS_STATES.items() for b in before}
    assert set(LAWFUL) == kafkas | {CREATED}
    whole = merged([project(space) for space in spaces])
    assert set(whole.arrows) == set(LAWFUL)
    assert (whole.unlawful, whole.missing, whole.torn) == ([], [], [])


def test_each_arrow_has_the_reasons_that_kafka_knows(spaces: list[Space]) -> None:
    arrows = merged([project(space) for space in spaces]).arrows
    assert set(arrows[Arrow(COMPLETING, STABLE)]) == {"sync/leader-completing", "log/release"}
    assert set(arrows[Arrow(EMPTY, PREPARING)]) == {"join/new-member", "join/pending-member"}
    assert set(arrows[Arrow(STABLE, PREPARING)]) == {
        "join/changed-stable",
        "join/leader-stable",
        "join/new-member",
        "join/pending-member",
        "leave/member",
        "time/session-expired",
    }


def test_a_step_that_passes_through_a_state_is_seen_to_do_so(spaces: list[Space]) -> None:
    ways = {
        tuple(arrow for arrow, _ in passed(STABLE, EMPTY, edge))
        for space in spaces
        for node, edges in zip(space.nodes, space.edges, strict=True)
        for edge in edges
        if node.group and node.group.state is STABLE
        for after in [space.nodes[edge.target].group]
        if after and after.state is EMPTY
    }
    assert ways == {(Arrow(STABLE, PREPARING), Arrow(PREPARING, EMPTY))}


def test_an_edge_whose_rules_lead_elsewhere_than_it_does_is_named(spaces: list[Space]) -> None:
    space = spaces[0]
    node, place = next(
        (node, place)
        for node, edges in enumerate(space.edges)
        for place, edge in enumerate(edges)
        if "rebalance/complete" in edge.fired
    )
    torn = space.edges[node][place]._replace(fired=("time/pass",))
    edges = (*space.edges[node][:place], torn, *space.edges[node][place + 1 :])
    broken = space._replace(edges=(*space.edges[:node], edges, *space.edges[node + 1 :]))
    assert project(broken).torn == [(node, place)]


def test_an_arrow_that_kafka_does_not_have_is_unlawful(
    spaces: list[Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MAKES, "rebalance/complete", Arrow(PREPARING, STABLE))
    projection = project(spaces[0])
    assert projection.unlawful == [Arrow(PREPARING, STABLE)]
    assert Arrow(PREPARING, COMPLETING) in projection.missing
    assert projection.torn
