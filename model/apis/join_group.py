"""JoinGroup (GroupCoordinator.scala:156): unknown ids, pending ids and members that join again."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules import static_members
from groupcheck.model.rules.rebalance import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    add_member,
    check_join_complete,
    current_generation,
    drop_members,
    forget_instance,
    maybe_prepare_rebalance,
    park_join,
    supported_by_all,
    take_back,
)
from groupcheck.model.state import Group, Member, Pending, StaticAppend
from groupcheck.model.step import (
    Rule,
    Step,
    decide,
    fenced,
    gc,
    instance_of,
    no_group,
    unregistered,
)
from groupcheck.model.storing.log import store_new_group
from groupcheck.model.storing.waiting import hold_request
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
)


def join_group(step: Step, request: Request) -> None:
    """The API; an unknown member id brings the group into being, even if it is then refused."""
    body = _body(request)
    if decide(step, request, step.profile.join_gate):
        return
    if body.member_id == NO_MEMBER_ID:
        if no_group(step, request):
            _create(step, request)
        decide(step, request, step.profile.join_unknown)
    else:
        decide(step, request, step.profile.join_known)
    ends = step.profile.traits.any_join_ends or _is_parked(step, request)
    if step.existing.state is PREPARING and ends:
        check_join_complete(step)
    if step.begets and step.profile.traits.new_groups_are_recorded:
        store_new_group(step, request.request_id)
    if _waits_for_group(step, request):
        hold_request(step, request.request_id, joins=True)


def _is_parked(step: Step, request: Request) -> bool:
    members = step.group.members if step.group else ()
    return any(m.awaiting_join == request.request_id for m in members)


def _waits_for_group(step: Step, request: Request) -> bool:
    """Whether it is parked, and not for an append of its own."""
    own = (a for a in step.appends if isinstance(a, StaticAppend))
    told = f"#{request.request_id}"
    return _is_parked(step, request) and all(entry.told != told for entry in own)


def _create(step: Step, request: Request) -> None:
    """A new group; of one that was before only the offsets are left."""
    begins = step.profile.traits.begins
    group = (step.group or Group())._replace(state=begins)
    if begins is not EMPTY:
        group = group._replace(protocol_type=_body(request).protocol_type)
    step.group = group


def _body(request: Request) -> JoinGroupRequest:
    return cast("JoinGroupRequest", request.body)


def refuse(error: ErrorCode, *, keep_id: bool = True) -> Callable[[Step, Request], None]:
    """Answer with an error; `keep_id` says whether the request's member id comes back with it."""

    def then(step: Step, request: Request) -> None:
        member_id = _body(request).member_id if keep_id else NO_MEMBER_ID
        generation_id = step.profile.traits.refused_generation_id
        answer = JoinGroupResponse(error, generation_id, member_id=member_id)
        step.answer(request.request_id, answer)

    return then


def _member(step: Step, request: Request) -> Member:
    return cast("Member", step.existing.member(_body(request).member_id))


def _inconsistent(step: Step, request: Request) -> bool:
    """Not (Empty and something offered, or the same type and a protocol all support)."""
    group, body = step.existing, _body(request)
    if group.state is EMPTY:
        return not (body.protocol_type and body.protocols)
    return group.protocol_type != body.protocol_type or not any(
        supported_by_all(group.members, p.name) for p in body.protocols
    )


def inconsistent_in_use(step: Step, request: Request) -> bool:
    """The same, of a group that has members."""
    return bool(step.existing.members) and _inconsistent(step, request)


def _session_timeout_refused(step: Step, request: Request) -> bool:
    config, timeout_ms = step.config, _body(request).session_timeout_ms
    return not (
        config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms
    )


def _is_pending(step: Step, request: Request) -> bool:
    return step.existing.is_pending(_body(request).member_id)


def _is_no_member(step: Step, request: Request) -> bool:
    return step.existing.member(_body(request).member_id) is None


def _is_leader(step: Step, request: Request) -> bool:
    return step.existing.leader == _body(request).member_id


def _unchanged(step: Step, request: Request) -> bool:
    return _member(step, request).protocols == _body(request).protocols


def _give_id(step: Step, request: Request) -> None:
    group, member_id = step.existing, f"#{request.request_id}"
    pending = Pending(member_id, _body(request).session_timeout_ms)
    step.group = group._replace(pending=tuple(sorted((*group.pending, pending))))
    step.answer(
        request.request_id, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
    )


def _add_new(step: Step, request: Request) -> None:
    add_member(step, request, f"#{request.request_id}")


def _add_pending(step: Step, request: Request) -> None:
    add_member(step, request, _body(request).member_id)


def _rejoin(step: Step, request: Request) -> None:
    park_join(step, request, _member(step, request))
    maybe_prepare_rebalance(step)


def _admit(step: Step, request: Request) -> None:
    member = _member(step, request)
    step.answer(request.request_id, current_generation(step, member, step.existing.state))


