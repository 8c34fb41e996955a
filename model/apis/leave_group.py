"""LeaveGroup (GroupCoordinator.scala:454): one member, or from version 3 on a batch of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.rebalance import (
    EMPTY,
    PREPARING,
    check_join_complete,
    maybe_prepare_rebalance,
    remove_member,
    remove_pending,
    take_back,
    take_out,
)
from groupcheck.model.state import Group, Member
from groupcheck.model.step import Rule, Step, decide, gc, no_group, source
from groupcheck.model.vocabulary import (
    ErrorCode,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    Request,
)

PENDING = Rule(
    "leave/pending-member", "the id was given out and not used yet: it is taken back", gc(477)
)
UNKNOWN = Rule("leave/unknown-member", "the member id is not in the group", gc(489))
REMOVED = Rule("leave/member", "the member leaves", gc(492))
FENCED = Rule(
    "leave/fenced", "another member has come back under the same group.instance.id", gc(475)
)
PENDING_STATIC = Rule(
    "leave/pending-static",
    "an id given out to a dynamic member comes with a group.instance.id, and Kafka fails",
    gc(479),
)
UNKNOWN_INSTANCE = Rule(
    "leave/unknown-instance",
    "the group.instance.id stands for no member",
    source("ClassicGroup.java")(805),
)
STATIC_GONE = Rule(
    "leave/static-gone",
    "the group.instance.id stands for a member that was removed without it, and Kafka fails",
    gc(493),
)
ERRORS: Final = {
    UNKNOWN.name: ErrorCode.UNKNOWN_MEMBER_ID,
    UNKNOWN_INSTANCE.name: ErrorCode.UNKNOWN_MEMBER_ID,
    FENCED.name: ErrorCode.FENCED_INSTANCE_ID,
}
FAILS: Final = (PENDING_STATIC, STATIC_GONE)


def leave_group(step: Step, request: Request) -> None:
    """The API; each member of a batch leaves before the next is looked at."""
    decide(step, request, step.profile.leave_group)


def _body(request: Request) -> LeaveGroupRequest:
    return cast("LeaveGroupRequest", request.body)


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(request.request_id, LeaveGroupResponse(error))


def _refuse_all(step: Step, request: Request) -> None:
    members = tuple(
        MemberResponse(m.member_id, m.group_instance_id, ErrorCode.UNKNOWN_MEMBER_ID)
        for m in _body(request).members
    )
    step.answer(request.request_id, LeaveGroupResponse(ErrorCode.NONE, members))


def _judge(group: Group, identity: MemberIdentity) -> Rule:
    """What becomes of one member of the batch.

    A group.instance.id goes before the member id, and one that nobody has does not matter.
    """
    member_id, instance_id = identity
    stands_for = group.static(instance_id)
    rule = REMOVED
    if member_id and stands_for not in {None, member_id}:
        rule = FENCED
    elif group.is_pending(member_id):
        rule = PENDING if instance_id is None else PENDING_STATIC
    elif stands_for is None and group.member(member_id) is None:
        rule = UNKNOWN
    elif stands_for is not None and group.member(stands_for) is None:
        rule = STATIC_GONE
    return rule


def _judge_together(group: Group, identity: MemberIdentity) -> Rule:
    """The same of a batch that leaves together.

    Of an id that was given out the group.instance.id does not matter; else it has to be known.
    """
    member_id, instance_id = identity
    stands_for = group.static(instance_id)
    rule = REMOVED
    if group.is_pending(member_id):
        rule = PENDING
    elif instance_id is not None and stands_for is None:
        rule = UNKNOWN_INSTANCE
    elif member_id and stands_for not in {None, member_id}:
        rule = FENCED
    elif stands_for is None and group.member(member_id) is None:
        rule = UNKNOWN
    return rule


def _leave_one(
    step: Step,
    identity: MemberIdentity,
    rule: Rule,
    end_pending: Callable[[Step, str], None],
    end_member: Callable[[Step, Member], None],
) -> None:
    """One member of the batch leaves, if it does."""
    member_id, instance_id = identity
    step.fire(rule)
    if rule is PENDING:
        end_pending(step, member_id)
    elif rule is REMOVED:
        leaver = step.existing.static(instance_id) or member_id
        end_member(step, cast("Member", step.existing.member(leaver)))


def _leave(step: Step, request: Request) -> None:
    identities = _body(request).members
    rules: list[Rule] = []
    for identity in identities:
        rules.append(_judge(step.existing, identity))
        _leave_one(step, identity, rules[-1], remove_pending, remove_member)
        if rules[-1] in FAILS:
            failure = LeaveGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
            step.answer(request.request_id, failure, rules[-1].name)
            return
    _answer_each(step, request, rules)


def _leave_together(step: Step, request: Request) -> None:
    """All are taken out before the group is looked at again; a pending id counts as a member."""
    identities = _body(request).members
    rules: list[Rule] = []
    for identity in identities:
        rules.append(_judge_together(step.existing, identity))
        _leave_one(step, identity, rules[-1], take_back, take_out)
    if not all(rule.name in ERRORS for rule in rules):
        _look_again(step)
    if step.failed is ErrorCode.NONE:
        _answer_each(step, request, rules)
    else:
        step.fire(EMPTY_NOT_STORED)
        error = step.profile.commit_errors.get(step.failed, step.failed)
        step.answer(request.request_id, LeaveGroupResponse(error))


def _look_again(step: Step) -> None:
    """Begin a rebalance, or end its join phase, without those who left."""
    state = step.existing.state
    if state is PREPARING:
        check_join_complete(step)
    elif state is not EMPTY:
        maybe_prepare_rebalance(step)


EMPTY_NOT_STORED = Rule(
    "leave/empty-not-stored",
    "all have left, and that the group is empty cannot be stored",
    source("GroupMetadataManager.java")(7993),
)
TOGETHER = Rule(
    "leave/together",
    "the members named leave, and only then is the group looked at again",
    source("GroupMetadataManager.java")(7909),
    then=_leave_together,
)


def _answer_each(step: Step, request: Request, rules: list[Rule]) -> None:
    identities = _body(request).members
    members = tuple(
        MemberResponse(
            identity.member_id,
            identity.group_instance_id,
            ERRORS.get(rule.name, ErrorCode.NONE),
        )
        for identity, rule in zip(identities, rules, strict=True)
    )
    # What needs a reason is mostly a refusal.
    refused = [rule for rule in rules if rule.name in ERRORS]
    reasons = [rule.name for rule in (*refused, *rules[-1:])]
    answer = LeaveGroupResponse(ErrorCode.NONE, members)
    step.answer(request.request_id, answer, reasons[0] if reasons else None)


DECISIONS = (
    Rule(
        "leave/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=_refuse(ErrorCode.INVALID_GROUP_ID),
    ),
    *gate("leave", _refuse),
    Rule(
        "leave/no-group",
        "the group does not exist",
        gc(462),
        when=no_group,
        then=_refuse_all,
    ),
    Rule("leave/batch", "the members named leave one by one", gc(471), then=_leave),
)
RULES = (*DECISIONS, PENDING, UNKNOWN, REMOVED, FENCED, PENDING_STATIC, STATIC_GONE)
