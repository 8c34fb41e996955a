"""LeaveGroup (2.7 GroupCoordinator.scala:454): one member, or a batch from version 3 on."""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.rules.guards import (
    DEFERRED,
    EMPTY,
    PREPARING,
    Checks,
    body_of,
    reply_with,
)
from groupcheck.model.classic.rules.members import drop_pending
from groupcheck.model.classic.rules.membership import END_JOIN_PHASE, REBALANCE, REMOVE_MEMBER
from groupcheck.model.classic.rules.rebalance import check_join_complete, maybe_prepare_rebalance
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Member
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.completions import error_to_commit
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    VersionRule,
    decide,
    rule,
    single,
    table,
)
from groupcheck.model.vocabulary import ErrorCode, Request

API: Final = "LeaveGroup"

_body: Final = body_of(kafka.LeaveGroupRequest)


_reply: Final = reply_with(kafka.LeaveGroupResponse)
_check: Final = Checks(_reply)


def _answer_all_unknown(step: Step, request: Request) -> None:
    members = tuple(
        kafka.MemberResponse(m.member_id, m.group_instance_id, ErrorCode.UNKNOWN_MEMBER_ID)
        for m in _body(request).members
    )
    step.answer(request.request_id, kafka.LeaveGroupResponse(ErrorCode.NONE, members))


def _owner(step: Step, identity: kafka.MemberIdentity) -> str | None:
    """The member id that the group.instance.id belongs to."""
    return step.existing.static(identity.group_instance_id)


def _is_fenced(step: Step, identity: kafka.MemberIdentity) -> bool:
    return bool(identity.member_id) and _owner(step, identity) not in {None, identity.member_id}


def _is_unknown(step: Step, identity: kafka.MemberIdentity) -> bool:
    return _owner(step, identity) is None and step.existing.member(identity.member_id) is None


def _is_static_gone(step: Step, identity: kafka.MemberIdentity) -> bool:
    owner = _owner(step, identity)
    return owner is not None and step.existing.member(owner) is None


def _leaver(step: Step, identity: kafka.MemberIdentity) -> Member:
    return cast("Member", step.existing.member(_owner(step, identity) or identity.member_id))


TOGETHER: Final = Behaviour(
    "members-leave-together",
    API,
    "LeaveGroup first removes all named members and pending ids, and then starts a rebalance or "
    "ends the join phase, even if only pending ids have left",
    at("", "", "", "GMM:7969"),
)


_IS_PENDING: Final = Guard(
    "the member id is pending", lambda step, identity: step.existing.is_pending(identity.member_id)
)
LEAVE_ONE: Final = table(
    "One member of LeaveGroup",
    API,
    rule(
        "leave/fenced",
        "another member has joined with the same group.instance.id: the member's "
        "result is FENCED_INSTANCE_ID",
        at("", "", "GC:475", "CG:810"),
        Guard("the group.instance.id belongs to another member", _is_fenced),
        deferred=DEFERRED,
    ),
    rule(
        "leave/pending-static",
        "the request has a group.instance.id and the pending id of a dynamic member: Kafka "
        "throws an exception",
        at("", "", "GC:479"),
        _IS_PENDING,
        Guard(
            "the request has a group.instance.id",
            lambda _step, identity: identity.group_instance_id is not None,
        ),
    ),
    rule(
        "leave/pending-member",
        "the member id is pending: it is removed",
        at("", "", "GC:477", "GMM:7933"),
        _IS_PENDING,
        Effect(
            "remove the pending member id",
            lambda step, identity: drop_pending(step, identity.member_id),
        ),
        END_JOIN_PHASE.only(at("", "", "GC:485")),
        deferred=DEFERRED,
    ),
    rule(
        "leave/unknown-instance",
        "the group.instance.id belongs to no member: the member's result is UNKNOWN_MEMBER_ID",
        at("", "", "", "CG:805"),
        Guard(
            "the group.instance.id belongs to no member",
            lambda step, identity: (
                identity.group_instance_id is not None and _owner(step, identity) is None
            ),
        ),
        deferred=DEFERRED,
    ),
    rule(
        "leave/unknown-member",
        "the member id is not in the group: the member's result is UNKNOWN_MEMBER_ID",
        at("GC:327", "GC:321", "GC:489", "GMM:7957"),
        Guard("the member id is not in the group", _is_unknown),
        deferred=DEFERRED,
    ),
    rule(
        "leave/static-removed",
        "the group.instance.id still refers to a member that was removed: Kafka throws an "
        "exception",
        at("", "", "GC:493"),
        Guard("the member with the group.instance.id was removed", _is_static_gone),
    ),
    rule(
        "leave/member",
        "the member leaves",
        at("GC:330", "GC:324", "GC:492", "GMM:7946"),
        Effect(
            "remove the member", lambda step, identity: REMOVE_MEMBER(step, _leaver(step, identity))
        ),
        REBALANCE.only(at("GC:332", "GC:326", "GC:499")),
        deferred=DEFERRED,
    ),
    moves={
        "4.1": (
            ("leave/pending-member", "leave/fenced"),
            ("leave/unknown-instance", "leave/fenced"),
        )
    },
)
ERRORS: Final = {
    "leave/unknown-member": ErrorCode.UNKNOWN_MEMBER_ID,
    "leave/unknown-instance": ErrorCode.UNKNOWN_MEMBER_ID,
    "leave/fenced": ErrorCode.FENCED_INSTANCE_ID,
}
FAILURES: Final = frozenset({"leave/pending-static", "leave/static-removed"})


