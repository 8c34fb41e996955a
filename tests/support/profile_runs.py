"""Sequences of inputs that two profiles are told apart by."""

from __future__ import annotations

from typing import Any

from groupcheck.model.spaces.clients import GROUP_ID, PROTOCOLS
from groupcheck.model.state import Advance, Coordinator
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input, successors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    Assignment,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    Request,
    RequestBody,
    SyncGroupRequest,
)

SESSION_MS, REBALANCE_MS = 10_000, 4_000
DELAY = Advance(3_000)


def join(member_id: str = "", **changed: Any) -> JoinGroupRequest:
    body = JoinGroupRequest(GROUP_ID, SESSION_MS, REBALANCE_MS, member_id, protocols=PROTOCOLS)
    return body._replace(**changed)


def sync(member_id: str, generation_id: int) -> SyncGroupRequest:
    given = (Assignment(member_id, b"part"),)
    return SyncGroupRequest(GROUP_ID, generation_id, member_id, None, "consumer", "range", given)


def heartbeat(member_id: str, generation_id: int) -> HeartbeatRequest:
    return HeartbeatRequest(GROUP_ID, generation_id, member_id)


def trimmed(profile: Profile, body: RequestBody) -> Request:
    """The request as the profile's clients can send it, before ids were required."""
    api = type(body).__name__.removesuffix("Request")
    version = min(profile.max_versions[api], 3 if api == "JoinGroup" else 99)
    return Request(0, version, trim(body, version))


def run(
    profile: Profile, *inputs: RequestBody | Request | Advance
) -> tuple[Coordinator, dict[int, Any]]:
    """The state after the inputs, and the answer to each request by its number from 1 on.

    A `Request` is of the version it says, and a body of the newest.
    """
    state = Coordinator()
    answers: dict[int, Any] = {}
    for number, given in enumerate(inputs, 1):
        step: Input
        if isinstance(given, Advance):
            step = given
        else:
            asked = given if isinstance(given, Request) else trimmed(profile, given)
            step = asked._replace(request_id=number)
        (outcome,) = successors(state, step, profile, profile.config)
        state = outcome.coordinator
        answers |= {response.request_id: response.body for response in outcome.responses}
    return state, answers


def group_state(state: Coordinator) -> GroupState | None:
    return state.group.state if state.group else None
