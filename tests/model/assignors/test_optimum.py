"""Whether an assignment is the best one, compared with the minimum-cost flow of networkx."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.implementation.assignors import sticky
from groupcheck.implementation.assignors.member import Member
from groupcheck.model.assignors.functions import racks_matter
from groupcheck.model.assignors.group import Assignment, Group, Partition
from groupcheck.model.assignors.optimum import (
    Costs,
    Moves,
    after,
    cost,
    one_before_another,
    owners_cost,
    racks_cost,
)
from groupcheck.properties.assignors.cases import groups

# Balance comes before costs: no costs outweigh it.
WEIGHT = 1_000_000

Order = Callable[[Group, Mapping[Partition, str]], Costs]
ORDERS: Mapping[str, Order] = {
    "moves": lambda _, owners: owners_cost(owners),
    "racks, then moves": lambda group, owners: one_before_another(
        racks_cost(group), owners_cost(owners), group
    ),
    "moves, then racks": lambda group, owners: one_before_another(
        owners_cost(owners), racks_cost(group), group
    ),
}


def _best(group: Group, costs: Costs) -> tuple[int, int]:
    """The smallest sum of squares of the members' numbers of partitions, and the least cost."""
    flow: nx.DiGraph[object] = nx.DiGraph()
    assignable = group.assignable
    flow.add_node("source", demand=-len(assignable))
    flow.add_node("sink", demand=len(assignable))
    for partition in assignable:
        flow.add_edge("source", partition, capacity=1, weight=0)
        for member in group.members:
            if partition.topic in member.topics:
                weight = costs(partition, member.id)
                flow.add_edge(partition, member.id, capacity=1, weight=weight)
    for member in group.members:
        for number in range(len(assignable)):
            # The n-th partition of a member adds 2n - 1 to the sum of squares.
            step = (member.id, number)
            flow.add_edge(member.id, step, capacity=1, weight=WEIGHT * (2 * number + 1))
            flow.add_edge(step, "sink", capacity=1, weight=0)
    return divmod(int(nx.min_cost_flow_cost(flow)), WEIGHT)


def _value(group: Group, assigned: Assignment, costs: Costs) -> tuple[int, int]:
    squares = sum(len(assigned.get(member.id, ())) ** 2 for member in group.members)
    return squares, cost(assigned, costs)


def _any_assignment(data: st.DataObject, group: Group) -> Assignment:
    assigned: dict[str, tuple[Partition, ...]] = {member.id: () for member in group.members}
    for partition in sorted(group.assignable):
        may = [member.id for member in group.members if partition.topic in member.topics]
        assigned[data.draw(st.sampled_from(may))] += (partition,)
    return assigned


@pytest.mark.parametrize("order", ORDERS)
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_improving_an_assignment_chain_by_chain_ends_at_the_minimum_cost_flow(
    order: str, data: st.DataObject
) -> None:
    group = data.draw(groups("sticky"))
    costs = ORDERS[order](group, group.owners(newest_only=False))
    assigned = _any_assignment(data, group)
    while chain := Moves(group, assigned, costs).chain_towards_balance():
        improved = after(assigned, chain)
        assert _value(group, improved, costs)[0] < _value(group, assigned, costs)[0]
        assigned = improved
    while chain := Moves(group, assigned, costs).chain_that_costs_less():
        improved = after(assigned, chain)
        assert _value(group, improved, costs) < _value(group, assigned, costs)
        assigned = improved
    assert _value(group, assigned, costs) == _best(group, costs)


@given(groups("sticky"))
@settings(max_examples=150, deadline=None)
def test_the_built_in_sticky_assignor_is_the_minimum_cost_flow(group: Group) -> None:
    order = ORDERS["racks, then moves" if racks_matter(group) else "moves"]
    costs = order(group, group.owners(newest_only=False))
    members = [
        Member(each.id, each.topics, each.instance_id, each.rack, each.owned, each.owned_in)
        for each in group.members
    ]
    found = sticky.assign({topic.name: topic.racks for topic in group.topics}, members)
    assigned = {
        member: tuple(Partition(*partition) for partition in partitions)
        for member, partitions in found.items()
    }
    assert _value(group, assigned, costs) == _best(group, costs)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_single_move_towards_balance_is_one_that_makes_the_sum_of_squares_smaller(
    data: st.DataObject,
) -> None:
    group = data.draw(groups("sticky", racks=False))
    assigned = _any_assignment(data, group)
    moves = Moves(group, assigned)
    before = _value(group, assigned, racks_cost(group))[0]
    for move in moves.towards_balance():
        assert _value(group, after(assigned, [move]), racks_cost(group))[0] < before
