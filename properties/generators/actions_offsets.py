"""Actions on offsets: commits, in transactions too, fetches and deletions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, TypeVar

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import OffsetsAppend
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    NO_GENERATION,
    NO_MEMBER_ID,
    EndTxnRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupcheck.properties.generators.context import METADATA, PRODUCERS, TOPICS, Choices, Context

P = TypeVar("P")
T = TypeVar("T")

RETENTIONS_MS = (-1, -1, 60_000, 600_000)
AGES_MS = (0, 0, 60_000, -60_000)  # in the past, and in the future


class Where(NamedTuple):
    """A partition of a commit, with its offset and metadata."""

    topic: int
    partition: int
    metadata: str | None


def _partitions(choices: Choices) -> list[Where]:
    """Up to three partitions, perhaps one of them twice."""
    count = (1, 1, 2, 3, 0)[choices.of(5)]
    return [
        Where(choices.of(2), choices.of(3), METADATA[choices.of(len(METADATA))])
        for _ in range(count)
    ]


def _topics(
    found: Iterable[Where],
    first: int,
    partition: Callable[[int, int, int, str | None], P],
    topic: Callable[[str, tuple[P, ...]], T],
) -> tuple[T, ...]:
    """The topics of a commit, with these offsets; the leader epoch is the topic's number."""
    partitions: dict[int, list[P]] = {}
    for offset, each in enumerate(found, first):
        made = partition(each.partition, offset, each.topic, each.metadata)
        partitions.setdefault(each.topic, []).append(made)
    return tuple(topic(TOPICS[number], tuple(made)) for number, made in sorted(partitions.items()))


def commit(context: Context, choices: Choices) -> Input:
    """Offsets are committed, by a member or by a consumer without a group."""
    member_id, generation = context.member(choices), context.generation(choices)
    simple, version, kept = choices.of(4) == 3, context.version(choices), choices.of(4)
    instance_id = context.instance(member_id, choices)
    first = context.request_id * 10  # all offsets differ, those of one partition too
    expires = "cleanup" in context.capabilities.faults
    partition = partial(OffsetCommitRequestPartition, commit_age_ms=AGES_MS[kept] if expires else 0)
    topic = OffsetCommitRequestTopic
    topics = _topics(_partitions(choices), first, partition, topic)
    body = OffsetCommitRequest(
        GROUP_ID,
        NO_GENERATION if simple else generation,
        NO_MEMBER_ID if simple else member_id,
        None if simple else instance_id,
        topics,
        RETENTIONS_MS[kept] if expires else -1,
    )
    return context.request(body, version)


def txn_commit(context: Context, choices: Choices) -> Input:
    """Offsets are committed in a transaction, by a member or by a producer alone."""
    member_id, generation = context.member(choices), context.generation(choices)
    alone, version = choices.of(4) == 3, context.version(choices)
    instance_id = context.instance(member_id, choices)
    producer_id, first = PRODUCERS[choices.of(4) // 3], context.request_id * 10
    partition, topic = TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
    topics = _topics(_partitions(choices), first, partition, topic)
    body = TxnOffsetCommitRequest(
        f"transaction-{producer_id}",
        GROUP_ID,
        producer_id,
        0,
        NO_GENERATION if alone else generation,
        NO_MEMBER_ID if alone else member_id,
        None if alone else instance_id,
        topics,
    )
    return context.request(body, version)


def end_txn(context: Context, choices: Choices) -> Input | None:
    """A transaction ends; its marker never overtakes an append of the transaction."""
    version, producer_id = context.version(choices), PRODUCERS[choices.of(4) // 3]
    held = (a.producer_id for a in context.state.appends if isinstance(a, OffsetsAppend))
    if producer_id in held:
        return None
    return context.request(EndTxnRequest(GROUP_ID, producer_id, choices.of(2) == 0), version)


def fetch(context: Context, choices: Choices) -> Input:
    """Committed offsets are fetched, all or those of some partitions, perhaps named twice."""
    version, stable, count = context.version(choices), choices.of(2) == 0, choices.of(5) - 1
    topics = None
    if count >= 0:
        topics = tuple(
            OffsetFetchRequestTopic(
                TOPICS[choices.of(2)], tuple(choices.of(3) for _ in range(choices.of(4)))
            )
            for _ in range(count)
        )
    return context.request(OffsetFetchRequest(GROUP_ID, topics, stable), version)


def delete(context: Context, choices: Choices) -> Input:
    """Offsets of some partitions are deleted, perhaps of a topic that a member subscribes to."""
    version, topic = context.version(choices), TOPICS[choices.of(len(TOPICS))]
    indexes = tuple(dict.fromkeys(choices.of(3) for _ in range(1 + choices.of(2))))
    partitions = tuple(map(OffsetDeleteRequestPartition, indexes))
    body = OffsetDeleteRequest(GROUP_ID, (OffsetDeleteRequestTopic(topic, partitions),))
    return context.request(body, version)
