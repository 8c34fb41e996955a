"""The marker that ends a transaction (2.7 GroupMetadataManager.scala:883).

In 2.7 the marker is in the log already: the coordinator cannot reject it, and no answer reports
what happens to the offsets. In 4.1 the group's coordinator writes the marker itself, and answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, product
from typing import Final

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.guards import (
    NEXT_APPEND_FAILS,
    Checks,
    body_of,
    is_missing,
    reply_with,
)
from groupcheck.model.classic.rules.transactions import end, pending_of
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import PendingOffset, Serving
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.records import next_error, record_marker, show_group
from groupcheck.model.classic.storing.rollback import finish_append
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, decide, rule, table
from groupcheck.model.vocabulary import EndTxnRequest, EndTxnResponse, ErrorCode, Request

API: Final = "EndTxn"

WRITES_MARKERS: Final = Behaviour(
    "writes-markers",
    API,
    "the group's coordinator writes the marker of a transaction; otherwise the marker is in the "
    "log, whatever the coordinator does",
    at("", "", "", "APIS:1785"),
)


def end_txn(step: Step, request: Request) -> None:
    """The API: the marker is in the log before it has any effect, or is not written at all."""
    body = _body(request)
    if body.group_id and _is_in_log(step):
        record_marker(step, body.producer_id, committed=body.committed)
        show_group(step)
    decide(step, END_TXN, request)


def _is_in_log(step: Step) -> bool:
    if not WRITES_MARKERS(step):
        return True
    return step.active and step.serving is Serving.SERVED and step.failing is None


_body: Final = body_of(EndTxnRequest)


def _commit(step: Step, request: Request) -> None:
    producer_id = _body(request).producer_id
    readable = _made_readable(step, pending_of(step.existing, producer_id))
    step.group = end(step.existing, producer_id, readable)


def _made_readable(step: Step, pending: list[PendingOffset]) -> list[PendingOffset]:
    """The offsets that the marker makes readable: all of them, if all are in the log.

    If one is not, because its metadata was too long, Kafka throws an exception. By then it has
    removed the transaction from the group, and has processed any of the other offsets.

    Source: 2.7 GroupMetadata.scala:665.
    """
    stored = [p for p in pending if p.request_id is None]
    if len(stored) == len(pending):
        return stored
    chosen = step.choose(Choice.HALF_A_MARKER, list(product((True, False), repeat=len(stored))))
    return list(compress(stored, chosen))


def _abort(step: Step, request: Request) -> None:
    step.group = end(step.existing, _body(request).producer_id, ())


# The transaction coordinator does not know these errors, and retries (4.1 KafkaApis.scala:1797).
NOT_READY: Final[Mapping[ErrorCode, ErrorCode]] = dict.fromkeys(
    (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


_plain_reply: Final = reply_with(EndTxnResponse)


def _reply(error: ErrorCode) -> Effect:
    return _plain_reply(NOT_READY.get(error, error))


_check: Final = Checks(_reply)


def _fail(step: Step, request: Request) -> None:
    """Fail the request. A group of which nothing was written ends as after any failed append."""
    reason = step.applied[-1]
    error = next_error(step)
    if step.group is not None:
        finish_append(step, error)
    step.answer(request.request_id, EndTxnResponse(NOT_READY.get(error, error)), reason)


_DEFERRED: Final = at("", "", "", "CR:1172")
END_TXN: Final = table(
    "EndTxn",
    API,
    # Kafka's markers name no group. The source lines are those that reject the TxnOffsetCommit.
    _check("end-txn/invalid-group-id", at("", "", "GC:857", "GCS:2021")),
    _check(
        "end-txn/not-active",
        at("", "", "KafkaScheduler.scala:110", "GCS:2093"),
        _reply(ErrorCode.UNKNOWN_SERVER_ERROR).only(at("", "", "KafkaScheduler.scala:110")),
        _reply(ErrorCode.COORDINATOR_NOT_AVAILABLE).only(at("", "", "", "GCS:2093")),
    )._replace(
        words="the coordinator is shut down: the marker is in the log, but has no effect",
        words_of={"4.1": "the coordinator is shut down"},
    ),
    _check("end-txn/loading", at("", "", "", "CR:2207")),
    _check("end-txn/not-coordinator", at("", "", "", "CR:2209")),
    rule(
        "end-txn/not-written",
        "the marker cannot be written: the transaction stays open, and the request fails",
        at("", "", "", "CR:1187"),
        NEXT_APPEND_FAILS,
        Effect("answer with the mapped error", _fail),
    ),
    rule(
        "end-txn/nothing-pending",
        "the group has no pending offsets of the producer",
        at("", "", "GMM:884", "OMM:1209"),
        Guard(
            "the group has no pending offsets of the producer",
            lambda step, request: (
                is_missing(step, request)
                or _body(request).producer_id not in step.existing.producers
            ),
        ),
        _reply(ErrorCode.NONE),
        deferred=_DEFERRED,
    ),
    rule(
        "end-txn/committed",
        "the transaction is committed: its offsets can be read, unless newer ones have been "
        "committed",
        at("", "", "GM:670", "OMM:1223"),
        Guard("the transaction is committed", lambda _step, request: request.body.committed),
        Effect("make the transaction's offsets readable", _commit),
        _reply(ErrorCode.NONE),
        deferred=_DEFERRED,
    ),
    rule(
        "end-txn/aborted",
        "the transaction is aborted, and its offsets are dropped",
        at("", "", "GM:661", "OMM:1259"),
        Effect("drop the transaction's offsets", _abort),
        _reply(ErrorCode.NONE),
        deferred=_DEFERRED,
    ),
    moves={"4.1": (("end-txn/not-active", "end-txn/invalid-group-id"),)},
)
PARTS: Final = (WRITES_MARKERS, END_TXN)
