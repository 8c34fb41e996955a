"""Laws of answers: every request has one at most, and commits are taken from whom they may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.rules.membership import ANSWER_REMOVED, REMOVE_MEMBER
from groupcheck.model.rules.retention import ageless
from groupcheck.model.state import (
    Member,
    OffsetsAppend,
    ReleaseAppends,
)
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Request,
    SyncGroupRequest,
)
from groupcheck.properties.temporal.step import (
    CheckedStep,
    Property,
    answer_of,
    answered_if_lost,
    appended,
    waiting,
)

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
COMPLETING, STABLE = GroupState.COMPLETING_REBALANCE, GroupState.STABLE
WITHOUT_MEMBERS: Final = frozenset({EMPTY, GroupState.DEAD})


def _accepted(step: CheckedStep) -> bool:
    """Whether the step takes a commit: answers that it is stored, stores it, or starts to.

    What a release or a marker makes readable was taken before.
    """
    answer = answer_of(step)
    topics = answer.topics if isinstance(answer, OffsetCommitResponse) else ()
    errors = {partition.error_code for topic in topics for partition in topic.partitions}
    stored = bool(step.new.offsets) and not (
        {*ageless(step.new).offsets} <= {*ageless(step.old).offsets}
    )
    late = isinstance(step.given, ReleaseAppends) or isinstance(step.body, EndTxnRequest)
    starts = any(isinstance(e, OffsetsAppend) and e.producer_id is None for e in appended(step))
    return ErrorCode.NONE in errors or (stored and not late) or starts


def _commits_are_current(step: CheckedStep) -> bool:
    if not _accepted(step):
        return True
    body = step.body
    if not isinstance(body, OffsetCommitRequest):
        return False
    simple = body.generation_id < 0 and step.old.state in WITHOUT_MEMBERS
    current = body.generation_id == step.old.generation_id and step.old.state is not COMPLETING
    return simple or (step.old.member(body.member_id) is not None and current)


def _asked(step: CheckedStep) -> set[int]:
    """The requests that may be answered by this step."""
    new = {step.given.request_id} if isinstance(step.given, Request) else set()
    return waiting(step.before) | new


def _answered_once(step: CheckedStep) -> bool:
    ids = [response.request_id for response in step.responses]
    asked = _asked(step) | answered_if_lost(step.before)
    return len(set(ids)) == len(ids) and set(ids) <= asked - waiting(step.after)


def _lost_requests_allowed(step: CheckedStep) -> bool:
    answered = {response.request_id for response in step.responses}
    lost = _asked(step) - answered - waiting(step.after)
    return all(any(_may_lose(step, m, i) for m in step.old.members) for i in lost)


def _is_taken(step: CheckedStep) -> bool:
    """Whether the request of the step is not refused: it waits, or was answered without error."""
    own = getattr(step.given, "request_id", None)
    answers = (r.body for r in step.responses if r.request_id == own)
    refused = any(getattr(body, "error_code", ErrorCode.NONE) for body in answers)
    return not refused


def _may_lose(step: CheckedStep, member: Member, request_id: int) -> bool:
    """Whether that is a parked request of that member which may be left without an answer."""
    body = step.body
    gone = step.new.member(member.member_id) is None
    again = getattr(body, "member_id", None) == member.member_id and _is_taken(step)
    if request_id == member.awaiting_sync:
        return gone or (again and isinstance(body, SyncGroupRequest))
    if request_id == member.awaiting_join:
        untold = gone and not REMOVE_MEMBER.has(step.profile.version, ANSWER_REMOVED)
        return untold or (again and isinstance(body, JoinGroupRequest))
    return False


ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "commits-are-current",
        "offsets are committed by members of the current generation that need not wait for their "
        "assignments, or without a generation into a group that is Empty or does not exist",
        "GroupCoordinator.scala:764",
    ): _commits_are_current,
    Property(
        "answered-once",
        "every request is answered at most once, and waits no longer once it is",
        "GroupMetadata.scala:515",
    ): _answered_once,
    Property(
        "unanswered-requests",
        "a request stays without an answer only if it is a join or sync that its member sent "
        "anew, a sync whose member is gone or, where the version says so, a join whose member "
        "is gone",
        "GroupCoordinator.scala:408",
    ): _lost_requests_allowed,
}
