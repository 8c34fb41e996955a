"""TxnOffsetCommit (GroupCoordinator.scala:668): offsets that wait for the end of a transaction.

Neither the group's state nor the member's session matters; who says no member id and no generation
may commit at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.apis.offset_commit import TOO_LARGE, fits, offsets_of, too_large
from groupcheck.model.rules.rebalance import EMPTY
from groupcheck.model.rules.transactions import pend
from groupcheck.model.state import Group, OffsetsAppend
from groupcheck.model.step import (
    Rule,
    Step,
    apis,
    decide,
    fenced,
    gc,
    instance_of,
    no_group,
    source,
    unregistered,
)
from groupcheck.model.storing.log import commit_response, store_offsets
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    Request,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)


def txn_offset_commit(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.txn_offset_commit)


def _body(request: Request) -> TxnOffsetCommitRequest:
    return cast("TxnOffsetCommitRequest", request.body)


def _reply(step: Step, request: Request, error: ErrorCode) -> None:
    answer = commit_response((partition, error) for partition, _ in offsets_of(step, request))
    step.answer(request.request_id, TxnOffsetCommitResponse(answer.topics))


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: _reply(step, request, error)


# Clients of the older versions take the error that the group is being loaded for a fatal one.
TOLD_OF_LOADING_SINCE: Final = 2


def _refuse_by_version(error: ErrorCode) -> Callable[[Step, Request], None]:
    """How the gate refuses (KafkaApis.scala:2383)."""

    def then(step: Step, request: Request) -> None:
        hidden = (
            error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            and request.api_version < TOLD_OF_LOADING_SINCE
        )
        _reply(step, request, ErrorCode.COORDINATOR_NOT_AVAILABLE if hidden else error)

    return then


def _refuse_in_group(error: ErrorCode) -> Callable[[Step, Request], None]:
    """The group is brought into being before its members are looked at."""

    def then(step: Step, request: Request) -> None:
        _bring_into_being(step, request)
        _reply(step, request, error)

    return then


def _bring_into_being(step: Step, request: Request) -> None:
    if no_group(step, request):
        step.group = Group(unwritten=step.profile.traits.hides_unwritten)


def _is_unknown(step: Step, request: Request) -> bool:
    member_id = _body(request).member_id
    group = step.group or Group()
    return member_id != NO_MEMBER_ID and group.member(member_id) is None


def _is_of_other_generation(step: Step, request: Request) -> bool:
    generation_id = _body(request).generation_id
    group = step.group or Group()
    return generation_id >= 0 and generation_id != group.generation_id


def _store(step: Step, request: Request) -> None:
    """Store what is short enough (GroupMetadataManager.scala:340).

    In 2.7, as with OffsetCommit, all partitions of the request become pending, the refused too.
    Where what fails is undone, they become so only with an append that does not.
    """
    _bring_into_being(step, request)
    offsets = offsets_of(step, request)
    refused = too_large(step, offsets)
    if len(refused) == len(offsets):
        step.fire(TOO_LARGE)
        _reply(step, request, ErrorCode.OFFSET_METADATA_TOO_LARGE)
        return
    producer_id = _body(request).producer_id
    stored = tuple(item for item in offsets if fits(step, item[1]))
    pending = dict(offsets if step.profile.traits.refused_stay_pending else stored)
    if step.failing is None or not step.profile.traits.failures_are_undone:
        step.group = pend(step.existing, producer_id, pending, request.request_id)
    store_offsets(step, OffsetsAppend(request.request_id, stored, refused, producer_id))


def names_member(request: Request) -> bool:
    """Whether the request says who commits, or in which generation."""
    body = _body(request)
    anonymous = body.member_id == NO_MEMBER_ID and instance_of(request) is None
    return body.generation_id >= 0 or not anonymous


def is_no_member(step: Step, request: Request) -> bool:
    """Whether somebody is named, or a generation, and the member id is not in the group."""
    return names_member(request) and step.existing.member(_body(request).member_id) is None


def is_not_of_generation(step: Step, request: Request) -> bool:
    """Whether somebody is named, or a generation, and not the group's: to say none is wrong."""
    return names_member(request) and _body(request).generation_id != step.existing.generation_id


NO_GROUP = Rule(
    "txn-commit/no-group",
    "the group does not exist, so the generation is an old one",
    source("OffsetMetadataManager.java")(513),
    when=lambda step, request: no_group(step, request) and _body(request).generation_id >= 0,
    then=_refuse(ErrorCode.ILLEGAL_GENERATION),
)
SIMPLE = Rule(
    "txn-commit/simple",
    "without a generation, a group that has no members or does not exist takes it from anybody",
    source("ClassicGroup.java")(840),
    when=lambda step, request: (
        no_group(step, request)
        or (step.existing.state is EMPTY and _body(request).generation_id < 0)
    ),
    then=_store,
)
UNKNOWN_INSTANCE = Rule(
    "txn-commit/unknown-instance",
    "the group.instance.id stands for no member",
    source("ClassicGroup.java")(805),
    when=unregistered,
    then=_refuse(ErrorCode.UNKNOWN_MEMBER_ID),
)
RULES = (
    Rule(
        "txn-commit/nothing",
        "no partition is named, so the coordinator is not asked",
        apis(2393),
        when=lambda step, request: not offsets_of(step, request),
        then=lambda step, request: step.answer(request.request_id, TxnOffsetCommitResponse()),
    ),
    Rule(
        "txn-commit/invalid-group-id",
        "the group id is empty",
        gc(857),
        when=lambda _step, request: not _body(request).group_id,
        then=_refuse(ErrorCode.INVALID_GROUP_ID),
    ),
    *gate("txn-commit", _refuse_by_version),
    Rule(
        "txn-commit/fenced",
        "another member has come back under the same group.instance.id",
        gc(735),
        when=lambda step, request: not no_group(step, request) and fenced(step, request),
        then=_refuse(ErrorCode.FENCED_INSTANCE_ID),
    ),
    Rule(
        "txn-commit/unknown-member",
        "a member id is said that is not in the group",
        gc(737),
        when=_is_unknown,
        then=_refuse_in_group(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "txn-commit/other-generation",
        "a generation is said that is not the group's",
        gc(740),
        when=_is_of_other_generation,
        then=_refuse_in_group(ErrorCode.ILLEGAL_GENERATION),
    ),
    Rule(
        "txn-commit/pending",
        "the offsets are stored, to be read only when the transaction is committed",
        gc(744),
        then=_store,
    ),
)
