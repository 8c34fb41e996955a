"""Properties of requests: commits, responses, fencing and the size of a group."""

from __future__ import annotations

from groupcheck.model.classic.rules.membership import ANSWER_REMOVED, REMOVE_MEMBER
from groupcheck.model.classic.rules.retention import ageless
from groupcheck.model.classic.state import Member, OffsetsAppend, ReleaseAppends
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Request,
    SyncGroupRequest,
)
from groupcheck.properties.temporal.property import action_property
from groupcheck.properties.temporal.step import (
    WITHOUT_MEMBERS,
    CheckedStep,
    answered_if_lost,
    appended,
    waiting,
)


def _accepts_commit(step: CheckedStep) -> bool:
    """Whether the step answers that a commit is stored, stores it, or appends it.

    A release or a marker makes offsets readable that an earlier step accepted.
    """
    errors = step.errors if isinstance(step.answer, OffsetCommitResponse) else []
    stored = bool(step.new.offsets) and not (
        {*ageless(step.new).offsets} <= {*ageless(step.old).offsets}
    )
    late = isinstance(step.given, ReleaseAppends) or isinstance(step.body, EndTxnRequest)
    starts = any(isinstance(e, OffsetsAppend) and e.producer_id is None for e in appended(step))
    return ErrorCode.NONE in errors or (stored and not late) or starts


@action_property("commits-are-current", "GroupCoordinator.scala:764")
def _commits_are_current(step: CheckedStep) -> bool:
    """Only members of the current generation commit offsets, and not in CompletingRebalance.

    A commit without a generation is accepted if the group is Empty or does not exist.
    """
    if not _accepts_commit(step):
        return True
    body = step.body
    if not isinstance(body, OffsetCommitRequest):
        return False
    simple = body.generation_id < 0 and step.old.state in WITHOUT_MEMBERS
    completing = step.old.state is GroupState.COMPLETING_REBALANCE
    current = body.generation_id == step.old.generation_id and not completing
    return simple or (step.old.member(body.member_id) is not None and current)


def _answerable(step: CheckedStep) -> set[int]:
    """The requests without a response before the step, and the request of the step."""
    new = {step.given.request_id} if isinstance(step.given, Request) else set()
    return waiting(step.before) | new


@action_property("answered-once", "GroupMetadata.scala:515")
def _answered_once(step: CheckedStep) -> bool:
    """A request gets at most one response, and is no longer parked after it."""
    ids = [response.request_id for response in step.responses]
    answerable = _answerable(step) | answered_if_lost(step.before)
    return len(set(ids)) == len(ids) and set(ids) <= answerable - waiting(step.after)


def _may_lose(step: CheckedStep, member: Member, request_id: int) -> bool:
    """Whether this is a parked request of the member that may stay without a response."""
    body = step.body
    own = getattr(step.given, "request_id", None)
    answers = (r.body for r in step.responses if r.request_id == own)
    refused = any(getattr(each, "error_code", ErrorCode.NONE) for each in answers)
    again = getattr(body, "member_id", None) == member.member_id and not refused
    removed = step.new.member(member.member_id) is None
    if request_id == member.awaiting_sync:
        return removed or (again and isinstance(body, SyncGroupRequest))
    if request_id == member.awaiting_join:
        silent = removed and not REMOVE_MEMBER.has(step.profile.version, ANSWER_REMOVED)
        return silent or (again and isinstance(body, JoinGroupRequest))
    return False


@action_property("unanswered-requests", "GroupCoordinator.scala:408")
def _unanswered_requests(step: CheckedStep) -> bool:
    """A request stays without a response only if its member replaced it or was removed.

    A member replaces its parked JoinGroup or SyncGroup by sending another one. A removed member
    gets no response to its SyncGroup and, in some versions, to its JoinGroup.
    """
    answered = {response.request_id for response in step.responses}
    lost = _answerable(step) - answered - waiting(step.after)
    return all(any(_may_lose(step, m, i) for m in step.old.members) for i in lost)


@action_property("unique-instance-ids", "GroupMetadata.scala:305")
def _unique_instance_ids(step: CheckedStep) -> bool:
    """No two members have the same group.instance.id."""
    named = [m.group_instance_id for m in step.new.members if m.group_instance_id is not None]
    return len(set(named)) == len(named)


def _is_of_another(step: CheckedStep, entry: object) -> bool:
    """Whether the instance id of the entry belongs to another member id."""
    owner = step.old.static(getattr(entry, "group_instance_id", None))
    return owner is not None and getattr(entry, "member_id", "") not in {"", owner}


@action_property("fencing", "GroupMetadata.scala:399", Request)
def _fencing(step: CheckedStep) -> bool:
    """A request whose group.instance.id belongs to another member is rejected."""
    # Kafka checks other things first, so the error code varies.
    named = getattr(step.body, "members", None) or (step.body,)
    missing = len(named) - len(step.errors)
    errors = [*step.errors, *[ErrorCode.NONE] * missing]  # without a response it is accepted
    return not any(
        _is_of_another(step, entry) and error is ErrorCode.NONE
        for entry, error in zip(named, errors, strict=False)
    )


@action_property("max-size", "GroupCoordinator.scala:131")
def _max_size(step: CheckedStep) -> bool:
    """The end of a join phase admits at most group.max.size members."""
    completing = step.new.state is GroupState.COMPLETING_REBALANCE
    if "rebalance/complete" not in step.applied or not completing:
        return True
    admitted = [
        r
        for r in step.responses
        if isinstance(r.body, JoinGroupResponse) and r.body.error_code is ErrorCode.NONE
    ]
    return len(admitted) <= step.group_max_size
