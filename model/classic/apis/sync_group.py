"""SyncGroup (2.7 GroupCoordinator.scala:347): followers wait for the leader's assignments."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.rules.guards import (
    COMPLETING,
    EMPTY,
    IS_LEADER,
    PREPARING,
    STABLE,
    Checks,
    body_of,
    member_of,
    reply_with,
    state_is,
)
from groupcheck.model.classic.rules.session import RESTART_SESSION, stop_session
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.deferred import hold_request
from groupcheck.model.classic.storing.log import store_assignments
from groupcheck.model.engine.rules import Effect, Guard, rule, table
from groupcheck.model.vocabulary import ErrorCode, Request, SyncGroupRequest, SyncGroupResponse

API: Final = "SyncGroup"

_body: Final = body_of(SyncGroupRequest)


_reply: Final = reply_with(SyncGroupResponse)
_check: Final = Checks(_reply)


def _protocol_missing(_step: Step, request: Request) -> bool:
    body = _body(request)
    return request.api_version >= 5 and None in (body.protocol_type, body.protocol_name)


def _other_protocol_type(step: Step, request: Request) -> bool:
    given = _body(request).protocol_type
    return given is not None and given != step.existing.protocol_type


def _other_protocol_name(step: Step, request: Request) -> bool:
    given = _body(request).protocol_name
    return given is not None and given != step.existing.protocol_name


def _note_synced(step: Step, request: Request) -> None:
    """Stop the timer for SyncGroups once every member has synced.

    Source: 4.1 GroupMetadataManager.java:7586.
    """
    member = member_of(step, request)
    if not member.unsynced:
        return
    step.group = step.existing.with_member(member._replace(unsynced=False))
    if not any(m.unsynced for m in step.members) and not step.existing.lost_sync:
        step.group = step.existing._replace(sync_left_ms=None)


def _park(step: Step, request: Request) -> None:
    """An earlier parked SyncGroup of the member is never answered.

    Source: 2.7 GroupCoordinator.scala:408.
    """
    step.group = step.existing.with_member(
        member_of(step, request)._replace(awaiting_sync=request.request_id)
    )


def _hold(step: Step, request: Request) -> None:
    hold_request(step, request.request_id, joins=False)


def _store(step: Step, request: Request) -> None:
    store_assignments(step, dict(_body(request).assignments), request.request_id)


def _answer_assignment(step: Step, request: Request) -> None:
    group, member = step.existing, member_of(step, request)
    step.answer(
        request.request_id,
        SyncGroupResponse(
            ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment
        ),
    )


_NOTE_SYNCED: Final = Effect("stop waiting for the member's SyncGroup", _note_synced).only(
    at("", "", "", "GMM:7586")
)
_PARK: Final = (
    Effect("park the SyncGroup", _park),
    Effect(
        "stop the member's session timer",
        lambda step, request: stop_session(step, member_of(step, request)),
    ),
)
SYNC: Final = table(
    "SyncGroup",
    API,
    rule(
        "sync/protocol-missing",
        "from version 5 on, a SyncGroup must have a protocol type and a protocol name",
        at("", "", "APIS:1585", "APIS:1398"),
        Guard(
            "the request is of version 5 or newer and lacks the protocol type or the protocol name",
            _protocol_missing,
        ),
        _reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    _check("sync/invalid-group-id", at("", "", "GC:857", "GCS:911")),
    _check("sync/not-active", at("GC:231", "GC:227", "GC:859", "GCS:905")),
    # In 2.7 the member has to join again, since its rebalance was lost.
    _check(
        "sync/loading",
        at("", "", "GC:356", "CR:2207"),
        _reply(ErrorCode.REBALANCE_IN_PROGRESS).only(at("", "", "GC:361")),
        _reply(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS).only(at("", "", "", "GCS:930")),
    ),
    _check("sync/not-coordinator", at("GC:233", "GC:229", "GC:863", "CR:2209")),
    _check("sync/no-group", at("GC:237", "GC:233", "GC:367", "GMM:7346")),
    rule(
        "sync/empty-group",
        "the group has no members",
        at("", "", "", "GMM:7352"),
        state_is(EMPTY),
        _reply(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    _check("sync/unknown-instance", at("", "", "", "CG:805")),
    _check("sync/fenced", at("", "", "GC:389", "CG:810")),
    _check("sync/unknown-member", at("GC:252", "GC:247", "GC:391", "GMM:7566")),
    _check("sync/other-generation", at("GC:254", "GC:249", "GC:393", "GMM:7575")),
    rule(
        "sync/other-protocol-type",
        "the request's protocol type is not the group's",
        at("", "", "GC:395", "GMM:7577"),
        Guard("the request has a protocol type that is not the group's", _other_protocol_type),
        _reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    rule(
        "sync/other-protocol-name",
        "the request's protocol name is not the one that the group has selected",
        at("", "", "GC:397", "GMM:7578"),
        Guard(
            "the group has selected a protocol",
            lambda step, _request: step.existing.protocol_name is not None,
        ).only(at("", "", "", "GMM:7578")),
        Guard(
            "the request has a protocol name that is not the one that the group has selected",
            _other_protocol_name,
        ),
        _reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    rule(
        "sync/preparing",
        "a rebalance is being prepared, and the member has to rejoin",
        at("GC:261", "GC:256", "GC:404", "GMM:7392"),
        state_is(PREPARING),
        _reply(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    rule(
        "sync/leader-completing",
        "the leader sends the assignments, which are stored before any SyncGroup is answered",
        at("GC:269", "GC:263", "GC:411", "GMM:7400"),
        state_is(COMPLETING),
        IS_LEADER,
        _NOTE_SYNCED,
        *_PARK,
        Effect("append the assignments", _store),
    ),
    rule(
        "sync/follower-completing",
        "a follower waits until the leader's assignments are stored",
        at("GC:265", "GC:260", "GC:408", "GMM:7396"),
        state_is(COMPLETING),
        _NOTE_SYNCED,
        *_PARK,
        Effect(
            "let the parked request fail if the partition is unloaded before earlier records "
            "are committed",
            _hold,
        ).only(at("", "", "", "CR:960")),
    ),
    rule(
        "sync/stable",
        "the group is Stable: the member gets its current assignment",
        at("GC:294", "GC:288", "GC:441", "GMM:7450"),
        state_is(STABLE),
        _NOTE_SYNCED,
        Effect("answer with the member's assignment", _answer_assignment),
        # In 4.1 this SyncGroup does not restart the session timer.
        RESTART_SESSION.only(at("GC:298", "GC:292", "GC:445")),
    ),
    moves={"4.1": (("sync/not-active", "sync/invalid-group-id"),)},
)
PARTS: Final = (SYNC,)
