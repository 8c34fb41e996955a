"""ListGroups (GroupCoordinator.scala:806): the one group of the model is all that is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from groupcheck.model.clients import GROUP_ID
from groupcheck.model.gate import gate
from groupcheck.model.step import Rule, Step, decide, gc, no_group
from groupcheck.model.vocabulary import (
    ErrorCode,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    Request,
)


def list_groups(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.list_groups)


def _is_filtered_out(step: Step, request: Request) -> bool:
    wanted = cast("ListGroupsRequest", request.body).states_filter
    return bool(wanted) and step.existing.state.value not in wanted


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(request.request_id, ListGroupsResponse(error))


def _list(step: Step, request: Request, *groups: ListedGroup) -> None:
    step.answer(request.request_id, ListGroupsResponse(ErrorCode.NONE, groups))


def _list_group(step: Step, request: Request) -> None:
    group = step.existing
    _list(step, request, ListedGroup(GROUP_ID, group.protocol_type or "", group.state.value))


# A broker lists what groups it has, and needs to be nobody's coordinator.
RULES = (
    *gate("list", _refuse, loading_source=gc(810))[:2],
    Rule(
        "list/no-group",
        "the group does not exist",
        gc(813),
        when=no_group,
        then=_list,
    ),
    Rule(
        "list/other-state",
        "the group's state is none of those asked for, letter by letter",
        gc(815),
        when=_is_filtered_out,
        then=_list,
    ),
    Rule("list/group", "the group is listed with its protocol type", gc(816), then=_list_group),
)
