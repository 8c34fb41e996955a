"""JoinGroup (2.7 GroupCoordinator.scala:156): new members, pending ids, members that join again."""

from __future__ import annotations

from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.rules import static_members
from groupcheck.model.classic.rules.guards import (
    COMPLETING,
    EMPTY,
    IS_LEADER,
    NO_GROUP,
    PREPARING,
    STABLE,
    Checks,
    body_of,
    instance_of,
    is_missing,
    member_of,
    replies,
    state_is,
)
from groupcheck.model.classic.rules.members import (
    ACCEPTS_ANY,
    PARK_JOIN,
    current_generation,
    drop_instance,
    drop_members,
    drop_pending,
    drop_with_instances,
    new_id,
    refused_join,
    supported_by_all,
)
from groupcheck.model.classic.rules.membership import ADD_MEMBER
from groupcheck.model.classic.rules.rebalance import MAYBE_PREPARE, check_join_complete
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, Member, Pending, StaticAppend
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.deferred import hold_request
from groupcheck.model.classic.storing.log import store_new_group
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    Rule,
    Sources,
    decide,
    procedure,
    rule,
    single,
    table,
)
from groupcheck.model.vocabulary import NO_MEMBER_ID, ErrorCode, Request

API: Final = "JoinGroup"
LEAVES_NO_GROUP: Final = Behaviour(
    "failed-joins-leave-no-group",
    API,
    "a group that a failed JoinGroup created is removed",
    at(),
)
ADMITS_UNKNOWN: Final = Behaviour(
    "unknown-members-join",
    API,
    "a JoinGroup with an unknown member id adds a member with this id, and may create the group",
    at(),
)


def join_group(step: Step, request: Request) -> None:
    """The API; a JoinGroup that may create the group does, even if it is then rejected."""
    if decide(step, JOIN, request) is not None:
        return
    new = _body(request).member_id == NO_MEMBER_ID
    if is_missing(step, request):
        CREATE_GROUP(step, request)
    if decide(step, JOIN_FULL, request) is None:
        decide(step, JOIN_NEW if new else JOIN_AGAIN, request)
    AFTER_JOIN(step, request)
    if step.created and LEAVES_NO_GROUP(step):
        group = step.existing
        step.group = group if group.members or group.pending else None


_body: Final = body_of(kafka.JoinGroupRequest)


def _create_empty(step: Step, _request: Request) -> None:
    step.group = (step.group or Group())._replace(state=EMPTY)


def _create_stable(step: Step, request: Request) -> None:
    group = step.group or Group()
    step.group = group._replace(state=STABLE, protocol_type=_body(request).protocol_type)


# Only the offsets of an earlier group are left.
CREATE_GROUP: Final = procedure(
    "create-group",
    API,
    "create the group",
    Effect("create an Empty group", _create_empty).only(at("", "GC:121", "GC:179", "GMM:6160")),
    Effect("create a Stable group without members", _create_stable).only(at("GC:127")),
)


def _parked(step: Step, request: Request) -> Member | None:
    members = step.group.members if step.group else ()
    return next((m for m in members if m.awaiting_join == request.request_id), None)


def _end_if_joined(step: Step, _request: Request) -> None:
    if step.existing.state is PREPARING:
        check_join_complete(step)


def _end_if_parked(step: Step, request: Request) -> None:
    if _parked(step, request):
        _end_if_joined(step, request)


def _append_new_group(step: Step, request: Request) -> None:
    if step.created:
        store_new_group(step, request.request_id)


def _hold(step: Step, request: Request) -> None:
    """Hold the request if it is parked, unless it waits for its own append."""
    own = (a for a in step.appends if isinstance(a, StaticAppend))
    member = _parked(step, request)
    if member and all(entry.revealed != member.member_id for entry in own):
        hold_request(step, request.request_id, joins=True)


AFTER_JOIN: Final = procedure(
    "after-join",
    API,
    "end the join phase if every member has joined",
    Effect("end the join phase if every member has joined", _end_if_joined).only(
        at("GC:220", "GC:216", "GC:195")
    ),
    Effect(
        "end the join phase if every member has joined and this JoinGroup is parked",
        _end_if_parked,
    ).only(at("", "", "", "GMM:6236")),
    Effect("append the group if this request created it", _append_new_group).only(
        at("", "", "", "GMM:6194")
    ),
    Effect(
        "let the parked request fail if the partition is unloaded before earlier records are "
        "committed",
        _hold,
    ).only(at("", "", "", "CR:960")),
)


def _refuse(step: Step, request: Request, error: ErrorCode) -> None:
    step.answer(request.request_id, refused_join(step, error, _body(request).member_id))


def _refuse_without_id(step: Step, request: Request, error: ErrorCode) -> None:
    step.answer(request.request_id, refused_join(step, error, NO_MEMBER_ID))


_reply: Final = replies(_refuse)
_reply_without_id: Final = replies(_refuse_without_id, " without the member id")
_check: Final = Checks(_reply)


