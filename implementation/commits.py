"""OffsetCommit and OffsetFetch: who may commit, and what can be read. Membership is elsewhere.

Offsets are open to members of the group's current generation, and to consumers that use no
group management (generation -1) as long as the group has no members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from groupcheck.implementation.appends import Appends
from groupcheck.implementation.config import Config
from groupcheck.implementation.group import Group
from groupcheck.implementation.offsets import (
    GroupOffsets,
    OffsetAndMetadata,
    Offsets,
    TopicPartition,
)
from groupcheck.implementation.rebalance import Rebalance
from groupcheck.implementation.timers import Timers
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    Response,
)

P = TypeVar("P")
T = TypeVar("T")


class OffsetApis:
    """The APIs of offsets; each returns its answer, or None if that goes to the outbox."""

    __slots__ = ("_appends", "_groups", "_metadata_limit", "_outbox", "_rebalance", "_timers")

    def __init__(  # noqa: PLR0913, PLR0917 - these are the parts of the coordinator it joins
        self,
        config: Config,
        groups: dict[str, Group],
        rebalance: Rebalance,
        appends: Appends,
        timers: Timers,
        outbox: list[Response],
    ) -> None:
        self._metadata_limit = config.offset_metadata_max_bytes
        self._groups = groups
        self._rebalance = rebalance
        self._appends = appends
        self._timers = timers
        self._outbox = outbox

    def commit(self, request: Request, body: OffsetCommitRequest) -> OffsetCommitResponse | None:
        """OffsetCommit; answered when the offsets have been stored."""
        now_ms = self._timers.now_ms
        offsets = {
            (topic.name, index): OffsetAndMetadata(offset, leader_epoch, metadata or "", now_ms)
            for topic in body.topics
            for index, offset, leader_epoch, metadata in topic.partitions
        }
        if not offsets:
            return OffsetCommitResponse()
        group = self._groups.get(body.group_id)
        if group is None:
            if body.generation_id >= 0:
                return _commit_response(dict.fromkeys(offsets, ErrorCode.ILLEGAL_GENERATION))
            group = self._groups[body.group_id] = Group(body.group_id)
        error = self._check_commit(group, body)
        if error:
            return _commit_response(dict.fromkeys(offsets, error))
        return self._store(group, request.request_id, offsets)

    def _check_commit(self, group: Group, body: OffsetCommitRequest) -> ErrorCode:
        """Whether it may commit; a member that may is alive."""
        if body.generation_id < 0 and group.state is GroupState.EMPTY:
            return ErrorCode.NONE
        member = group.members.get(body.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if body.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is GroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        self._rebalance.keep_alive(member)
        return ErrorCode.NONE

    def _store(
        self, group: Group, request_id: int, offsets: Offsets
    ) -> OffsetCommitResponse | None:
        limit = self._metadata_limit
        errors = {
            partition: ErrorCode.OFFSET_METADATA_TOO_LARGE
            if _utf16_length(offset.metadata) > limit
            else ErrorCode.NONE
            for partition, offset in offsets.items()
        }
        fitting = {partition: offsets[partition] for partition in offsets if not errors[partition]}
        if not fitting:
            return _commit_response(errors)
        # All of them, not only those that fit: a partition whose metadata is too large, committed
        # together with a good one, stays pending until a good commit of its own (KAFKA-16371).
        group.offsets.prepare_commit(offsets)
        response = Response(request_id, _commit_response(errors))
        self._appends.append(partial(self._complete_commit, group.offsets, fitting, response))
        return None

    def _complete_commit(self, stored: GroupOffsets, offsets: Offsets, response: Response) -> None:
        stored.complete_commit(offsets)
        self._outbox.append(response)

    def fetch(self, _request: Request, body: OffsetFetchRequest) -> OffsetFetchResponse:
        """OffsetFetch: whatever the group's state, and whether or not there is such a group."""
        group = self._groups.get(body.group_id)
        stored = GroupOffsets() if group is None else group.offsets
        # Each partition once, however often it is asked for.
        partitions: Iterable[TopicPartition] = (
            stored.committed
            if body.topics is None
            else dict.fromkeys((name, index) for name, indexes in body.topics for index in indexes)
        )
        unstable = stored.pending if body.require_stable else {}
        fetched = {
            partition: _fetched(stored.committed.get(partition), partition, unstable)
            for partition in partitions
        }
        return OffsetFetchResponse(topics=by_topic(OffsetFetchResponseTopic, fetched))


def by_topic(
    topic: Callable[[str, tuple[P, ...]], T], partitions: dict[TopicPartition, P]
) -> tuple[T, ...]:
    """What is known of partitions, as one record for each topic."""
    topics: dict[str, list[P]] = {}
    for (name, _), partition in partitions.items():
        topics.setdefault(name, []).append(partition)
    return tuple(topic(name, tuple(found)) for name, found in topics.items())


def _commit_response(errors: dict[TopicPartition, ErrorCode]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        by_topic(
            OffsetCommitResponseTopic,
            {
                partition: OffsetCommitResponsePartition(partition[1], error)
                for partition, error in errors.items()
            },
        )
    )


def _fetched(
    offset: OffsetAndMetadata | None, partition: TopicPartition, unstable: Offsets
) -> OffsetFetchResponsePartition:
    index = partition[1]
    if partition in unstable:
        return OffsetFetchResponsePartition(index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    if offset is None:
        return OffsetFetchResponsePartition(index)
    return OffsetFetchResponsePartition(
        index, offset.committed_offset, offset.committed_leader_epoch, offset.metadata
    )


def _utf16_length(text: str) -> int:
    """The length as Kafka's language counts it."""
    return len(text) + sum(character > "\uffff" for character in text)
