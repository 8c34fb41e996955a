"""Who waits until what was written is committed, and is told if the partition is lost before that.

Whatever an API answers without an error waits, from 4.1 on, until all that was written before it is
committed (`Step.answer`). A parked JoinGroup or SyncGroup is answered by the group, but it waits
here too: for nothing but the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupcheck.model.apis.end_txn import NOT_READY
from groupcheck.model.rules.session import propagate_assignment
from groupcheck.model.state import Append, GroupAppend, HeldAnswer, HeldRequest, StaticAppend
from groupcheck.model.step import Rule, Step, source
from groupcheck.model.storing.log import awaits, refuse_new_id
from groupcheck.model.vocabulary import (
    DeleteGroupsResponse,
    EndTxnResponse,
    ErrorCode,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    ResponseBody,
    SyncGroupResponse,
)

LOST = Rule(
    "log/answers-lost",
    "the partition is lost before all that was written is committed, and who waits for that is "
    "told",
    source("CoordinatorRuntime.java")(747),
)


def hold_request(step: Step, request_id: int, *, joins: bool) -> None:
    """A request is parked while something is written that is not committed."""
    if step.committed is not None:
        step.appends = (*step.appends, HeldRequest(request_id, joins))


def lose(step: Step, error: ErrorCode) -> None:
    """All that waits fails, in order."""
    waiting, step.appends = step.appends, ()
    if waiting:
        step.fire(LOST)
    for entry in waiting:
        _lose_one(step, entry, error)


def _lose_one(step: Step, entry: Append, error: ErrorCode) -> None:
    if isinstance(entry, HeldAnswer):
        step.answer(entry.request_id, FAILED[entry.api](entry.body, error))
    elif isinstance(entry, StaticAppend):
        refuse_new_id(step, entry._replace(error=error))
    elif isinstance(entry, GroupAppend):
        if awaits(step.group, entry):
            propagate_assignment(step, error)
        _tell(step, entry.request_id, SyncGroupResponse(error))
    elif isinstance(entry, HeldRequest):
        answer = JoinGroupResponse(error) if entry.joins else SyncGroupResponse(error)
        _tell(step, entry.request_id, answer)


def _tell(step: Step, request_id: int | None, answer: ResponseBody) -> None:
    """Answer a parked request, if nobody has yet."""
    if request_id is not None and all(r.request_id != request_id for r in step.responses):
        step.answer(request_id, answer)


def _all_topics(body: Any, error: ErrorCode) -> ResponseBody:  # noqa: ANN401 - either commit's
    """The answer to a commit with the error for each partition."""
    topics = tuple(
        topic._replace(partitions=tuple(p._replace(error_code=error) for p in topic.partitions))
        for topic in body.topics
    )
    answer: ResponseBody = body._replace(topics=topics)
    return answer


def _all_groups(body: Any, error: ErrorCode) -> ResponseBody:  # noqa: ANN401 - DeleteGroups's
    return DeleteGroupsResponse(tuple(r._replace(error_code=error) for r in body.results))


# What each API is answered with an error instead (GroupCoordinatorService.java:1996 and the like).
FAILED: Final[Mapping[str, Callable[[Any, ErrorCode], ResponseBody]]] = {
    "Heartbeat": lambda _body, error: HeartbeatResponse(error),
    "LeaveGroup": lambda _body, error: LeaveGroupResponse(error),
    "OffsetCommit": _all_topics,
    "TxnOffsetCommit": _all_topics,
    "OffsetFetch": lambda _body, error: OffsetFetchResponse(error),
    "EndTxn": lambda _body, error: EndTxnResponse(NOT_READY.get(error, error)),
    "OffsetDelete": lambda _body, error: OffsetDeleteResponse(error),
    "DeleteGroups": _all_groups,
}
