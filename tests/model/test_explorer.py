"""The explored spaces: exact counts, so that no change of the model goes unnoticed."""

from __future__ import annotations

from collections import Counter

import pytest

from groupcheck.model.explorer import Space, explore
from groupcheck.model.instance import Instance, real_spaces, virtual_spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Coordinator
from groupcheck.model.vocabulary import GroupState

PROFILE = PROFILES["2.7"]

# members, space -> states, labelled edges, depth
COUNTS = {
    (1, "membership"): (61, 682, 19),
    (1, "metadata"): (24, 288, 7),
    (1, "storing"): (126, 2114, 10),
    (1, "order"): (47, 836, 8),
    (2, "membership"): (401, 6589, 17),
    (2, "metadata"): (106, 2039, 9),
    (2, "storing"): (436, 9616, 12),
    (2, "order"): (211, 5574, 10),
    (3, "membership"): (1978, 47214, 18),
    (3, "metadata"): (404, 11576, 13),
    (3, "storing"): (1344, 40156, 15),
    (3, "order"): (807, 30084, 14),
}


def _instance(members: int, name: str) -> Instance:
    return {**virtual_spaces(PROFILE, members), **real_spaces(PROFILE, members)}[name]


@pytest.fixture(scope="module", params=COUNTS, ids=lambda key: f"{key[1]}-{key[0]}")
def counted(request: pytest.FixtureRequest) -> tuple[Space, tuple[int, int, int]]:
    return explore(_instance(*request.param)), COUNTS[request.param]


def test_a_space_has_exactly_these_states_and_labelled_edges(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, counts = counted
    assert (len(space.nodes), space.edge_count, space.depth) == counts


def test_every_edge_goes_along_an_arrow_of_kafkas_state_diagram(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, _ = counted
    preparing, completing = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
    empty, stable = GroupState.EMPTY, GroupState.STABLE
    # A step may pass through a state: the last of two members leaving at once ends the join phase.
    lawful = {
        (None, empty),
        (None, preparing),
        (empty, preparing),
        (preparing, completing),
        (preparing, empty),
        (completing, stable),
        (completing, preparing),
        (completing, empty),
        (stable, preparing),
        (stable, empty),
        (stable, completing),
    }
    seen = {
        (_state(space.nodes[source]), _state(space.nodes[edge.target]))
        for source, edges in enumerate(space.edges)
        for edge in edges
    }
    assert {(a, b) for a, b in seen if a != b} <= lawful


def test_the_generation_is_raised_by_the_end_of_a_join_phase_and_by_nothing_else(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, _ = counted
    for source, edges in enumerate(space.edges):
        for edge in edges:
            ends = Counter(edge.fired)["rebalance/complete"]
            ends += Counter(edge.fired)["rebalance/complete-empty"]
            before, after = _generation(space.nodes[source]), _generation(space.nodes[edge.target])
            if after > before:
                assert ends >= 1
            if before == 0 and ends:
                assert after == 1


def test_a_group_has_a_leader_among_its_members_exactly_while_it_has_members(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, _ = counted
    for node in space.nodes:
        if node.group is not None:
            members = [m.member_id for m in node.group.members]
            assert (node.group.leader in members) if members else node.group.leader is None


def test_only_the_leader_of_a_generation_is_told_its_members(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, _ = counted
    for edges in space.edges:
        for edge in edges:
            for response in edge.responses:
                listed = getattr(response.body, "members", ())
                leader = getattr(response.body, "leader", None)
                if leader and listed:
                    assert leader == getattr(response.body, "member_id", None)


def test_a_member_waiting_in_join_or_sync_has_no_session_timer_unless_it_is_new(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, _ = counted
    for node in space.nodes:
        for member in node.group.members if node.group else ():
            waits = member.awaiting_join is not None or member.awaiting_sync is not None
            if waits and not member.is_new:
                assert member.session_left_ms is None


def _state(node: Coordinator) -> GroupState | None:
    return node.group.state if node.group else None


def _generation(node: Coordinator) -> int:
    return node.group.generation_id if node.group else 0
