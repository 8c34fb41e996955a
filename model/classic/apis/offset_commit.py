"""OffsetCommit (2.7 GroupCoordinator.scala:686), by members and by standalone consumers."""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.rules.guards import (
    COMPLETING,
    DEFERRED,
    EMPTY,
    NO_GROUP,
    PREPARING,
    STABLE,
    Checks,
    body_of,
    replies,
    state_is,
)
from groupcheck.model.classic.rules.retention import retained
from groupcheck.model.classic.rules.session import RESTART_SESSION
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import NEVER, Group, Offset, OffsetsAppend, TopicPartition
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.completions import COMMITS_ARE_PENDING, commit_response
from groupcheck.model.classic.storing.log import store_offsets
from groupcheck.model.classic.storing.rollback import HIDES_GROUP_WITHOUT_RECORDS
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    Rule,
    Sources,
    decide,
    rule,
    single,
    table,
)
from groupcheck.model.vocabulary import NO_MEMBER_ID, ErrorCode, GroupState, Request

API: Final = "OffsetCommit"

ANSWERS_EACH_MENTION: Final = Behaviour(
    "each-repeated-partition-counts",
    API,
    "a partition that a request names several times is committed, and its offset returned, as "
    "often; otherwise once, committed with the last offset",
    at("", "", "", "OMM:624"),
)

CREATES_NO_GROUP: Final = Behaviour(
    "commits-create-no-group",
    API,
    "a commit to a group that does not exist stores the offsets and creates no group",
    at("GC:395"),
)

_body: Final = body_of(kafka.OffsetCommitRequest)


Offsets = list[tuple[TopicPartition, Offset]]


def offsets_of(step: Step, request: Request) -> Offsets:
    """The offsets that a commit names, of a transaction or not, as the version commits them."""
    body = cast("kafka.OffsetCommitRequest | kafka.TxnOffsetCommitRequest", request.body)
    retention_ms: int = getattr(body, "retention_time_ms", kafka.NO_RETENTION)
    named = [
        (
            (topic.name, p.partition_index),
            retained(
                step,
                Offset(p.committed_offset, p.committed_leader_epoch, p.committed_metadata or ""),
                retention_ms,
                getattr(p, "commit_age_ms", 0),
            ),
        )
        for topic in body.topics
        for p in topic.partitions
    ]
    return named if ANSWERS_EACH_MENTION(step) else list(dict(named).items())


def _answer(step: Step, request: Request, error: ErrorCode) -> None:
    errors = ((partition, error) for partition, _ in offsets_of(step, request))
    transactional = isinstance(request.body, kafka.TxnOffsetCommitRequest)
    step.answer(request.request_id, commit_response(errors, transactional=transactional))


# TxnOffsetCommit uses these too.
reply: Final = replies(_answer, " for each partition")
check: Final = Checks(reply)


def nothing_to_commit(id_: str, sources: Sources) -> Rule:
    """The rule of a commit, of a transaction or not, that names no partition."""
    return rule(
        id_,
        "the request names no partition, so it does not reach the coordinator",
        sources,
        Guard(
            "the request names no partition", lambda step, request: not offsets_of(step, request)
        ),
        Effect(
            "answer without partitions",
            lambda step, request: _answer(step, request, ErrorCode.NONE),
        ),
    )


def _answer_not_found(step: Step, request: Request) -> None:
    newest = request.api_version >= 9
    _answer(step, request, ErrorCode.GROUP_ID_NOT_FOUND if newest else ErrorCode.ILLEGAL_GENERATION)