def _is_full(step: Step, request: Request) -> bool:
    """Who waits already is counted, so that the last to join again are the ones too many.

    Source: GroupCoordinator.scala:131.
    """
    group, most = step.existing, step.config.group_max_size
    member = group.member(_body(request).member_id)
    if group.state is EMPTY:
        return False
    if group.state is PREPARING:
        waits = member is not None and member.awaiting_join is not None
        return not waits and sum(m.awaiting_join is not None for m in group.members) >= most
    return member is None and len(group.members) >= most


def _turn_away(step: Step, request: Request) -> None:
    """Kafka forgets the member id, and the instance id, each by itself."""
    body = _body(request)
    if step.existing.member(body.member_id) is not None:
        drop_members(step, [body.member_id])
    forget_instance(step, body.group_instance_id)
    refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, keep_id=False)(step, request)


def forget_turned_away(step: Step, request: Request) -> None:
    """Who is turned away is forgotten with all that is its own, an id given out too."""
    member_id = _body(request).member_id
    member = step.existing.member(member_id)
    if member is not None:
        drop_members(step, [member_id])
        forget_instance(step, member.group_instance_id)
    take_back(step, member_id)
    refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, keep_id=False)(step, request)


def _is_pending_static(step: Step, request: Request) -> bool:
    return _is_pending(step, request) and instance_of(request) is not None


FULL = Rule(
    "join/group-full",
    "the group has as many members as group.max.size allows",
    gc(184),
    when=_is_full,
    then=_turn_away,
)
GATE = (
    Rule(
        "join/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=refuse(ErrorCode.INVALID_GROUP_ID),
    ),
    *gate("join", refuse),
    Rule(
        "join/session-timeout-out-of-range",
        "the session timeout is outside group.min/max.session.timeout.ms",
        gc(172),
        when=_session_timeout_refused,
        then=refuse(ErrorCode.INVALID_SESSION_TIMEOUT),
    ),
    Rule(
        "join/no-group",
        "the group does not exist, and only a member without an id brings it into being",
        gc(180),
        when=lambda step, request: no_group(step, request) and bool(_body(request).member_id),
        then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
)

UNKNOWN = (
    FULL,
    Rule(
        "join/new-inconsistent",
        "it offers no protocol that every member supports",
        gc(220),
        when=_inconsistent,
        then=refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, keep_id=False),
    ),
    *static_members.RULES,
    Rule(
        "join/member-id-required",
        "from version 4 on a new dynamic member is first given an id and has to join with it",
        gc(227),
        when=lambda _step, request: request.api_version >= 4 and instance_of(request) is None,
        then=_give_id,
    ),
    Rule("join/new-member", "a new member is added, and waits", gc(238), then=_add_new),
)

KNOWN = (
    FULL,
    Rule(
        "join/inconsistent",
        "it offers no protocol that every member supports",
        gc(262),
        when=_inconsistent,
        then=refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    Rule(
        "join/pending-static",
        "an id given out to a dynamic member comes with a group.instance.id, and Kafka fails",
        gc(267),
        when=_is_pending_static,
        then=refuse(ErrorCode.UNKNOWN_SERVER_ERROR, keep_id=False),
    ),
    Rule(
        "join/pending-member",
        "the id was given out with MEMBER_ID_REQUIRED: its member is added, and waits",
        gc(264),
        when=_is_pending,
        then=_add_pending,
    ),
    Rule(
        "join/fenced",
        "another member has come back under the same group.instance.id",
        gc(277),
        when=fenced,
        then=refuse(ErrorCode.FENCED_INSTANCE_ID),
    ),
    Rule(
        "join/unknown-instance",
        "the group.instance.id stands for no member",
        gc(280),
        when=unregistered,
        then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "join/unknown-member",
        "the member id is not in the group",
        gc(280),
        when=_is_no_member,
        then=refuse(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "join/rejoin-preparing",
        "a member joins the rebalance that is being prepared, and waits",
        gc(289),
        when=lambda step, _request: step.existing.state is PREPARING,
        then=_rejoin,
    ),
    Rule(
        "join/repeated-completing",
        "a member joins again unchanged, as if it had missed the answer: it gets it once more",
        gc(293),
        when=lambda step, request: step.existing.state is COMPLETING and _unchanged(step, request),
        then=_admit,
    ),
    Rule(
        "join/changed-completing",
        "a member's metadata has changed, which forces a rebalance",
        gc(311),
        when=lambda step, _request: step.existing.state is COMPLETING,
        then=_rejoin,
    ),
    Rule(
        "join/leader-stable",
        "the leader joins again, which forces a rebalance",
        gc(316),
        when=lambda step, request: step.existing.state is STABLE and _is_leader(step, request),
        then=_rejoin,
    ),
    Rule(
        "join/changed-stable",
        "a member's metadata has changed, which forces a rebalance",
        gc(321),
        when=lambda step, request: step.existing.state is STABLE and not _unchanged(step, request),
        then=_rejoin,
    ),
    Rule(
        "join/repeated-stable",
        "a follower joins again unchanged: it is told the generation that stands",
        gc(326),
        then=_admit,
    ),
)
RULES = (*GATE, *UNKNOWN, *KNOWN)
