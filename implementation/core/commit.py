"""OffsetCommit and TxnOffsetCommit: checks, and the offsets from the request to the log.

Members of the current generation may commit, and simple consumers (generation -1) while the group
has no members.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import compress, repeat
from typing import Final, NamedTuple

from groupcheck.implementation.core.error_responses import by_topic, commit_topics
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.handler import Handler
from groupcheck.implementation.core.log_records import offset_records
from groupcheck.implementation.core.offsets import Offsets
from groupcheck.implementation.log.records import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Batch,
    OffsetCommitValue,
)
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request, ResponseBody

COMMIT_TIME_VERSION: Final = 1  # of OffsetCommit, the only one with a time for each offset

CommitRequest = kafka.OffsetCommitRequest | kafka.TxnOffsetCommitRequest
CommitResponse = kafka.OffsetCommitResponse | kafka.TxnOffsetCommitResponse


class Commit(NamedTuple):
    """A commit that is being appended: the requested offsets, and those that are appended."""

    request: Request
    body: CommitRequest
    group: Group
    offsets: Offsets
    fits: tuple[bool, ...]  # for each requested offset
    fitting: Offsets
    position: int
    producer_id: int


class CommitApi(Handler):
    """OffsetCommit and TxnOffsetCommit; the response is returned when the offsets are appended."""

    __slots__ = ()

    # Checks

    def commit(self, request: Request, body: kafka.OffsetCommitRequest) -> ResponseBody | None:
        """Handle OffsetCommit."""
        offsets = self._offsets(body, body.retention_time_ms)
        if not offsets:
            return kafka.OffsetCommitResponse()
        if request.api_version == COMMIT_TIME_VERSION:
            offsets = _with_commit_times(body, offsets)
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._preconditions.partition_error(body.group_id)
            if not error and body.generation_id >= 0:
                is_new = request.api_version >= self._behaviour.commit_not_found_since
                error = ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION
            if error:
                return self._error(body, offsets, error)
            group = self._shared.create(body.group_id)
        error = self._check(group, body)
        if error:
            return self._error(body, offsets, error)
        return self._append(request, body, group, offsets, NO_PRODUCER_ID)

    def _check(self, group: Group, body: kafka.OffsetCommitRequest) -> ErrorCode:
        """The error if the commit is not allowed; otherwise restart the member's session."""
        generation_id, member_id, instance_id = body[1:4]
        is_manual = generation_id < 0 and group.state is GroupState.EMPTY
        if is_manual and self._behaviour.simple_commit_skips_member_check:
            return ErrorCode.NONE
        error = self._static_members.validate_member(group, member_id, instance_id)
        if is_manual and error is not ErrorCode.FENCED_INSTANCE_ID:
            return ErrorCode.NONE
        if error:
            return error
        if generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is GroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        self._shared.keep_alive(group.members[member_id])
        return ErrorCode.NONE

    def commit_in_transaction(
        self, request: Request, body: kafka.TxnOffsetCommitRequest
    ) -> ResponseBody | None:
        """Handle TxnOffsetCommit: the offsets are readable after the marker."""
        offsets = self._offsets(body, kafka.NO_RETENTION)
        if not offsets:
            return kafka.TxnOffsetCommitResponse()
        if not body.group_id:
            return self._error(body, offsets, ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._preconditions.partition_error(body.group_id)
            if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and request.api_version < 2:
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            if not error and self._behaviour.txn_commit_checks_member and body.generation_id >= 0:
                error = ErrorCode.ILLEGAL_GENERATION
            if error:
                return self._error(body, offsets, error)
            group = self._shared.create(body.group_id)
        error = self._check_in_transaction(group, body)
        if error:
            return self._error(body, offsets, error)
        return self._append(request, body, group, offsets, body.producer_id)

    def _check_in_transaction(self, group: Group, body: kafka.TxnOffsetCommitRequest) -> ErrorCode:
        """The error if the commit is not allowed, in any state of the group."""
        generation_id, member_id, instance_id = body[4:7]
        error = self._static_members.validate_member(group, member_id, instance_id)
        if self._behaviour.txn_commit_checks_member:
            is_simple = member_id == kafka.NO_MEMBER_ID and instance_id is None
            if generation_id < 0 and (is_simple or group.state is GroupState.EMPTY):
                return ErrorCode.NONE
            is_current = generation_id == group.generation_id
        else:
            if member_id == kafka.NO_MEMBER_ID and error is ErrorCode.UNKNOWN_MEMBER_ID:
                error = ErrorCode.NONE
            is_current = generation_id < 0 or generation_id == group.generation_id
        return error or (ErrorCode.NONE if is_current else ErrorCode.ILLEGAL_GENERATION)

    # Appending

    def _offsets(self, body: CommitRequest, retention_ms: int) -> Offsets:
        """The offsets to commit: each partition once, unless the version repeats partitions."""
        now_ms = self._shared.timers.now_ms
        expire_ms = NO_TIMESTAMP if retention_ms == kafka.NO_RETENTION else now_ms + retention_ms
        offsets = tuple(
            (
                (topic.name, index),
                OffsetCommitValue(offset, leader_epoch, metadata or "", now_ms, expire_ms),
            )
            for topic in body.topics
            for index, offset, leader_epoch, metadata, *_ in topic.partitions
        )
        repeats = self._behaviour.repeats_requested_partitions
        return offsets if repeats else tuple(dict(offsets).items())

    def _append(
        self,
        request: Request,
        body: CommitRequest,
        group: Group,
        offsets: Offsets,
        producer_id: int,
    ) -> ResponseBody | None:
        limit = self._shared.config.offset_metadata_max_bytes
        fits = tuple(_utf16_length(value.metadata) <= limit for _, value in offsets)
        fitting = offsets if all(fits) else tuple(compress(offsets, fits))
        position = self._shared.next_position()
        commit = Commit(request, body, group, offsets, fits, fitting, position, producer_id)
        if not fitting:
            answer = self._answer(commit, ErrorCode.NONE)
            return self._deferred.answer(group.partition, request, answer)
        if self._behaviour.offsets_are_pending:
            # All of them, also those whose metadata is too large: such a partition stays pending
            # until a valid commit of it (KAFKA-16371).
            if producer_id == NO_PRODUCER_ID:
                group.offsets.prepare(offsets)
            else:
                self._transactions.stage(group, producer_id, offsets, None)
        epoch = body.producer_epoch if isinstance(body, kafka.TxnOffsetCommitRequest) else -1
        batch = Batch(offset_records(group, fitting), producer_id, epoch)
        self._shared.append(group.partition, batch, partial(self._appended, commit))
        return None

    def _appended(self, commit: Commit, error: ErrorCode) -> None:
        if commit.group.state is not GroupState.DEAD:
            if commit.producer_id != NO_PRODUCER_ID:
                self._complete_stage(commit, error)
            elif error:
                commit.group.offsets.fail(commit.fitting)
            elif self._behaviour.offsets_are_pending:
                commit.group.offsets.complete(commit.fitting, commit.position)
            else:
                commit.group.offsets.set(commit.fitting, commit.position)
        if error:
            error = self._behaviour.offset_error(error)
            self._shared.answer(commit.request.request_id, self._answer(commit, error))
        else:
            answer = self._answer(commit, ErrorCode.NONE)
            self._shared.answer_when_committed(commit.group.partition, commit.request, answer)

    def _complete_stage(self, commit: Commit, error: ErrorCode) -> None:
        offsets, producer_id, fitting = commit.group.offsets, commit.producer_id, commit.fitting
        if not self._behaviour.offsets_are_pending:
            if not error:
                self._transactions.stage(commit.group, producer_id, fitting, commit.position)
        elif error:
            offsets.fail_stage(producer_id, fitting)
        else:
            offsets.complete_stage(producer_id, fitting, commit.position)

    # The response

    def _answer(self, commit: Commit, error: ErrorCode) -> CommitResponse:
        """The response to a commit whose valid offsets were appended, or failed with `error`."""
        if error and self._behaviour.failed_appends_roll_back:
            return self._error(commit.body, commit.offsets, error)
        errors = (error if fits else ErrorCode.OFFSET_METADATA_TOO_LARGE for fits in commit.fits)
        return self._response(commit.body, commit.offsets, errors)

    def _error(self, body: CommitRequest, offsets: Offsets, error: ErrorCode) -> CommitResponse:
        return self._response(body, offsets, repeat(error))

    def _response(
        self, body: CommitRequest, offsets: Offsets, errors: Iterator[ErrorCode]
    ) -> CommitResponse:
        """The response with an error for each requested offset."""
        if self._behaviour.repeats_requested_partitions:
            return _of(body, commit_topics(body, errors))
        partitions = (
            (partition, kafka.OffsetCommitResponsePartition(partition[1], error))
            for (partition, _), error in zip(offsets, errors, strict=False)
        )
        return _of(body, by_topic(kafka.OffsetCommitResponseTopic, partitions))


def _of(body: CommitRequest, topics: tuple[kafka.OffsetCommitResponseTopic, ...]) -> CommitResponse:
    in_transaction = isinstance(body, kafka.TxnOffsetCommitRequest)
    return (
        kafka.TxnOffsetCommitResponse(topics)
        if in_transaction
        else kafka.OffsetCommitResponse(topics)
    )


def _with_commit_times(body: kafka.OffsetCommitRequest, offsets: Offsets) -> Offsets:
    """The offsets with the commit times of the request (KafkaApis.scala:481)."""
    ages_ms = {
        (topic.name, partition.partition_index): partition.commit_age_ms
        for topic in body.topics
        for partition in topic.partitions
    }
    return tuple(
        (
            partition,
            value._replace(commit_timestamp_ms=value.commit_timestamp_ms - ages_ms[partition]),
        )
        for partition, value in offsets
    )


def _utf16_length(text: str) -> int:
    """The length in UTF-16 units, as Java counts it."""
    return (
        len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)
    )