def _leave(step: Step, identity: kafka.MemberIdentity) -> str:
    """Let one member leave. Returns the id of the rule applied; there is always one."""
    return cast("VersionRule", decide(step, LEAVE_ONE, identity)).id


def _leave_one_by_one(step: Step, request: Request) -> None:
    """Each member of a batch leaves before the next one is checked."""
    applied: list[str] = []
    for identity in _body(request).members:
        applied.append(_leave(step, identity))
        if applied[-1] in FAILURES:
            failure = kafka.LeaveGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
            step.answer(request.request_id, failure, applied[-1])
            return
    _answer_each(step, request, applied)


def _leave_together(step: Step, request: Request) -> None:
    """All members are removed before a rebalance is prepared or the join phase ends."""
    applied: list[str] = []
    for identity in _body(request).members:
        applied.append(_leave(step, identity))
        if applied[-1] == "leave/member" and not TOGETHER(step):
            _look_again(step)
    if TOGETHER(step) and not all(rule in ERRORS for rule in applied):
        _look_again(step)
    if step.failed is ErrorCode.NONE:
        _answer_each(step, request, applied)
    else:
        decide(step, LEAVE_NOT_STORED, request)


def _look_again(step: Step) -> None:
    """Prepare a rebalance, or end its join phase, without the members that left."""
    state = step.existing.state
    if state is PREPARING:
        check_join_complete(step)
    elif state is not EMPTY:
        maybe_prepare_rebalance(step)


def _answer_not_stored(step: Step, request: Request) -> None:
    step.answer(request.request_id, kafka.LeaveGroupResponse(error_to_commit(step, step.failed)))


LEAVE_NOT_STORED: Final = single(
    "LeaveGroup whose record fails",
    API,
    "leave/empty-not-stored",
    "all members have left, and the record of the empty group cannot be stored",
    at("", "", "", "GMM:7993"),
    Effect("answer with the mapped error", _answer_not_stored),
)


def _answer_each(step: Step, request: Request, applied: list[str]) -> None:
    identities = _body(request).members
    members = tuple(
        kafka.MemberResponse(
            identity.member_id, identity.group_instance_id, ERRORS.get(rule, ErrorCode.NONE)
        )
        for identity, rule in zip(identities, applied, strict=True)
    )
    # A rule that answers an error explains the answer best.
    reasons = [rule for rule in applied if rule in ERRORS] + applied[-1:]
    answer = kafka.LeaveGroupResponse(ErrorCode.NONE, members)
    step.answer(request.request_id, answer, reasons[0] if reasons else None)


LEAVE: Final = table(
    "LeaveGroup",
    API,
    _check("leave/invalid-group-id", at("", "", "GC:857", "GCS:997")),
    _check("leave/not-active", at("GC:309", "GC:304", "GC:859", "GCS:991")),
    _check("leave/loading", at("", "", "GC:861", "CR:2207")),
    _check("leave/not-coordinator", at("GC:311", "GC:306", "GC:863", "CR:2209")),
    _check(
        "leave/no-group",
        at("GC:317", "GC:312", "GC:462", "GMM:7811"),
        Effect("answer UNKNOWN_MEMBER_ID for each member", _answer_all_unknown),
    ),
    rule(
        "leave/batch",
        "the named members leave one after the other",
        at("GC:324", "GC:319", "GC:471"),
        Effect(
            "process the named members one after the other, then answer with a result for each",
            _leave_one_by_one,
        ),
    ),
    rule(
        "leave/together",
        "all named members leave before a rebalance begins or the join phase ends",
        at("", "", "", "GMM:7909"),
        Effect(
            "remove all named members, then rebalance once, then answer with a result for each",
            _leave_together,
        ),
        deferred=DEFERRED,
    ),
    moves={"4.1": (("leave/not-active", "leave/invalid-group-id"),)},
)
PARTS: Final = (TOGETHER, LEAVE, LEAVE_ONE, LEAVE_NOT_STORED)