def _runtime_check(id_: str, sources: Sources, error: ErrorCode) -> Rule:
    """A check that 4.1's runtime makes, without the member id of the request."""
    by_group = _reply(error).only(at("GC:112", "GC:106", "GC:168"))
    return _check(id_, sources, by_group, _reply_without_id(error).only(at("", "", "", "GCS:886")))


def _session_timeout_refused(step: Step, request: Request) -> bool:
    config, timeout_ms = step.config, _body(request).session_timeout_ms
    return not (
        config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms
    )


JOIN: Final = table(
    "JoinGroup",
    API,
    _check("join/invalid-group-id", at("GC:109", "GC:103", "GC:857", "GCS:858")),
    _check("join/not-active", at("GC:107", "GC:101", "GC:859", "GCS:851")),
    _runtime_check(
        "join/loading",
        at("", "", "GC:861", "CR:2207"),
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ),
    _runtime_check(
        "join/not-coordinator",
        at("GC:111", "GC:105", "GC:863", "CR:2209"),
        ErrorCode.NOT_COORDINATOR,
    ),
    rule(
        "join/session-timeout-out-of-range",
        "the session timeout is less than group.min.session.timeout.ms or more than "
        "group.max.session.timeout.ms",
        at("GC:115", "GC:109", "GC:172", "GCS:865"),
        Guard("the session timeout is out of range", _session_timeout_refused),
        _reply(ErrorCode.INVALID_SESSION_TIMEOUT),
    ),
    rule(
        "join/no-group",
        "the group does not exist, and only a JoinGroup without a member id creates it",
        at("GC:124", "GC:118", "GC:180", "GMM:6161"),
        NO_GROUP,
        Guard(
            "the request has a member id",
            lambda step, request: bool(request.body.member_id) and not ADMITS_UNKNOWN(step),
        ),
        _reply(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    moves={
        "0.10.0": (("join/not-active", "join/invalid-group-id"),),
        "0.10.2": (("join/not-active", "join/invalid-group-id"),),
        "4.1": (
            ("join/not-active", "join/invalid-group-id"),
            ("join/session-timeout-out-of-range", "join/loading"),
        ),
    },
)


def _is_full(step: Step, request: Request) -> bool:
    """Parked JoinGroups count, so the last members that join again are rejected.

    Source: 2.7 GroupCoordinator.scala:131.
    """
    group, most = step.existing, step.group_max_size
    member = group.member(_body(request).member_id)
    if group.state is EMPTY:
        return False
    if group.state is PREPARING:
        waits = member is not None and member.awaiting_join is not None
        return not waits and sum(m.awaiting_join is not None for m in group.members) >= most
    return member is None and len(group.members) >= most


def _drop_each(step: Step, request: Request) -> None:
    body = _body(request)
    if step.existing.member(body.member_id) is not None:
        drop_members(step, [body.member_id])
    drop_instance(step, body.group_instance_id)


def _drop_all(step: Step, request: Request) -> None:
    member_id = _body(request).member_id
    member = step.existing.member(member_id)
    if member is not None:
        drop_with_instances(step, [member])
    drop_pending(step, member_id)


JOIN_FULL: Final = single(
    "JoinGroup to a full group",
    API,
    "join/group-full",
    "the group has as many members as group.max.size allows",
    at("", "", "GC:184", "GMM:6169"),
    Guard("the group has group.max.size members", _is_full),
    Effect("remove the member id, and independently of it the group.instance.id", _drop_each).only(
        at("", "", "GC:185")
    ),
    Effect("remove the member, its group.instance.id and its pending id", _drop_all).only(
        at("", "", "", "GMM:6170")
    ),
    _reply_without_id(ErrorCode.GROUP_MAX_SIZE_REACHED),
)


def _inconsistent(step: Step, request: Request) -> bool:
    """Not (Empty and a protocol offered, or the same type and a protocol that all support)."""
    group, body = step.existing, _body(request)
    if ACCEPTS_ANY(step):
        return False
    if group.state is EMPTY:
        return not (body.protocol_type and body.protocols)
    return group.protocol_type != body.protocol_type or not any(
        supported_by_all(group.members, p.name) for p in body.protocols
    )


_INCONSISTENT: Final = Guard(
    "the request offers no protocol that every member supports", _inconsistent
)
# An Empty group accepts any member, even one without protocols (KAFKA-6005).
_HAS_MEMBERS: Final = Guard(
    "the group has members", lambda step, _request: bool(step.existing.members)
).only(at("GM:204", "GC:141"))


def _give_id(step: Step, request: Request) -> None:
    group, member_id = step.existing, new_id(request)
    pending = Pending(member_id, _body(request).session_timeout_ms)
    step.group = group._replace(pending=tuple(sorted((*group.pending, pending))))
    step.answer(
        request.request_id,
        kafka.JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id),
    )


JOIN_NEW: Final = table(
    "JoinGroup without a member id",
    API,
    rule(
        "join/new-inconsistent",
        "the request offers no protocol that every member supports",
        at("GC:145", "GC:141", "GC:220", "GMM:6271"),
        _HAS_MEMBERS,
        _INCONSISTENT,
        _reply_without_id(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    *static_members.RULES,
    rule(
        "join/member-id-required",
        "from version 4 on, a new dynamic member first gets a member id and has to rejoin with it",
        at("", "", "GC:227", "GMM:6367"),
        Guard(
            "the request is of version 4 or newer", lambda _step, request: request.api_version >= 4
        ),
        Guard(
            "the request has no group.instance.id",
            lambda _step, request: instance_of(request) is None,
        ),
        Effect("answer MEMBER_ID_REQUIRED with a new member id, which becomes pending", _give_id),
    ),
    rule(
        "join/new-member",
        "a new member is added, and waits for the join phase to end",
        at("GC:580", "GC:611", "GC:238", "GMM:6394"),
        ADD_MEMBER.effect,
    ),
)


def _is_pending(step: Step, request: Request) -> bool:
    return step.existing.is_pending(_body(request).member_id)


def _may_join(step: Step, request: Request) -> bool:
    is_unknown = step.existing.member(_body(request).member_id) is None
    return _is_pending(step, request) or (is_unknown and ADMITS_UNKNOWN(step))


def _unchanged(step: Step, request: Request) -> bool:
    return member_of(step, request).protocols == _body(request).protocols


def _admit(step: Step, request: Request) -> None:
    member = member_of(step, request)
    step.answer(request.request_id, current_generation(step, member, step.existing.state))


_UNCHANGED: Final = Guard("the member's protocols and metadata are unchanged", _unchanged)
_CHANGED: Final = Guard(
    "the member's protocols or metadata have changed",
    lambda step, request: not _unchanged(step, request),
)
_REJOIN: Final = PARK_JOIN.effect, MAYBE_PREPARE
JOIN_AGAIN: Final = table(
    "JoinGroup with a member id",
    API,
    rule(
        "join/inconsistent",
        "the request offers no protocol that every member supports",
        at("GC:145", "GC:141", "GC:262", "GMM:6428"),
        _HAS_MEMBERS,
        _INCONSISTENT,
        _reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    rule(
        "join/pending-static",
        "the request has a group.instance.id and the pending id of a dynamic member: Kafka "
        "throws an exception",
        at("", "", "GC:267", "GMM:6436"),
        Guard("the member id is pending", _is_pending),
        Guard(
            "the request has a group.instance.id",
            lambda _step, request: instance_of(request) is not None,
        ),
        _reply_without_id(ErrorCode.UNKNOWN_SERVER_ERROR),
    ),
    rule(
        "join/pending-member",
        "the member id is pending: the member is added, and waits for the join phase to end",
        at("", "", "GC:264", "GMM:6433"),
        Guard("the member id is pending", _may_join),
        ADD_MEMBER.effect,
    ),
    _check("join/fenced", at("", "", "GC:277", "CG:810")),
    _check("join/unknown-instance", at("", "", "GC:280", "CG:805")),
    _check("join/unknown-member", at("GC:148", "GC:144", "GC:280", "GMM:6452")),
    rule(
        "join/rejoin-preparing",
        "a member joins while a rebalance is being prepared, and waits for the join phase to end",
        at("GC:166", "GC:162", "GC:289", "GMM:6468"),
        state_is(PREPARING),
        *_REJOIN,
    ),
    rule(
        "join/repeated-completing",
        "a member rejoins with unchanged metadata, and may have missed the response: it gets the "
        "current generation",
        at("GC:174", "GC:170", "GC:293", "GMM:6478"),
        state_is(COMPLETING),
        _UNCHANGED,
        Effect(
            "answer with the current generation, and for the leader with the member list", _admit
        ),
    ),
    rule(
        "join/changed-completing",
        "a member's metadata has changed, which forces a rebalance",
        at("GC:191", "GC:187", "GC:311", "GMM:6494"),
        state_is(COMPLETING),
        *_REJOIN,
    ),
    rule(
        "join/leader-stable",
        "the leader rejoins, which forces a rebalance",
        at("GC:201", "GC:197", "GC:316", "GMM:6504"),
        state_is(STABLE),
        IS_LEADER,
        *_REJOIN,
    ),
    rule(
        "join/changed-stable",
        "a member's metadata has changed, which forces a rebalance",
        at("GC:201", "GC:197", "GC:321", "GMM:6516"),
        state_is(STABLE),
        _CHANGED,
        *_REJOIN,
    ),
    rule(
        "join/repeated-stable",
        "a follower rejoins with unchanged metadata: it gets the current generation",
        at("GC:206", "GC:202", "GC:326", "GMM:6525"),
        state_is(STABLE),
        Effect("answer with the current generation, without the member list", _admit),
    ),
    moves={"4.1": (("join/unknown-instance", "join/fenced"),)},
)
PARTS: Final = (
    ADMITS_UNKNOWN,
    LEAVES_NO_GROUP,
    JOIN,
    CREATE_GROUP,
    JOIN_FULL,
    JOIN_NEW,
    JOIN_AGAIN,
    AFTER_JOIN,
)
