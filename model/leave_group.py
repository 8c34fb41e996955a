"""LeaveGroup (GroupCoordinator.scala:454): one member, or from version 3 on a batch of them."""

from __future__ import annotations

from typing import cast

from groupcheck.model.rebalance import remove_member, remove_pending
from groupcheck.model.state import Member
from groupcheck.model.step import Rule, Step, decide, gc, no_group
from groupcheck.model.vocabulary import (
    ErrorCode,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    Request,
)

PENDING = Rule(
    "leave/pending-member", "the id was given out and not used yet: it is taken back", gc(480)
)
UNKNOWN = Rule("leave/unknown-member", "the member id is not in the group", gc(492))
BATCH = "leave/batch"
REMOVED = Rule("leave/member", "the member leaves", gc(494))


def leave_group(step: Step, request: Request) -> None:
    """The API; each member of a batch leaves before the next is looked at."""
    decide(step, request, step.profile.leave_group)


def _body(request: Request) -> LeaveGroupRequest:
    return cast("LeaveGroupRequest", request.body)


def _refuse_all(step: Step, request: Request) -> None:
    members = tuple(
        MemberResponse(m.member_id, m.group_instance_id, ErrorCode.UNKNOWN_MEMBER_ID)
        for m in _body(request).members
    )
    step.answer(request.request_id, LeaveGroupResponse(ErrorCode.NONE, members))


def _leave_one(step: Step, identity: MemberIdentity) -> MemberResponse:
    member_id = identity.member_id
    error = ErrorCode.NONE
    if step.existing.is_pending(member_id):
        step.fire(PENDING)
        remove_pending(step, member_id)
    elif step.existing.member(member_id) is None:
        step.fire(UNKNOWN)
        error = ErrorCode.UNKNOWN_MEMBER_ID
    else:
        step.fire(REMOVED)
        remove_member(step, cast("Member", step.existing.member(member_id)))
    return MemberResponse(member_id, identity.group_instance_id, error)


def _leave(step: Step, request: Request) -> None:
    members = tuple(_leave_one(step, identity) for identity in _body(request).members)
    answer = LeaveGroupResponse(ErrorCode.NONE, members)
    step.answer(request.request_id, answer, BATCH)


DECISIONS = (
    Rule(
        "leave/invalid-group-id",
        "the group id is empty",
        gc(841),
        when=lambda _step, request: not _body(request).group_id,
        then=lambda step, request: step.answer(
            request.request_id, LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
        ),
    ),
    Rule(
        "leave/no-group",
        "the group does not exist",
        gc(462),
        when=no_group,
        then=_refuse_all,
    ),
    Rule(BATCH, "the members named leave one by one", gc(472), then=_leave),
)
RULES = (*DECISIONS, PENDING, UNKNOWN, REMOVED)
