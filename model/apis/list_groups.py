"""ListGroups (GroupCoordinator.scala:806): the one group of the model is all that is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.nondeterminism import Open
from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.step import Rule, Step, gc, no_group, source
from groupcheck.model.storing.committed import read
from groupcheck.model.vocabulary import (
    ErrorCode,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    Request,
)


def list_groups(step: Step, request: Request) -> None:
    """The API."""
    read(step, request, step.profile.list_groups)


# From it on a group is listed with its type, and types can be asked for (KIP-848).
TYPES_SINCE: Final = 5
CLASSIC: Final = "classic"

# What Java's trim takes off the ends of a string: the space, and all that comes before it.
BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))


def _body(request: Request) -> ListGroupsRequest:
    return cast("ListGroupsRequest", request.body)


def _is_filtered_out(step: Step, request: Request) -> bool:
    wanted = _body(request).states_filter
    return bool(wanted) and step.existing.state.value not in wanted


def filtered_out_in_any_case(step: Step, request: Request) -> bool:
    """The same, whether in upper or lower case and with whatever blanks around it."""
    wanted = {state.lower().strip(BLANKS) for state in _body(request).states_filter}
    return bool(wanted) and step.existing.state.value.lower() not in wanted


def _is_of_other_type(_step: Step, request: Request) -> bool:
    wanted = {name.lower() for name in _body(request).types_filter}
    return bool(wanted) and CLASSIC not in wanted


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(request.request_id, ListGroupsResponse(error))


def _list(step: Step, request: Request, *groups: ListedGroup) -> None:
    step.answer(request.request_id, ListGroupsResponse(ErrorCode.NONE, groups))


def _list_group(step: Step, request: Request) -> None:
    group = step.existing
    group_type = CLASSIC if request.api_version >= TYPES_SINCE else ""
    kind = group.protocol_type or ""
    _list(step, request, ListedGroup(GROUP_ID, kind, group.state.value, group_type))


def _perhaps_hidden(step: Step, request: Request) -> None:
    # As DescribeGroups shows it.
    if step.choose(Open.UNWRITTEN, [True, False]):
        _list(step, request)
    else:
        step.group = step.existing._replace(unwritten=False)
        _list_group(step, request)


OTHER_TYPE = Rule(
    "list/other-type",
    "groups of the classic protocol are not asked for",
    source("GroupMetadataManager.java")(622),
    when=_is_of_other_type,
    then=_list,
)
UNWRITTEN = Rule(
    "list/unwritten",
    "only what is written is listed, and of this group nothing is: it came with a refused commit",
    source("GroupMetadataManager.java")(627),
    when=lambda step, _request: step.existing.unwritten,
    then=_perhaps_hidden,
)

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
