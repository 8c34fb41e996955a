"""TxnOffsetCommit (2.7 GroupCoordinator.scala:668): offsets pending until a transaction ends.

Kafka checks neither the group's state nor the member's session. A request without a member id and a
generation may commit at any time. 4.1 checks the request like an OffsetCommit, except for the
group's state.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.apis.offset_commit import (
    append_of,
    check,
    nothing_to_commit,
    offsets_of,
    reply,
)
from groupcheck.model.classic.rules.guards import (
    EMPTY,
    NO_GROUP,
    body_of,
    instance_of,
    is_fenced,
    is_missing,
)
from groupcheck.model.classic.rules.transactions import pend
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.log import FAILURES_ARE_ROLLED_BACK, store_offsets
from groupcheck.model.classic.storing.rollback import HIDES_GROUP_WITHOUT_RECORDS
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, rule, table
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    Request,
    TxnOffsetCommitRequest,
)

API: Final = "TxnOffsetCommit"

REFUSED_ARE_PENDING: Final = Behaviour(
    "refused-partitions-are-pending",
    API,
    "a refused partition of a TxnOffsetCommit becomes pending like the others, and the marker "
    "fails at it (KAFKA-16371)",
    at("", "", "GMM:465"),
)

_body: Final = body_of(TxnOffsetCommitRequest)


# Clients of older versions treat COORDINATOR_LOAD_IN_PROGRESS as a fatal error.
LOADING_SINCE: Final = 2


_LOADS: Final = reply(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_NOT_AVAILABLE: Final = reply(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _answer_loading(step: Step, request: Request) -> None:
    """Answer a request while the group is loading (2.7 KafkaApis.scala:2383)."""
    effect = _LOADS if request.api_version >= LOADING_SINCE else _NOT_AVAILABLE
    effect.apply(step, request)


def _create(step: Step, request: Request) -> None:
    if is_missing(step, request):
        step.group = Group(not_persisted=HIDES_GROUP_WITHOUT_RECORDS(step))


def _is_unknown(step: Step, request: Request) -> bool:
    member_id = _body(request).member_id
    return (step.group or Group()).member(member_id) is None


def _is_other_generation(step: Step, request: Request) -> bool:
    return _body(request).generation_id != (step.group or Group()).generation_id


def _names_member(_step: Step, request: Request) -> bool:
    """Whether the request has a member id, a group.instance.id or a generation."""
    body = _body(request)
    anonymous = body.member_id == NO_MEMBER_ID and instance_of(request) is None
    return body.generation_id >= 0 or not anonymous


def _store(step: Step, request: Request) -> None:
    """Store the offsets.

    In 2.7, as with OffsetCommit, all partitions of the request become pending, the rejected ones
    too. In versions that roll back failed appends, they become pending only if the append succeeds.
    """
    entry = append_of(step, request)
    if entry is None:
        return
    producer_id = _body(request).producer_id
    pending = dict(offsets_of(step, request) if REFUSED_ARE_PENDING(step) else entry.offsets)
    if step.failing is None or not FAILURES_ARE_ROLLED_BACK(step):
        step.group = pend(step.existing, producer_id, pending, request.request_id)
    store_offsets(step, entry._replace(producer_id=producer_id))


_CREATE: Final = Effect("create the group if it does not exist", _create)
_CREATE_BEFORE_CHECKS: Final = _CREATE.only(at("", "", "GC:680"))
_STORE: Final = Effect("append the offsets as pending until the transaction ends", _store)
_HAS_GENERATION: Final = Guard(
    "the request has a generation", lambda _step, request: request.body.generation_id >= 0
)
_NAMES_MEMBER: Final = Guard(
    "the request has a member id, a group.instance.id or a generation", _names_member
)
TXN_COMMIT: Final = table(
    "TxnOffsetCommit",
    API,
    nothing_to_commit("txn-commit/no-partitions", at("", "", "APIS:2393", "APIS:2077")),
    check("txn-commit/invalid-group-id", at("", "", "GC:857", "GCS:2021")),
    check("txn-commit/not-active", at("", "", "GC:859", "GCS:2014")),
    check(
        "txn-commit/loading",
        at("", "", "GC:861", "CR:2207"),
        Effect(
            "answer COORDINATOR_LOAD_IN_PROGRESS for each partition, COORDINATOR_NOT_AVAILABLE "
            "before version 2",
            _answer_loading,
        ),
    ),
    check("txn-commit/not-coordinator", at("", "", "GC:863", "CR:2209")),
    rule(
        "txn-commit/no-group",
        "the group does not exist, so the generation is not current",
        at("", "", "", "OMM:513"),
        NO_GROUP,
        _HAS_GENERATION,
        reply(ErrorCode.ILLEGAL_GENERATION),
    ),
    rule(
        "txn-commit/simple",
        "a group that has no members or does not exist accepts any commit without a generation",
        at("", "", "", "CG:840"),
        Guard(
            "the group does not exist, or it is Empty and the request has no generation",
            lambda step, request: (
                is_missing(step, request)
                or (step.existing.state is EMPTY and request.body.generation_id < 0)
            ),
            states=NO_GROUP.states | {EMPTY},
        ),
        _CREATE,
        _STORE,
    ),
    check("txn-commit/unknown-instance", at("", "", "", "CG:805")),
    rule(
        "txn-commit/fenced",
        "another member has joined with the same group.instance.id",
        at("", "", "GC:735", "CG:810"),
        Guard(
            "the group.instance.id belongs to another member",
            lambda step, request: not is_missing(step, request) and is_fenced(step, request),
        ),
        reply(ErrorCode.FENCED_INSTANCE_ID),
    ),
    rule(
        "txn-commit/unknown-member",
        "the request has a member id that is not in the group",
        at("", "", "GC:737", "CG:814"),
        Guard(
            "the request has a member id",
            lambda _step, request: request.body.member_id != NO_MEMBER_ID,
        ).only(at("", "", "GC:737")),
        _NAMES_MEMBER.only(at("", "", "", "CG:847")),
        Guard("the member id is not in the group", _is_unknown),
        _CREATE_BEFORE_CHECKS,
        reply(ErrorCode.UNKNOWN_MEMBER_ID),
        words_of={
            "4.1": "the request has a member id or a generation, and the member id is not in "
            "the group"
        },
    ),
    rule(
        "txn-commit/other-generation",
        "the request has a generation that is not the group's current generation",
        at("", "", "GC:740", "CG:850"),
        _HAS_GENERATION.only(at("", "", "GC:740")),
        _NAMES_MEMBER.only(at("", "", "", "CG:847")),
        Guard(
            "the request's generation is not the group's current generation", _is_other_generation
        ),
        _CREATE_BEFORE_CHECKS,
        reply(ErrorCode.ILLEGAL_GENERATION),
        words_of={
            "4.1": "the request of a member has no generation, or one that is not the "
            "group's current generation"
        },
    ),
    rule(
        "txn-commit/pending",
        "the offsets are stored, and cannot be read until the transaction is committed",
        at("", "", "GC:744", "OMM:723"),
        _CREATE,
        _STORE,
    ),
    moves={"4.1": (("txn-commit/not-active", "txn-commit/invalid-group-id"),)},
)
PARTS: Final = (REFUSED_ARE_PENDING, TXN_COMMIT)
