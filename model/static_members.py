"""Static members that come back without their member id (KIP-345, GroupCoordinator.scala:1029).

Who joins with a group.instance.id that stands for a member takes that member's place under a new
id; the old id is fenced.
"""

from __future__ import annotations

from typing import cast

from groupcheck.model.log import append
from groupcheck.model.rebalance import (
    COMPLETING,
    STABLE,
    park_join,
    prepare_rebalance,
    vote_winners,
)
from groupcheck.model.session import rearm_session
from groupcheck.model.state import Group, Member, StaticAppend, put
from groupcheck.model.step import Open, Rule, Step, gc, gm, instance_of
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
    SyncGroupResponse,
)


def comes_back(step: Step, request: Request) -> bool:
    """Whether the request's group.instance.id stands for a member already."""
    return step.existing.static(instance_of(request)) is not None


def _is_gone(step: Step, request: Request) -> bool:
    return comes_back(step, request) and _place(step.existing, request) is None


def _in_stable(step: Step, request: Request) -> bool:
    return comes_back(step, request) and step.existing.state is STABLE


def _selects_the_same(step: Step, request: Request) -> bool:
    """In Stable, whether the vote would go to the same protocol as before."""
    if not _in_stable(step, request):
        return False
    body: JoinGroupRequest = request.body  # type: ignore[assignment]
    group = step.existing
    place = cast("Member", _place(group, request))
    voters = group.with_member(place._replace(protocols=body.protocols)).members
    return step.choose(Open.VOTE_TIE, vote_winners(voters)) == group.protocol_name


def _place(group: Group, request: Request) -> Member | None:
    """The member whose place is taken."""
    return group.member(group.static(instance_of(request)) or "")


def _take_place(step: Step, request: Request) -> Member:
    """The member goes on under a new id, its new JoinGroup parked (GroupMetadata.scala:305)."""
    old = cast("Member", _place(step.existing, request))
    member_id = f"#{request.request_id}"
    _fence_parked(step, old)
    _rename(step, old, member_id)
    renewed = rearm_session(step, cast("Member", step.existing.member(member_id)))
    park_join(step, request, renewed)
    return cast("Member", step.existing.member(member_id))


def _fence_parked(step: Step, member: Member) -> None:
    """Whoever waits under the old id is told that it is fenced (GroupMetadata.scala:315)."""
    if member.awaiting_join is not None:
        refusal = JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=member.member_id)
        step.answer(member.awaiting_join, refusal)
    if member.awaiting_sync is not None:
        step.answer(member.awaiting_sync, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))


def _rename(step: Step, old: Member, member_id: str) -> None:
    group = step.existing
    renewed = old._replace(member_id=member_id, awaiting_join=None, awaiting_sync=None, told=False)
    others = (m for m in group.members if m.member_id != old.member_id)
    step.group = group._replace(
        members=tuple(sorted((*others, renewed))),
        leader=member_id if group.leader == old.member_id else group.leader,
        statics=put(group.statics, cast("str", old.group_instance_id), member_id),
    )
    step.appends = tuple(
        a._replace(member_id=member_id)
        if isinstance(a, StaticAppend) and a.member_id == old.member_id
        else a
        for a in step.appends
    )


def _fail(step: Step, request: Request) -> None:
    step.answer(request.request_id, JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR))


def _store(step: Step, request: Request) -> None:
    """The new id goes to the log; the answer names who led before, so that nobody assigns again.

    Its session runs while it waits, unlike that of others whose JoinGroup is parked: nothing will
    start it anew.
    """
    led_before = step.existing.leader
    member = _take_place(step, request)
    running = member._replace(session_left_ms=member.session_timeout_ms)
    step.group = step.existing.with_member(running)
    append(step, StaticAppend(member.member_id, member.member_id, led_before))


def _rebalance(step: Step, request: Request) -> None:
    _take_place(step, request)
    prepare_rebalance(step)


def _wait(step: Step, request: Request) -> None:
    _take_place(step, request)


RULES = (
    Rule(
        "join/static-gone",
        "the group.instance.id stands for a member that was removed without it, and Kafka fails",
        gm(312),
        when=_is_gone,
        then=_fail,
    ),
    Rule(
        "join/static-unchanged",
        "a static member is back in a stable group and the vote stands: it gets a new id, stored",
        gc(1053),
        when=_selects_the_same,
        then=_store,
    ),
    Rule(
        "join/static-changed",
        "a static member is back in a stable group, and the vote would go to another protocol",
        gc(1090),
        when=_in_stable,
        then=_rebalance,
    ),
    Rule(
        "join/static-completing",
        "a static member is back before the assignments came, which know its old id only",
        gc(1098),
        when=lambda step, request: comes_back(step, request) and step.existing.state is COMPLETING,
        then=_rebalance,
    ),
    Rule(
        "join/static-preparing",
        "a static member is back while a rebalance is being prepared, and waits for it",
        gc(1102),
        when=comes_back,
        then=_wait,
    ),
)
