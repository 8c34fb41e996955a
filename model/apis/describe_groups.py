"""DescribeGroups (GroupCoordinator.scala:820)."""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.model.apis.gate import gate
from groupcheck.model.nondeterminism import Open
from groupcheck.model.rules.rebalance import STABLE
from groupcheck.model.step import Rule, Step, gc, gm, no_group, source
from groupcheck.model.storing.committed import read
from groupcheck.model.vocabulary import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ErrorCode,
    GroupState,
    Request,
)


def describe_groups(step: Step, request: Request) -> None:
    """The API; the model holds one group, so one is asked for."""
    read(step, request, step.profile.describe_groups)


def _answer(step: Step, request: Request, described: DescribedGroup) -> None:
    step.answer(request.request_id, DescribeGroupsResponse((described,)))


def _group_id(request: Request) -> str:
    body = request.body
    return body.groups[0] if isinstance(body, DescribeGroupsRequest) else ""


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: _answer(step, request, DescribedGroup(error, _group_id(request)))


def _dead(step: Step, request: Request, error: ErrorCode = ErrorCode.NONE) -> None:
    _answer(step, request, DescribedGroup(error, _group_id(request), GroupState.DEAD.value))


def _not_found(step: Step, request: Request) -> None:
    newest = request.api_version >= 6
    _dead(step, request, ErrorCode.GROUP_ID_NOT_FOUND if newest else ErrorCode.NONE)


def _in_full(step: Step, request: Request) -> None:
    name = step.existing.protocol_name or ""
    members = tuple(
        DescribedGroupMember(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host,
            m.metadata(name),
            m.assignment,
        )
        for m in step.existing.members
    )
    _describe(step, request, name, members)


def _without_metadata(step: Step, request: Request) -> None:
    # Without a reason to show it, what was assigned is forgotten as the group leaves Stable.
    members = tuple(
        DescribedGroupMember(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host,
            member_assignment=m.assignment,
        )
        for m in step.existing.members
    )
    _describe(step, request, "", members)


def _describe(
    step: Step, request: Request, protocol_data: str, members: tuple[DescribedGroupMember, ...]
) -> None:
    group, group_id = step.existing, _group_id(request)
    completing = group.state is GroupState.COMPLETING_REBALANCE
    state = step.profile.traits.completing_rebalance if completing else group.state.value
    described = DescribedGroup(
        ErrorCode.NONE, group_id, state, group.protocol_type or "", protocol_data, members
    )
    _answer(step, request, described)


def _perhaps_hidden(step: Step, request: Request) -> None:
    # What other groups write is not in the model; and without assignments this one is not Stable.
    if step.choose(Open.UNWRITTEN, [True, False]):
        _not_found(step, request)
    else:
        step.group = step.existing._replace(unwritten=False)
        _without_metadata(step, request)


UNWRITTEN = Rule(
    "describe/unwritten",
    "only what is written shows, and of this group nothing is: it came with a refused commit",
    source("GroupMetadataManager.java")(745),
    when=lambda step, _request: step.existing.unwritten,
    then=_perhaps_hidden,
)
NOT_FOUND = Rule(
    "describe/not-found",
    "a group that does not exist is Dead, which from version 6 on is an error",
    source("GroupMetadataManager.java")(774),
    when=no_group,
    then=_not_found,
)
RULES = (
    *gate("describe", _refuse),
    Rule(
        "describe/no-group",
        "a group that does not exist is Dead",
        gc(825),
        when=no_group,
        then=_dead,
    ),
    Rule(
        "describe/stable",
        "a stable group is shown with its protocol, metadata and assignments",
        gm(561),
        when=lambda step, _request: step.existing.state is STABLE,
        then=_in_full,
    ),
    Rule(
        "describe/unstable",
        "outside Stable only the members' ids and clients are shown",
        gm(568),
        then=_without_metadata,
    ),
)
