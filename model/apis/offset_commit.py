"""OffsetCommit (GroupCoordinator.scala:686): members, and consumers that only store offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from groupcheck.model.apis.gate import gate
from groupcheck.model.rules.rebalance import COMPLETING, EMPTY
from groupcheck.model.rules.retention import retained
from groupcheck.model.rules.session import rearm_session
from groupcheck.model.state import Group, Member, Offset, OffsetsAppend, TopicPartition, put
from groupcheck.model.step import (
    Rule,
    Step,
    apis,
    decide,
    fenced,
    gc,
    gmm,
    no_group,
    source,
    unregistered,
)
from groupcheck.model.storing.log import commit_response, store_offsets
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    NO_RETENTION,
    ErrorCode,
    GroupState,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Request,
    TxnOffsetCommitRequest,
)

TOO_LARGE = Rule(
    "commit/metadata-too-large",
    "every partition's metadata is longer than offset.metadata.max.bytes",
    gmm(360),
)


def offset_commit(step: Step, request: Request) -> None:
    """The API."""
    decide(step, request, step.profile.offset_commit)


def _body(request: Request) -> OffsetCommitRequest:
    return cast("OffsetCommitRequest", request.body)


Offsets = list[tuple[TopicPartition, Offset]]


def offsets_of(step: Step, request: Request) -> Offsets:
    """What a commit names, of a transaction or not, as often as the version commits it."""
    body = cast("OffsetCommitRequest | TxnOffsetCommitRequest", request.body)
    said_ms: int = getattr(body, "retention_time_ms", NO_RETENTION)
    named = [
        (
            (topic.name, p.partition_index),
            retained(
                step,
                Offset(p.committed_offset, p.committed_leader_epoch, p.committed_metadata or ""),
                said_ms,
            ),
        )
        for topic in body.topics
        for p in topic.partitions
    ]
    return named if step.profile.traits.answers_as_asked else list(dict(named).items())


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(
        request.request_id,
        commit_response((partition, error) for partition, _ in offsets_of(step, request)),
    )


def _refuse_by_version(step: Step, request: Request) -> None:
    """A client of the newest version is told what is the matter."""
    newest = request.api_version >= 9
    _refuse(ErrorCode.GROUP_ID_NOT_FOUND if newest else ErrorCode.ILLEGAL_GENERATION)(step, request)


def utf16_length(text: str) -> int:
    """The length of a string as Kafka's language counts it (GroupMetadataManager.scala:926)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def too_large(step: Step, offsets: Offsets) -> tuple[TopicPartition, ...]:
    """The partitions whose metadata is longer than the broker allows."""
    return tuple(tp for tp, offset in offsets if not fits(step, offset))


def fits(step: Step, offset: Offset) -> bool:
    """Whether its metadata is as short as the broker asks for."""
    return utf16_length(offset.metadata) <= step.config.offset_metadata_max_bytes


def _store(step: Step, request: Request) -> None:
    """Store what is short enough (GroupMetadataManager.scala:340).

    2.7 marks all partitions of the request as unstable, the refused ones too, and only the
    completion of the append takes the mark away: a refused one keeps it (KAFKA-16371).
    """
    offsets = offsets_of(step, request)
    refused = too_large(step, offsets)
    if len(refused) == len(offsets):
        step.fire(TOO_LARGE)
        _refuse(ErrorCode.OFFSET_METADATA_TOO_LARGE)(step, request)
        return
    unstable = step.existing.unstable
    for partition, _ in offsets if step.profile.traits.commits_are_unstable else ():
        unstable = put(unstable, partition, request.request_id)
    step.group = step.existing._replace(unstable=unstable)
    stored = tuple(item for item in offsets if fits(step, item[1]))
    store_offsets(step, OffsetsAppend(request.request_id, stored, refused))


def _store_alone(step: Step, request: Request) -> None:
    # Where groups without members die, the offsets of one that never was are all there is of it.
    traits = step.profile.traits
    alone = GroupState.DEAD if traits.empty_dies else EMPTY
    step.group = step.group or Group(
        alone, unwritten=traits.hides_unwritten, nameless=not _body(request).group_id
    )
    _store(step, request)


def _store_of_member(step: Step, request: Request) -> None:
    rearm_session(step, cast("Member", step.existing.member(_body(request).member_id)))
    _store(step, request)


NOT_FOUND = Rule(
    "commit/not-found",
    "the group does not exist, of which versions before 9 say that the generation is an old one",
    source("OffsetMetadataManager.java")(468),
    when=no_group,
    then=_refuse_by_version,
)
SIMPLE_IN_USE = Rule(
    "commit/simple-in-use",
    "a consumer that manages its partitions itself may not commit to a group with members",
    source("ClassicGroup.java")(853),
    when=lambda _step, request: (
        _body(request).generation_id < 0 and _body(request).member_id == NO_MEMBER_ID
    ),
    then=_refuse(ErrorCode.UNKNOWN_MEMBER_ID),
)
UNKNOWN_INSTANCE = Rule(
    "commit/unknown-instance",
    "the group.instance.id stands for no member",
    source("ClassicGroup.java")(805),
    when=unregistered,
    then=_refuse(ErrorCode.UNKNOWN_MEMBER_ID),
)
DECISIONS = (
    Rule(
        "commit/nothing",
        "no partition is named, so the coordinator is not asked",
        apis(434),
        when=lambda step, request: not offsets_of(step, request),
        then=lambda step, request: step.answer(request.request_id, OffsetCommitResponse()),
    ),
    *gate("commit", _refuse),
    Rule(
        "commit/simple-no-group",
        "a consumer that manages its partitions itself brings the group into being",
        gc(697),
        when=lambda step, request: no_group(step, request) and _body(request).generation_id < 0,
        then=_store_alone,
    ),
    Rule(
        "commit/no-group",
        "the group does not exist, so the generation is an old one",
        gc(701),
        when=no_group,
        then=_refuse(ErrorCode.ILLEGAL_GENERATION),
    ),
    Rule(
        "commit/fenced",
        "another member has come back under the same group.instance.id",
        gc(762),
        when=fenced,
        then=_refuse(ErrorCode.FENCED_INSTANCE_ID),
    ),
    Rule(
        "commit/simple-empty",
        "a group without members only stores offsets",
        gc(764),
        when=lambda step, request: (
            step.existing.state is EMPTY and _body(request).generation_id < 0
        ),
        then=_store_alone,
    ),
    Rule(
        "commit/unknown-member",
        "the member id is not in the group",
        gc(767),
        when=lambda step, request: step.existing.member(_body(request).member_id) is None,
        then=_refuse(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    Rule(
        "commit/other-generation",
        "the generation is not the group's",
        gc(769),
        when=lambda step, request: _body(request).generation_id != step.existing.generation_id,
        then=_refuse(ErrorCode.ILLEGAL_GENERATION),
    ),
    Rule(
        "commit/completing",
        "the member is in the generation but has no assignment yet",
        gc(780),
        when=lambda step, _request: step.existing.state is COMPLETING,
        then=_refuse(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    Rule(
        "commit/member",
        "a member of the current generation commits, which counts as a heartbeat",
        gc(773),
        then=_store_of_member,
    ),
)
RULES = (*DECISIONS, TOO_LARGE)
