"""OffsetCommit (GroupCoordinator.scala:686): members, and consumers that only store offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from groupcheck.model.log import append, commit_response
from groupcheck.model.rebalance import COMPLETING, EMPTY
from groupcheck.model.session import rearm_session
from groupcheck.model.state import Group, Member, Offset, OffsetsAppend, TopicPartition, put
from groupcheck.model.step import Rule, Step, apis, decide, gc, gmm, no_group
from groupcheck.model.vocabulary import (
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


def offsets_of(request: Request) -> dict[TopicPartition, Offset]:
    """The offsets that a commit names, of a transaction or not."""
    body = cast("OffsetCommitRequest | TxnOffsetCommitRequest", request.body)
    return {
        (topic.name, p.partition_index): Offset(
            p.committed_offset, p.committed_leader_epoch, p.committed_metadata or ""
        )
        for topic in body.topics
        for p in topic.partitions
    }


def _refuse(error: ErrorCode) -> Callable[[Step, Request], None]:
    return lambda step, request: step.answer(
        request.request_id, commit_response(dict.fromkeys(offsets_of(request), error))
    )


def utf16_length(text: str) -> int:
    """The length of a string as Kafka's language counts it (GroupMetadataManager.scala:926)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def too_large(step: Step, offsets: Mapping[TopicPartition, Offset]) -> tuple[TopicPartition, ...]:
    """The partitions whose metadata is longer than the broker allows."""
    limit = step.config.offset_metadata_max_bytes
    return tuple(tp for tp, offset in offsets.items() if utf16_length(offset.metadata) > limit)


def _store(step: Step, request: Request) -> None:
    """Store what is short enough (GroupMetadataManager.scala:340).

    2.7 marks all partitions of the request as unstable, the refused ones too, and only the
    completion of the append takes the mark away: a refused one keeps it (KAFKA-16371).
    """
    offsets = offsets_of(request)
    refused = too_large(step, offsets)
    if len(refused) == len(offsets):
        step.fire(TOO_LARGE)
        _refuse(ErrorCode.OFFSET_METADATA_TOO_LARGE)(step, request)
        return
    unstable = step.existing.unstable
    for partition in offsets:
        unstable = put(unstable, partition, request.request_id)
    step.group = step.existing._replace(unstable=unstable)
    stored = tuple(item for item in offsets.items() if item[0] not in refused)
    append(step, OffsetsAppend(request.request_id, stored, refused))


def _store_alone(step: Step, request: Request) -> None:
    # Where groups without members die, the offsets of one that never was are all there is of it.
    alone = GroupState.DEAD if step.profile.traits.empty_dies else EMPTY
    step.group = step.group or Group(alone)
    _store(step, request)


def _store_of_member(step: Step, request: Request) -> None:
    rearm_session(step, cast("Member", step.existing.member(_body(request).member_id)))
    _store(step, request)


DECISIONS = (
    Rule(
        "commit/nothing",
        "no partition is named, so the coordinator is not asked",
        apis(434),
        when=lambda _step, request: not offsets_of(request),
        then=lambda step, request: step.answer(request.request_id, OffsetCommitResponse()),
    ),
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
