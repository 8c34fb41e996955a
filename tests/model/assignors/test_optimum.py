"""Whether an assignment is the best one, compared with the minimum-cost flow of networkx."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.assignors.group import Assignment, Group, Partition
from groupcheck.model.assignors.optimum import Moves, after, moved
from groupcheck.properties.assignors.cases import groups

# Balance comes before moves: no number of moves outweighs it.
WEIGHT = 1_000


def _best(group: Group, owners: Mapping[Partition, str]) -> tuple[int, int]:
    """The smallest sum of squares of the members' numbers of partitions, and the fewest moves."""
    flow: nx.DiGraph[object] = nx.DiGraph()
    assignable = group.assignable
    flow.add_node("source", demand=-len(assignable))
    flow.add_node("sink", demand=len(assignable))
    for partition in assignable:
        flow.add_edge("source", partition, capacity=1, weight=0)
        for member in group.members:
            if partition.topic in member.topics:
                cost = owners.get(partition, member.id) != member.id
                flow.add_edge(partition, member.id, capacity=1, weight=int(cost))
    for member in group.members:
        for number in range(len(assignable)):
            # The n-th partition of a member adds 2n - 1 to the sum of squares.
            step = (member.id, number)
            flow.add_edge(member.id, step, capacity=1, weight=WEIGHT * (2 * number + 1))
            flow.add_edge(step, "sink", capacity=1, weight=0)
    return divmod(int(nx.min_cost_flow_cost(flow)), WEIGHT)


def _cost(group: Group, assigned: Assignment, owners: Mapping[Partition, str]) -> tuple[int, int]:
    squares = sum(len(assigned.get(member.id, ())) ** 2 for member in group.members)
    return squares, moved(assigned, owners)


def _drawn(data: st.DataObject) -> tuple[Group, dict[Partition, str], Assignment]:
    group = data.draw(groups("sticky", racks=False))
    owners = group.owners(newest_only=False)
    assigned: dict[str, tuple[Partition, ...]] = {member.id: () for member in group.members}
    for partition in sorted(group.assignable):
        may = [member.id for member in group.members if partition.topic in member.topics]
        assigned[data.draw(st.sampled_from(may))] += (partition,)
    return group, owners, assigned


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_improving_an_assignment_chain_by_chain_ends_at_the_minimum_cost_flow(
    data: st.DataObject,
) -> None:
    group, owners, assigned = _drawn(data)
    while chain := Moves(group, assigned, owners).chain_towards_balance():
        improved = after(assigned, chain)
        assert _cost(group, improved, owners)[0] < _cost(group, assigned, owners)[0]
        assigned = improved
    while chain := Moves(group, assigned, owners).chain_that_keeps_more():
        improved = after(assigned, chain)
        assert _cost(group, improved, owners) < _cost(group, assigned, owners)
        assigned = improved
    assert _cost(group, assigned, owners) == _best(group, owners)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_single_move_towards_balance_is_one_that_makes_the_sum_of_squares_smaller(
    data: st.DataObject,
) -> None:
    group, owners, assigned = _drawn(data)
    before = _cost(group, assigned, owners)[0]
    for move in Moves(group, assigned, {}).towards_balance():
        assert _cost(group, after(assigned, [move]), owners)[0] < before
