"""The effects of the completion of an append, by the kind of record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.rules.rebalance import maybe_prepare_rebalance
from groupcheck.model.classic.rules.session import answer_parked_syncs
from groupcheck.model.classic.rules.transactions import drop_failed, mark_in_log, mark_older
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    Append,
    Group,
    GroupAppend,
    HeldAnswer,
    OffsetsAppend,
    StaticAppend,
    TopicPartition,
    put,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.new_ids import (
    APPEND_FAILED,
    AREA,
    NEW_ID_APPENDED,
    error_to_group,
)
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    Table,
    decide,
    rule,
    single,
    table,
)
from groupcheck.model.vocabulary import ErrorCode, GroupState

COMMITS_FAIL_EVERYWHERE: Final = Behaviour(
    "failed-commits-fail-every-partition",
    AREA,
    "if the append of a commit fails, the answer has that error for all partitions, refused ones "
    "too",
    at("", "", "", "GCS:1996"),
)
# 0.10.0 has no pending commits, and no rule reads them: there it only keeps the states equal to
# those of 0.10.2, and the line is where the commit is complete.
COMMITS_ARE_PENDING: Final = Behaviour(
    "commits-are-pending",
    AREA,
    "a partition is unstable while a commit of it is not complete, and stays so if a commit of "
    "it was refused (KAFKA-16371)",
    at("GMM:283", "GMM:317", "GM:609"),
)


def error_to_commit(step: Step, error: ErrorCode) -> ErrorCode:
    """The answer of the other APIs to the error of an append."""
    return step.profile.commit_errors.get(error, error)


def complete_append(step: Step, entry: Append) -> None:
    """Complete an append."""
    table = COMPLETIONS.get(type(entry))
    if table is not None:
        decide(step, table, entry)


ANSWER_COMMITTED: Final = single(
    "A deferred answer is committed",
    AREA,
    "log/deferred-response-sent",
    "every record written before the answer is committed, so the answer is sent",
    at("", "", "", "CR:1947"),
    Effect("send the answer", lambda step, entry: step.answer(entry.request_id, entry.body)),
)


def awaits(group: Group | None, entry: GroupAppend) -> bool:
    """Whether the group still waits for these assignments."""
    return (
        group is not None
        and group.state is GroupState.COMPLETING_REBALANCE
        and group.generation_id == entry.generation_id
    )


def _assign(step: Step, entry: GroupAppend) -> None:
    assigned = dict(entry.assignments)
    group = step.existing
    step.group = group._replace(
        members=tuple(m._replace(assignment=assigned[m.member_id]) for m in group.members)
    )


def _become_stable(step: Step, _entry: GroupAppend) -> None:
    step.group = step.existing._replace(state=GroupState.STABLE)


# Source: 2.7 GroupCoordinator.scala:427.
ASSIGNMENTS_APPENDED: Final = table(
    "The append of assignments completes",
    AREA,
    rule(
        "log/assignments-outdated",
        "the append of the assignments completes when the group no longer waits for them: it has "
        "no effect",
        at("GC:281", "GC:275", "GC:427", "GMM:7430"),
        Guard(
            "the group no longer waits for the assignments",
            lambda step, entry: not awaits(step.group, entry),
        ),
    ),
    rule(
        "log/assignments-failed",
        "the assignments cannot be stored: every parked SyncGroup fails, and a rebalance begins",
        at("GC:282", "GC:276", "GC:429", "GMM:7431"),
        APPEND_FAILED,
        Effect(
            "answer every parked SyncGroup with the mapped error",
            lambda step, e: answer_parked_syncs(step, error_to_group(step, e.error)),
        ),
        Effect("prepare a rebalance", lambda step, _e: maybe_prepare_rebalance(step)),
    ),
    rule(
        "log/assignments-stored",
        "the assignments are stored, so every parked SyncGroup is answered",
        at("GC:286", "GC:280", "GC:432", "GMM:7438"),
        Effect("assign", _assign),
        Effect(
            "answer every parked SyncGroup with its assignment",
            lambda step, _e: answer_parked_syncs(step, ErrorCode.NONE),
        ),
        Effect("move to Stable", _become_stable),
    ),
)


def _has_group(step: Step, entry: OffsetsAppend) -> Group | None:
    """The group of the commit; None if it was deleted or unloaded since.

    Source: 2.7 GroupMetadataManager.scala:405.
    """
    return None if entry.orphaned or entry.after_unload else step.group


def _make_readable(step: Step, entry: OffsetsAppend) -> None:
    """The offsets can be read, except of a partition whose offset was deleted meanwhile.

    Source: 2.7 GroupMetadata.scala:584.
    """
    group = _has_group(step, entry)
    if group is None:
        return
    awaited = dict(group.unstable)
    offsets = group.offsets
    for partition, offset in entry.offsets:
        if partition in awaited or not COMMITS_ARE_PENDING(step):
            offsets = put(offsets, partition, offset)
            group = mark_older(group, partition)
    step.group = group._replace(offsets=offsets)


def _end_pending(step: Step, entry: OffsetsAppend) -> None:
    group = _has_group(step, entry)
    if group is None:
        return
    stored = {partition for partition, _ in entry.offsets}
    unstable = tuple(
        (partition, request_id)
        for partition, request_id in group.unstable
        if partition not in stored or request_id != entry.request_id
    )
    step.group = group._replace(unstable=unstable)


def _await_marker(step: Step, entry: OffsetsAppend) -> None:
    group = _has_group(step, entry)
    if group is not None:
        step.group = mark_in_log(group, entry)


def _drop_failed(step: Step, entry: OffsetsAppend) -> None:
    group = _has_group(step, entry)
    if group is not None:
        step.group = drop_failed(group, entry)


def _answer_commit(step: Step, entry: OffsetsAppend) -> None:
    error = error_to_commit(step, entry.error)
    errors = [(partition, error) for partition, _ in entry.offsets]
    whole = entry.error is not ErrorCode.NONE and COMMITS_FAIL_EVERYWHERE(step)
    refusal = error if whole else ErrorCode.OFFSET_METADATA_TOO_LARGE
    errors += [(partition, refusal) for partition in entry.refused]
    transactional = entry.producer_id is not None
    step.answer(entry.request_id, commit_response(errors, transactional=transactional))


_TRANSACTIONAL: Final = Guard(
    "the offsets are those of a transaction", lambda _step, entry: entry.producer_id is not None
)
_ANSWER: Final = Effect("answer the commit", _answer_commit)
_END_PENDING: Final = Effect("mark the partitions as stable", _end_pending)
_FORGET_FAILED: Final = Effect(
    "drop the producer's pending offsets of those partitions", _drop_failed
).only(at("", "", "GM:632"))
OFFSETS_APPENDED: Final = table(
    "The append of offsets completes",
    AREA,
    rule(
        "log/transaction-failed",
        "the offsets of a transaction cannot be stored: they are dropped, and the commit fails",
        at("", "", "GM:632", "GCS:2037"),
        APPEND_FAILED,
        _TRANSACTIONAL,
        _FORGET_FAILED,
        _ANSWER,
    ),
    rule(
        "log/offsets-failed",
        "the offsets cannot be stored, and the commit fails",
        at("GMM:291", "GMM:283", "GMM:430", "GCS:1996"),
        APPEND_FAILED,
        _END_PENDING,
        _ANSWER,
    ),
    rule(
        "log/offsets-of-unloaded-group",
        "the offsets are stored after the group was unloaded, and have no effect on it",
        at("GMM:283", "GMM:266", "GMM:405"),
        Guard("the group was unloaded meanwhile", lambda _step, entry: entry.after_unload),
        _ANSWER,
    ),
    rule(
        "log/transaction-stored",
        "the offsets of a transaction are stored, and cannot be read before its marker",
        at("", "", "GMM:408", "OMM:1169"),
        _TRANSACTIONAL,
        Effect("wait for the marker of the transaction", _await_marker),
        _ANSWER,
        deferred=at("", "", "", "CR:827"),
    ),
    rule(
        "log/offsets-stored",
        "the offsets are stored and can be read",
        at("GMM:283", "GMM:268", "GMM:410", "OMM:1155"),
        Effect("make the offsets readable", _make_readable),
        _END_PENDING,
        _ANSWER,
        deferred=at("", "", "", "CR:827"),
    ),
)
COMPLETIONS: Final[dict[type, Table]] = {
    GroupAppend: ASSIGNMENTS_APPENDED,
    StaticAppend: NEW_ID_APPENDED,
    OffsetsAppend: OFFSETS_APPENDED,
    HeldAnswer: ANSWER_COMMITTED,
}


def commit_response(
    errors: Iterable[tuple[TopicPartition, ErrorCode]], *, transactional: bool = False
) -> kafka.OffsetCommitResponse | kafka.TxnOffsetCommitResponse:
    """The answer to OffsetCommit or TxnOffsetCommit, topics and partitions in order."""
    topics: dict[str, list[kafka.OffsetCommitResponsePartition]] = {}
    for (topic, index), error in sorted(errors):
        topics.setdefault(topic, []).append(kafka.OffsetCommitResponsePartition(index, error))
    response = kafka.TxnOffsetCommitResponse if transactional else kafka.OffsetCommitResponse
    return response(
        tuple(kafka.OffsetCommitResponseTopic(name, tuple(found)) for name, found in topics.items())
    )
