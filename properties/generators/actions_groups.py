"""Actions of administrators: they describe, list and delete groups."""

from __future__ import annotations

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    GroupState,
    ListGroupsRequest,
)
from groupcheck.properties.generators.context import Choices, Context

STATES = (GroupState.EMPTY.value, GroupState.STABLE.value, GroupState.PREPARING_REBALANCE.value)


def describe(context: Context, choices: Choices) -> Input:
    """An administrator describes the group."""
    return context.request(DescribeGroupsRequest((GROUP_ID,)), context.version(choices))


def list_groups(context: Context, choices: Choices) -> Input:
    """An administrator lists all groups, or those in a state, in upper, lower or mixed case."""
    version, pick, lower = context.version(choices), choices.of(5), choices.of(2)
    if pick == 4:
        return context.request(ListGroupsRequest(types_filter=("consumer",)), version)
    states = () if pick == 0 else STATES[pick - 1 : pick]
    states = tuple(state.lower() if lower else state for state in states)
    return context.request(ListGroupsRequest(states), version)


def delete_group(context: Context, choices: Choices) -> Input:
    """An administrator deletes the group."""
    return context.request(DeleteGroupsRequest((GROUP_ID,)), context.version(choices))
