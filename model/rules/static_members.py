"""Static members that come back without their member id (KIP-345, GroupCoordinator.scala:1029).

Who joins with a group.instance.id that stands for a member takes that member's place under a new
id; the old id is fenced.
"""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model.nondeterminism import Open
from groupcheck.model.rules.rebalance import (
    COMPLETING,
    STABLE,
    park_join,
    prepare_rebalance,
    vote_winners,
)
from groupcheck.model.rules.replacement import replace
from groupcheck.model.rules.session import rearm_session
from groupcheck.model.state import Group, Member, StaticAppend
from groupcheck.model.step import Rule, Step, gc, gm, instance_of, source
from groupcheck.model.storing.log import store_new_id
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
)

SKIPS_SINCE: Final = 9  # the version of JoinGroup in which a leader may be told to (KIP-814)


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


def _may_skip(_step: Step, request: Request) -> bool:
    return request.api_version >= SKIPS_SINCE


def _selects_the_same_and_may_skip(step: Step, request: Request) -> bool:
    return _may_skip(step, request) and _selects_the_same(step, request)


def selects_the_same_and_may_not_skip(step: Step, request: Request) -> bool:
    """The same of a client that knows nothing of skipping: each version votes once."""
    return not _may_skip(step, request) and _selects_the_same(step, request)


def _place(group: Group, request: Request) -> Member | None:
    """The member whose place is taken."""
    return group.member(group.static(instance_of(request)) or "")


def _take_place(step: Step, request: Request) -> Member:
    """The member goes on under a new id, its new JoinGroup parked (GroupMetadata.scala:305)."""
    old = cast("Member", _place(step.existing, request))
    renewed = replace(step, old, f"#{request.request_id}")
    park_join(step, request, rearm_session(step, renewed))
    return cast("Member", step.existing.member(renewed.member_id))


def _fail(step: Step, request: Request) -> None:
    step.answer(request.request_id, JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR))


def _store(step: Step, request: Request) -> None:
    """The new id goes to the log; the answer names who led before, so that nobody assigns again."""
    before = step.existing
    old, member = _take_place_alive(step, request)
    store_new_id(step, StaticAppend(member.member_id, member.member_id, before.leader), old, before)


def _store_and_tell(step: Step, request: Request) -> None:
    """The new id goes to the log; the answer names who leads by then, and tells a leader whom."""
    before = step.existing
    old, member = _take_place_alive(step, request)
    entry = StaticAppend(member.member_id, member.member_id, before.leader, current=True)
    store_new_id(step, entry, old, before)


def _take_place_alive(step: Step, request: Request) -> tuple[Member, Member]:
    """The member as it was, and under its new id.

    Its session runs while it waits, unlike that of others whose JoinGroup is parked: nothing will
    start it anew. It is as long as before, even if the timeouts of the request count.

    Source: GroupCoordinator.scala:1053, 4.1 GroupMetadataManager.java:7227.
    """
    old = cast("Member", _place(step.existing, request))
    member = _take_place(step, request)
    member = member._replace(session_left_ms=old.session_timeout_ms)
    step.group = step.existing.with_member(member)
    return old, member


def _rebalance(step: Step, request: Request) -> None:
    _take_place(step, request)
    prepare_rebalance(step)


def _wait(step: Step, request: Request) -> None:
    _take_place(step, request)


RESTARTED = Rule(
    "join/static-restarted",
    "a static member is back in a stable group and the vote stands: it gets a new id, stored, and "
    "from version 9 on a leader is told the members too, and that it need not assign again",
    source("GroupMetadataManager.java")(7274),
    when=_selects_the_same_and_may_skip,
    then=_store_and_tell,
)
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
