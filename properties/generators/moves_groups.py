"""Moves of those who look at groups or delete them, and are no members."""

from __future__ import annotations

from groupcheck.model.instances.environment import GROUP_ID
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    GroupState,
    ListGroupsRequest,
)
from groupcheck.properties.generators.sketch import Picks, Sketch

STATES = (GroupState.EMPTY.value, GroupState.STABLE.value, GroupState.PREPARING_REBALANCE.value)


def describe(sketch: Sketch, picks: Picks) -> Input:
    """Somebody looks at the group."""
    return sketch.request(DescribeGroupsRequest((GROUP_ID,)), sketch.version(picks))


def list_groups(sketch: Sketch, picks: Picks) -> Input:
    """Somebody lists the groups, all of them or those in some state, spelt in any way."""
    version, pick, lower = sketch.version(picks), picks.of(5), picks.of(2)
    if pick == 4:
        return sketch.request(ListGroupsRequest(types_filter=("consumer",)), version)
    states = () if pick == 0 else STATES[pick - 1 : pick]
    states = tuple(state.lower() if lower else state for state in states)
    return sketch.request(ListGroupsRequest(states), version)


def delete_group(sketch: Sketch, picks: Picks) -> Input:
    """Somebody deletes the group."""
    return sketch.request(DeleteGroupsRequest((GROUP_ID,)), sketch.version(picks))
