"""SyncGroup (GroupCoordinator.scala:347): followers wait, the leader's assignments are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.rebalance import COMPLETING, EMPTY, PREPARING
from groupcheck.model.rules.session import rearm_session
from groupcheck.model.state import Member
from groupcheck.model.step import (
    Rule,
    Step,
    apis,
    decide,
    fenced,
    gc,
    no_group,
    source,
    unregistered,
)
from groupcheck.model.storing.log import store_assignments
from groupcheck.model.storing.waiting import hold_request
from groupcheck.model.vocabulary import ErrorCode, Request, SyncGroupRequest, SyncGroupResponse


def sync_group(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.sync_group)


def _body(request: Request) -> SyncGroupRequest:
    return cast("SyncGroupRequest", request.body)


def refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    """Answer with an error."""
    return lambda step, request: step.answer(request.request_id, SyncGroupResponse(error))


def _member(step: Step, request: Request) -> Member:
    return cast("Member", step.existing.member(_body(request).member_id))


def _protocol_missing(_step: Step, request: Request) -> bool:
    body = _body(request)
    return request.api_version >= 5 and None in (body.protocol_type, body.protocol_name)


def _other_protocol_type(step: Step, request: Request) -> bool:
    given = _body(request).protocol_type
    return given is not None and given != step.existing.protocol_type


def _other_protocol_name(step: Step, request: Request) -> bool:
    given = _body(request).protocol_name
    return given is not None and given != step.existing.protocol_name


def other_than_chosen(step: Step, request: Request) -> bool:
    """The same, where a group that has chosen no protocol yet has nothing against any."""
    return step.existing.protocol_name is not None and _other_protocol_name(step, request)


def _note_synced(step: Step, request: Request) -> None:
    """The generation waits for this member no longer; once it waits for nobody, its time is off.

    Source: 4.1 GroupMetadataManager.java:7586.
    """
    member = _member(step, request)
    if not member.unsynced:
        return
    step.group = step.existing.with_member(member._replace(unsynced=False))
    if not any(m.unsynced for m in step.existing.members) and not step.existing.lost_sync:
        step.group = step.existing._replace(sync_left_ms=None)


def _park(step: Step, request: Request) -> None:
    """An earlier SyncGroup of the same member that is still parked is never answered.

    Source: GroupCoordinator.scala:408.
    """
    _note_synced(step, request)
    member = _member(step, request)
    step.group = step.existing.with_member(
        member._replace(awaiting_sync=request.request_id, session_left_ms=None)
    )


def _wait(step: Step, request: Request) -> None:
    _park(step, request)
    hold_request(step, request.request_id, joins=False)


def _store(step: Step, request: Request) -> None:
    _park(step, request)
    store_assignments(step, dict(_body(request).assignments), request.request_id)


def tell_assignment(step: Step, request: Request) -> None:
    """Answer with the member's assignment that stands, which is no sign of life by itself."""
    _note_synced(step, request)
    group, member = step.existing, _member(step, request)
    step.answer(
        request.request_id,
        SyncGroupResponse(
            ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment
        ),
    )


def _assigned(step: Step, request: Request) -> None:
    tell_assignment(step, request)
    rearm_session(step, _member(step, request))


EMPTY_GROUP = Rule(
    "sync/empty-group",
    "nobody is in the group",
    source("GroupMetadataManager.java")(7352),
    when=lambda step, _request: step.existing.state is EMPTY,
    then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
)
UNKNOWN_INSTANCE = Rule(
    "sync/unknown-instance",
    "the group.instance.id stands for no member",
    source("ClassicGroup.java")(805),
    when=unregistered,
    then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
)
RULES = (
    Rule(
        "sync/protocol-missing",
        "from version 5 on a SyncGroup must say the protocol type and name",
        apis(1585),
        when=_protocol_missing,
        then=refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    Rule(
        "sync/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=refuse(ErrorCode.INVALID_GROUP_ID),
    ),
    # A member is to join again, as the rebalance that it was in is lost.
    *gate("sync", refuse, ErrorCode.REBALANCE_IN_PROGRESS, gc(357)),
    Rule(
        "sync/no-group",
        "the group does not exist",
        gc(367),
        when=no_group,
        then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "sync/fenced",
        "another member has come back under the same group.instance.id",
        gc(389),
        when=fenced,
        then=refuse(ErrorCode.FENCED_INSTANCE_ID),
    ),
    Rule(
        "sync/unknown-member",
        "the member id is not in the group",
        gc(391),
        when=lambda step, request: step.existing.member(_body(request).member_id) is None,
        then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "sync/other-generation",
        "the generation is not the group's",
        gc(393),
        when=lambda step, request: _body(request).generation_id != step.existing.generation_id,
        then=refuse(ErrorCode.ILLEGAL_GENERATION),
    ),
    Rule(
        "sync/other-protocol-type",
        "the protocol type is not the group's",
        gc(395),
        when=_other_protocol_type,
        then=refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    Rule(
        "sync/other-protocol-name",
        "the protocol name is not the one the group has chosen",
        gc(397),
        when=_other_protocol_name,
        then=refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    Rule(
        "sync/preparing",
        "a rebalance is being prepared, and the member has to join it",
        gc(404),
        when=lambda step, _request: step.existing.state is PREPARING,
        then=refuse(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    Rule(
        "sync/leader-completing",
        "the leader brings the assignments, which are stored before anybody is answered",
        gc(411),
        when=lambda step, request: (
            step.existing.state is COMPLETING and step.existing.leader == _body(request).member_id
        ),
        then=_store,
    ),
    Rule(
        "sync/follower-completing",
        "a follower waits until the leader's assignments are stored",
        gc(408),
        when=lambda step, _request: step.existing.state is COMPLETING,
        then=_wait,
    ),
    Rule(
        "sync/stable",
        "the group is stable: the member's assignment stands",
        gc(441),
        then=_assigned,
    ),
)
