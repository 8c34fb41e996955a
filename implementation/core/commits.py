"""OffsetCommit and TxnOffsetCommit: who may commit, and what becomes of it in the log.

Offsets are open to members of the group's current generation, and to consumers that use no
group management (generation -1) as long as the group has no members.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import compress, repeat
from typing import NamedTuple

from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.offsets import Offsets
from groupcheck.implementation.core.refusals import by_topic, commit_topics
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.storing import offset_records
from groupcheck.implementation.core.transactions import Transactions
from groupcheck.implementation.log.records import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Batch,
    OffsetCommitValue,
)
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    NO_RETENTION,
    ErrorCode,
    GroupState,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    Request,
    ResponseBody,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

CommitRequest = OffsetCommitRequest | TxnOffsetCommitRequest
CommitResponse = OffsetCommitResponse | TxnOffsetCommitResponse


class Commit(NamedTuple):
    """A commit on its way to the log: what is asked, and what of it is stored."""

    request: Request
    body: CommitRequest
    group: Group
    asked: Offsets
    fits: tuple[bool, ...]  # of what is asked, each
    fitting: Offsets
    position: int
    producer_id: int


class CommitApi:
    """The commits; each is answered when the offsets have been stored, or refused at once."""

    __slots__ = ("_gate", "_groups", "_shared", "_static_members", "_traits", "_transactions")

    def __init__(
        self,
        shared: Shared,
        gate: Gate,
        static_members: StaticMembers,
        transactions: Transactions,
    ) -> None:
        self._shared = shared
        self._groups = shared.groups.by_id
        self._traits = shared.traits
        self._gate = gate
        self._static_members = static_members
        self._transactions = transactions

    # Who may

    def commit(self, request: Request, body: OffsetCommitRequest) -> ResponseBody | None:
        """OffsetCommit."""
        asked = self._asked(body, body.retention_time_ms)
        if not asked:
            return OffsetCommitResponse()
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._gate.unserved(body.group_id)
            if not error and body.generation_id >= 0:
                is_new = request.api_version >= self._traits.commit_unknown_since
                error = ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION
            if error:
                return self._refused(body, asked, error)
            group = self._shared.create(body.group_id)
        error = self._check(group, body)
        if error:
            return self._refused(body, asked, error)
        return self._store(request, body, group, asked, NO_PRODUCER_ID)

    def _check(self, group: Group, body: OffsetCommitRequest) -> ErrorCode:
        """Whether it may commit; a member that may is alive."""
        generation_id, member_id, instance_id = body[1:4]
        is_manual = generation_id < 0 and group.state is GroupState.EMPTY
        if is_manual and self._traits.manual_commits_first:
            return ErrorCode.NONE
        error = self._static_members.mistaken(group, member_id, instance_id)
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
        self, request: Request, body: TxnOffsetCommitRequest
    ) -> ResponseBody | None:
        """TxnOffsetCommit: what is committed can be read once the transaction has ended."""
        asked = self._asked(body, NO_RETENTION)
        if not asked:
            return TxnOffsetCommitResponse()
        if not body.group_id:
            return self._refused(body, asked, ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._gate.unserved(body.group_id)
            if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and request.api_version < 2:
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            if not error and self._traits.txn_commits_like_members and body.generation_id >= 0:
                error = ErrorCode.ILLEGAL_GENERATION
            if error:
                return self._refused(body, asked, error)
            group = self._shared.create(body.group_id)
        error = self._check_in_transaction(group, body)
        if error:
            return self._refused(body, asked, error)
        return self._store(request, body, group, asked, body.producer_id)

    def _check_in_transaction(self, group: Group, body: TxnOffsetCommitRequest) -> ErrorCode:
        """Whether it may commit; in whatever state the group is."""
        generation_id, member_id, instance_id = body[4:7]
        error = self._static_members.mistaken(group, member_id, instance_id)
        if self._traits.txn_commits_like_members:
            names_nobody = member_id == NO_MEMBER_ID and instance_id is None
            if generation_id < 0 and (names_nobody or group.state is GroupState.EMPTY):
                return ErrorCode.NONE
            is_current = generation_id == group.generation_id
        else:
            if member_id == NO_MEMBER_ID and error is ErrorCode.UNKNOWN_MEMBER_ID:
                error = ErrorCode.NONE
            is_current = generation_id < 0 or generation_id == group.generation_id
        return error or (ErrorCode.NONE if is_current else ErrorCode.ILLEGAL_GENERATION)

    # What becomes of it

    def _asked(self, body: CommitRequest, retention_ms: int) -> Offsets:
        """The offsets to commit, each partition once, unless all are told of as they are named."""
        now_ms = self._shared.timers.now_ms
        expire_ms = NO_TIMESTAMP if retention_ms == NO_RETENTION else now_ms + retention_ms
        asked = tuple(
            (
                (topic.name, index),
                OffsetCommitValue(offset, leader_epoch, metadata or "", now_ms, expire_ms),
            )
            for topic in body.topics
            for index, offset, leader_epoch, metadata in topic.partitions
        )
        return asked if self._traits.answers_as_asked else tuple(dict(asked).items())

    def _store(
        self, request: Request, body: CommitRequest, group: Group, asked: Offsets, producer_id: int
    ) -> ResponseBody | None:
        limit = self._shared.config.offset_metadata_max_bytes
        fits = tuple(_utf16_length(value.metadata) <= limit for _, value in asked)
        fitting = asked if all(fits) else tuple(compress(asked, fits))
        position = self._shared.next_position()
        commit = Commit(request, body, group, asked, fits, fitting, position, producer_id)
        if not fitting:
            answer = self._answer(commit, ErrorCode.NONE)
            return self._shared.waiting.answer(group.partition, request, answer)
        if self._traits.commits_are_prepared:
            # All of them, not only those that fit: a partition whose metadata is too large,
            # committed with a good one, stays pending until a good commit of its own (KAFKA-16371).
            if producer_id == NO_PRODUCER_ID:
                group.offsets.prepare(asked)
            else:
                self._transactions.stage(group, producer_id, asked, None)
        epoch = body.producer_epoch if isinstance(body, TxnOffsetCommitRequest) else -1
        batch = Batch(offset_records(group, fitting), producer_id, epoch)
        self._shared.append(group.partition, batch, partial(self._stored, commit))
        return None

    def _stored(self, commit: Commit, error: ErrorCode) -> None:
        if commit.group.state is not GroupState.DEAD:
            if commit.producer_id != NO_PRODUCER_ID:
                self._settle_stage(commit, error)
            elif error:
                commit.group.offsets.fail(commit.fitting)
            elif self._traits.commits_are_prepared:
                commit.group.offsets.complete(commit.fitting, commit.position)
            else:
                commit.group.offsets.set(commit.fitting, commit.position)
        if error:
            error = self._traits.commit_errors.get(error, error)
            self._shared.answer(commit.request.request_id, self._answer(commit, error))
        else:
            answer = self._answer(commit, ErrorCode.NONE)
            self._shared.answer_when_committed(commit.group.partition, commit.request, answer)

    def _settle_stage(self, commit: Commit, error: ErrorCode) -> None:
        offsets, producer_id, fitting = commit.group.offsets, commit.producer_id, commit.fitting
        if not self._traits.commits_are_prepared:
            if not error:
                self._transactions.stage(commit.group, producer_id, fitting, commit.position)
        elif error:
            offsets.fail_stage(producer_id, fitting)
        else:
            offsets.complete_stage(producer_id, fitting, commit.position)

    # What is answered

    def _answer(self, commit: Commit, error: ErrorCode) -> CommitResponse:
        """What a commit is answered, whose fitting part was stored or not."""
        if error and self._traits.writes_are_undone:
            return self._refused(commit.body, commit.asked, error)
        errors = (error if fits else ErrorCode.OFFSET_METADATA_TOO_LARGE for fits in commit.fits)
        return self._told(commit.body, commit.asked, errors)

    def _refused(self, body: CommitRequest, asked: Offsets, error: ErrorCode) -> CommitResponse:
        return self._told(body, asked, repeat(error))

    def _told(
        self, body: CommitRequest, asked: Offsets, errors: Iterator[ErrorCode]
    ) -> CommitResponse:
        """The error of each offset that is asked for."""
        if self._traits.answers_as_asked:
            return _of(body, commit_topics(body, errors))
        partitions = (
            (partition, OffsetCommitResponsePartition(partition[1], error))
            for (partition, _), error in zip(asked, errors, strict=False)
        )
        return _of(body, by_topic(OffsetCommitResponseTopic, partitions))


def _of(body: CommitRequest, topics: tuple[OffsetCommitResponseTopic, ...]) -> CommitResponse:
    in_transaction = isinstance(body, TxnOffsetCommitRequest)
    return TxnOffsetCommitResponse(topics) if in_transaction else OffsetCommitResponse(topics)


def _utf16_length(text: str) -> int:
    """The length as Kafka's language counts it."""
    return (
        len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)
    )