def utf16_length(text: str) -> int:
    """The length of a string as Kafka counts it, in UTF-16 units (2.7 GMM:926)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fits(step: Step, offset: Offset) -> bool:
    """Whether the metadata is at most as long as the broker allows."""
    return utf16_length(offset.metadata) <= step.config.offset_metadata_max_bytes


NONE_FITS: Final = Guard(
    "every partition's metadata is longer than offset.metadata.max.bytes",
    lambda step, request: not any(_fits(step, each) for _, each in offsets_of(step, request)),
)


def _leave_pending(step: Step, request: Request) -> None:
    if not step.config.keeps_ages:
        return  # only a cleanup reads it
    never = {(partition, NEVER) for partition, _ in offsets_of(step, request)}
    unstable = tuple(sorted({*step.existing.unstable, *never}))
    step.group = step.existing._replace(unstable=unstable)


# No append completes the commit. 0.10.0 has no pending commits.
_STAY_PENDING: Final = Effect(
    "leave the commit pending, so that its partitions and the group do not expire", _leave_pending
).only(at("", "GMM:317"))
COMMIT_TOO_LARGE: Final = single(
    "A commit whose metadata is too long",
    API,
    "commit/metadata-too-large",
    "every partition's metadata is longer than offset.metadata.max.bytes",
    at("GMM:306", "GMM:306", "GMM:360", "OMM:630"),
    NONE_FITS,
    _STAY_PENDING,
    reply(ErrorCode.OFFSET_METADATA_TOO_LARGE),
    deferred=DEFERRED,
)


def append_of(step: Step, request: Request) -> OffsetsAppend | None:
    """The append of the offsets with short enough metadata (2.7 GroupMetadataManager.scala:340).

    It is None, and the commit is answered, if no partition can be stored.
    """
    if decide(step, COMMIT_TOO_LARGE, request) is not None:
        return None
    offsets = offsets_of(step, request)
    return OffsetsAppend(
        request.request_id,
        tuple(item for item in offsets if _fits(step, item[1])),
        tuple(partition for partition, offset in offsets if not _fits(step, offset)),
    )


def _store(step: Step, request: Request) -> None:
    """Store the offsets.

    2.7 marks all partitions of the request as unstable, the rejected ones too. Only the completion
    of the append removes the mark, so a rejected partition keeps it (KAFKA-16371).
    """
    entry = append_of(step, request)
    if entry is None:
        return
    if COMMITS_ARE_PENDING(step):
        named = dict(offsets_of(step, request))
        others = [each for each in step.existing.unstable if each[0] not in named]
        unstable = sorted([*others, *((partition, request.request_id) for partition in named)])
        step.group = step.existing._replace(unstable=tuple(unstable))
    store_offsets(step, entry)


def _create(step: Step, request: Request) -> None:
    # A Dead group has only offsets.
    alone = GroupState.DEAD if CREATES_NO_GROUP(step) else EMPTY
    step.group = step.group or Group(
        alone,
        not_persisted=HIDES_GROUP_WITHOUT_RECORDS(step),
        has_empty_id=not _body(request).group_id,
    )


_IS_SIMPLE: Final = Guard(
    "the request has no generation", lambda _step, request: request.body.generation_id < 0
)
_STORE: Final = Effect("append the offsets", _store)
COMMIT: Final = table(
    "OffsetCommit",
    API,
    nothing_to_commit("commit/no-partitions", at("APIS:254", "APIS:278", "APIS:434", "APIS:343")),
    check("commit/not-active", at("GC:386", "GC:401", "GC:859", "GCS:1976")),
    check("commit/loading", at("", "", "GC:861", "CR:2207")),
    check("commit/not-coordinator", at("GC:388", "GC:403", "GC:863", "CR:2209")),
    rule(
        "commit/simple-no-group",
        "a commit without a generation (manual partition assignment) creates the group",
        at("GC:395", "GC:410", "GC:697", "OMM:460"),
        NO_GROUP,
        _IS_SIMPLE,
        Effect("create an Empty group (in 0.10.0 only its offsets)", _create),
        _STORE,
    ),
    rule(
        "commit/not-found",
        "the group does not exist; before version 9, the answer is the error of an old generation",
        at("", "", "", "OMM:468"),
        NO_GROUP,
        Effect(
            "answer GROUP_ID_NOT_FOUND for each partition, ILLEGAL_GENERATION before version 9",
            _answer_not_found,
        ),
    ),
    rule(
        "commit/no-group",
        "the group does not exist, so the generation is not current",
        at("GC:399", "GC:414", "GC:701"),
        NO_GROUP,
        reply(ErrorCode.ILLEGAL_GENERATION),
    ),
    check("commit/fenced", at("", "", "GC:762", "CG:810")),
    rule(
        "commit/simple-empty",
        "the group has no members, and accepts a commit without a generation",
        at("", "GC:435", "GC:764", "CG:840"),
        state_is(EMPTY),
        _IS_SIMPLE,
        _STORE,
    ),
    check("commit/unknown-instance", at("", "", "", "CG:805")),
    rule(
        "commit/simple-in-use",
        "a commit without a generation and a member id (manual partition assignment) is rejected "
        "while the group has members",
        at("", "", "", "CG:853"),
        _IS_SIMPLE,
        Guard(
            "the request has no member id",
            lambda _step, request: request.body.member_id == NO_MEMBER_ID,
        ),
        reply(ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    check("commit/unknown-member", at("GC:409", "GC:441", "GC:767", "CG:814")),
    check("commit/other-generation", at("GC:411", "GC:443", "GC:769", "CG:850")),
    rule(
        "commit/completing",
        "the member is in the current generation, but has no assignment yet",
        at("GC:407", "GC:439", "GC:780", "CG:861"),
        state_is(COMPLETING),
        reply(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    rule(
        "commit/member",
        "a member of the current generation commits, which restarts its session timer",
        at("GC:413", "GC:446", "GC:773", "OMM:610"),
        state_is(STABLE, PREPARING),
        RESTART_SESSION,
        _STORE,
    ),
    moves={
        "0.10.0": (("commit/completing", "commit/unknown-member"),),
        "0.10.2": (("commit/completing", "commit/unknown-member"),),
        "4.1": (
            ("commit/simple-empty", "commit/fenced"),
            ("commit/unknown-instance", "commit/fenced"),
        ),
    },
)
PARTS: Final = (ANSWERS_EACH_MENTION, CREATES_NO_GROUP, COMMIT, COMMIT_TOO_LARGE)
