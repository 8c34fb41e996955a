"""Answers that wait until every record is committed, and fail if the partition is lost first.

From 4.1 on, an answer without an error waits until every record written before it is committed
(`Step.answer`). The group answers a parked JoinGroup or SyncGroup; it waits here too, but only for
the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.apis import delete_groups
from groupcheck.model.classic.apis.end_txn import NOT_READY
from groupcheck.model.classic.rules.session import answer_parked_syncs
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    Append,
    GroupAppend,
    HeldAnswer,
    HeldDeletion,
    HeldRequest,
    StaticAppend,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.completions import awaits
from groupcheck.model.classic.storing.new_ids import refuse_new_id
from groupcheck.model.engine.rules import Effect, Guard, decide, single
from groupcheck.model.vocabulary import ErrorCode, ResponseBody

AREA: Final = "log"


def hold_request(step: Step, request_id: int, *, joins: bool) -> None:
    """Note that a request is parked while a record is not committed."""
    if step.committed is not None:
        step.appends = (*step.appends, HeldRequest(request_id, joins))


def fail_deferred(step: Step, error: ErrorCode) -> None:
    """Fail all waiting requests, in order."""
    decide(step, FAIL_DEFERRED, error)


def _fail_all(step: Step, error: ErrorCode) -> None:
    waiting, step.appends = step.appends, ()
    for entry in waiting:
        _fail_one(step, entry, error)


FAIL_DEFERRED: Final = single(
    "The partition is unloaded while answers are deferred",
    AREA,
    "log/deferred-responses-failed",
    "the partition is unloaded before every record is committed: the requests with a deferred "
    "answer fail",
    at("", "", "", "CR:747"),
    Guard("an answer is deferred", lambda step, _error: bool(step.appends)),
    Effect("answer every waiting request with the error", _fail_all),
)


def _fail_one(step: Step, entry: Append, error: ErrorCode) -> None:
    if isinstance(entry, HeldDeletion):
        delete_groups.fail_deletion(step, entry, error)
    elif isinstance(entry, HeldAnswer):
        step.answer(entry.request_id, FAILED[entry.api](entry.body, error))
    elif isinstance(entry, StaticAppend):
        refuse_new_id(step, entry._replace(error=error))
    elif isinstance(entry, GroupAppend):
        if awaits(step.group, entry):
            answer_parked_syncs(step, error)
        _answer_parked(step, entry.request_id, kafka.SyncGroupResponse(error))
    elif isinstance(entry, HeldRequest):
        answer = kafka.JoinGroupResponse(error) if entry.joins else kafka.SyncGroupResponse(error)
        _answer_parked(step, entry.request_id, answer)


def _answer_parked(step: Step, request_id: int | None, answer: ResponseBody) -> None:
    """Answer a parked request, unless it was answered already."""
    if request_id is not None and all(r.request_id != request_id for r in step.responses):
        step.answer(request_id, answer)


def _all_topics(body: Any, error: ErrorCode) -> ResponseBody:  # noqa: ANN401 - either commit's
    """The answer to a commit, with the error for each partition."""
    topics = tuple(
        topic._replace(partitions=tuple(p._replace(error_code=error) for p in topic.partitions))
        for topic in body.topics
    )
    answer: ResponseBody = body._replace(topics=topics)
    return answer


def _all_groups(body: Any, error: ErrorCode) -> ResponseBody:  # noqa: ANN401 - DeleteGroups's
    return kafka.DeleteGroupsResponse(tuple(r._replace(error_code=error) for r in body.results))


# The answer of each API with an error instead (GroupCoordinatorService.java:1996 and the like).
FAILED: Final[Mapping[str, Callable[[Any, ErrorCode], ResponseBody]]] = {
    "Heartbeat": lambda _body, error: kafka.HeartbeatResponse(error),
    "LeaveGroup": lambda _body, error: kafka.LeaveGroupResponse(error),
    "OffsetCommit": _all_topics,
    "TxnOffsetCommit": _all_topics,
    "OffsetFetch": lambda _body, error: kafka.OffsetFetchResponse(error),
    "EndTxn": lambda _body, error: kafka.EndTxnResponse(NOT_READY.get(error, error)),
    "OffsetDelete": lambda _body, error: kafka.OffsetDeleteResponse(error),
    "DeleteGroups": _all_groups,
}


PARTS: Final = (FAIL_DEFERRED,)
