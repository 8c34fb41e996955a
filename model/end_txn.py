"""The marker that ends a transaction (GroupMetadataManager.scala:883).

It is in the log already: nothing can refuse it, and nobody is told what becomes of the offsets.
"""

from __future__ import annotations

from itertools import compress, product
from typing import cast

from groupcheck.model.nondeterminism import Open
from groupcheck.model.records import record_marker, show_group
from groupcheck.model.state import PendingOffset
from groupcheck.model.step import Rule, Step, decide, gc, gm, gmm, no_group
from groupcheck.model.transactions import end, pending_of
from groupcheck.model.vocabulary import EndTxnRequest, EndTxnResponse, ErrorCode, Request


def end_txn(step: Step, request: Request) -> None:
    """The marker, which is in the log whoever coordinates the group, and whatever it does."""
    body = _body(request)
    if body.group_id:
        record_marker(step, body.producer_id, committed=body.committed)
        show_group(step)
    decide(step, request, step.profile.end_txn)


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
