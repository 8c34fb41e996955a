"""Heartbeat (GroupCoordinator.scala:607)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.rebalance import PREPARING
from groupcheck.model.rules.session import rearm_session
from groupcheck.model.state import Member
from groupcheck.model.step import Rule, Step, decide, fenced, gc, no_group, source, unregistered
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest, HeartbeatResponse, Request


def heartbeat(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.heartbeat)


def _body(request: Request) -> HeartbeatRequest:
    return cast("HeartbeatRequest", request.body)


def _answer(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(request.request_id, HeartbeatResponse(error))


def _rearm(error: ErrorCode) -> Callable[[Step, Request], None]:
    """Answer, and start the member's session timer anew."""

    def then(step: Step, request: Request) -> None:
        rearm_session(step, cast("Member", step.existing.member(_body(request).member_id)))
        step.answer(request.request_id, HeartbeatResponse(error))

    return then


UNKNOWN_INSTANCE = Rule(
    "heartbeat/unknown-instance",
    "the group.instance.id stands for no member",
    source("ClassicGroup.java")(805),
    when=unregistered,
    then=_answer(ErrorCode.UNKNOWN_MEMBER_ID),
)
RULES = (
    Rule(
        "heartbeat/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=_answer(ErrorCode.INVALID_GROUP_ID),
    ),
    # Answered blindly, so that a member waits until the group is there.
    *gate("heartbeat", _answer, ErrorCode.NONE, gc(615)),
    Rule(
        "heartbeat/no-group",
        "the group does not exist",
        gc(622),
        when=no_group,
        then=_answer(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "heartbeat/fenced",
        "another member has come back under the same group.instance.id",
        gc(632),
        when=fenced,
        then=_answer(ErrorCode.FENCED_INSTANCE_ID),
    ),
    Rule(
        "heartbeat/unknown-member",
        "the member id is not in the group",
        gc(634),
        when=lambda step, request: step.existing.member(_body(request).member_id) is None,
        then=_answer(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "heartbeat/other-generation",
        "the generation is not the group's",
        gc(636),
        when=lambda step, request: _body(request).generation_id != step.existing.generation_id,
        then=_answer(ErrorCode.ILLEGAL_GENERATION),
    ),
    Rule(
        "heartbeat/preparing",
        "a rebalance is being prepared, and the member has to join it",
        gc(650),
        when=lambda step, _request: step.existing.state is PREPARING,
        then=_rearm(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    Rule(
        "heartbeat/alive",
        "the member is alive in the current generation",
        gc(643),
        then=_rearm(ErrorCode.NONE),
    ),
)
