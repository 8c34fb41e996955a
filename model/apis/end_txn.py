"""The marker that ends a transaction (GroupMetadataManager.scala:883).

It is in the log already: nothing can refuse it, and nobody is told what becomes of the offsets. In
4.1 the coordinator writes it itself, if it is the group's, and who asked for it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import compress, product
from typing import Final, cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.nondeterminism import Open
from groupcheck.model.rules.transactions import end, pending_of
from groupcheck.model.state import PendingOffset, Serving
from groupcheck.model.step import Rule, Step, decide, gc, gm, gmm, no_group, source
from groupcheck.model.storing.records import next_error, record_marker, show_group
from groupcheck.model.storing.revert import settle
from groupcheck.model.vocabulary import EndTxnRequest, EndTxnResponse, ErrorCode, Request


def end_txn(step: Step, request: Request) -> None:
    """The marker, which is in the log before anything comes of it, or is not written at all."""
    body = _body(request)
    if body.group_id and _is_in_log(step):
        record_marker(step, body.producer_id, committed=body.committed)
        show_group(step)
    decide(step, request, step.profile.end_txn)


def _is_in_log(step: Step) -> bool:
    """It is, whoever coordinates the group and whatever it does, unless that one is to write it."""
    if not step.profile.traits.writes_markers:
        return True
    return step.active and step.serving is Serving.SERVED and step.failing is None


def _body(request: Request) -> EndTxnRequest:
    return cast("EndTxnRequest", request.body)


def _reply(step: Step, request: Request, error: ErrorCode = ErrorCode.NONE) -> None:
    step.answer(request.request_id, EndTxnResponse(error))


def _commit(step: Step, request: Request) -> None:
    producer_id = _body(request).producer_id
    readable = _made_readable(step, pending_of(step.existing, producer_id))
    step.group = end(step.existing, producer_id, readable)
    _reply(step, request)


def _made_readable(step: Step, pending: list[PendingOffset]) -> list[PendingOffset]:
    """The offsets that the marker comes to: all of them, where all are in the log.

    At one that is not (its metadata was too long) Kafka throws, with the transaction taken out of
    the group and any of the others looked at or not (GroupMetadata.scala:665).
    """
    stored = [p for p in pending if p.request_id is None]
    if len(stored) == len(pending):
        return stored
    chosen = step.choose(Open.HALF_A_MARKER, list(product((True, False), repeat=len(stored))))
    return list(compress(stored, chosen))


def _abort(step: Step, request: Request) -> None:
    step.group = end(step.existing, _body(request).producer_id, ())
    _reply(step, request)


# A transaction's coordinator knows none of these, and asks again (KafkaApis.scala:1797 at 4.1).
NOT_READY: Final[Mapping[ErrorCode, ErrorCode]] = dict.fromkeys(
    (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: _reply(step, request, NOT_READY.get(error, error))


def _fail(step: Step, request: Request) -> None:
    """Of a group that is not written yet no more is known than after any append that fails."""
    reason = step.fired[-1]
    error = next_error(step)
    if step.group is not None:
        settle(step, error)
    step.answer(request.request_id, EndTxnResponse(NOT_READY.get(error, error)), reason)


GATE: Final = gate("end-txn", _refuse)
NOT_WRITTEN: Final = Rule(
    "end-txn/not-written",
    "the marker cannot be written: the transaction goes on, and who ends it is told",
    source("CoordinatorRuntime.java")(1187),
    when=lambda step, _request: step.failing is not None,
    then=_fail,
)
RULES = (
    Rule(
        "end-txn/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=lambda step, request: _reply(step, request, ErrorCode.INVALID_GROUP_ID),
    ),
    Rule(
        "end-txn/not-active",
        "the coordinator is shut down: the marker is in the log, and changes nothing in memory",
        "KafkaScheduler.scala:110",
        when=lambda step, _request: not step.active,
        then=lambda step, request: _reply(step, request, ErrorCode.UNKNOWN_SERVER_ERROR),
    ),
    Rule(
        "end-txn/nothing-pending",
        "the group knows of no transaction of that producer",
        gmm(884),
        when=lambda step, request: (
            no_group(step, request) or _body(request).producer_id not in step.existing.producers
        ),
        then=_reply,
    ),
    Rule(
        "end-txn/committed",
        "the offsets of the transaction can be read, where no newer ones have been committed",
        gm(670),
        when=lambda _step, request: _body(request).committed,
        then=_commit,
    ),
    Rule(
        "end-txn/aborted",
        "the transaction is aborted, and its offsets are dropped",
        gm(661),
        then=_abort,
    ),
)
