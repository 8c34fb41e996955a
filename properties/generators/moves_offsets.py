"""Moves about offsets: they are committed, in transactions too, fetched and deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from groupcheck.model.instances.environment import GROUP_ID
from groupcheck.model.state import OffsetsAppend
from groupcheck.model.transition import Input
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
from groupcheck.properties.generators.sketch import METADATA, PRODUCERS, TOPICS, Picks, Sketch

P = TypeVar("P")
T = TypeVar("T")

RETENTIONS_MS = (-1, -1, 60_000, 600_000)


class Where(NamedTuple):
    """A partition to be committed, and what is said of it."""

    topic: int
    partition: int
    metadata: str | None


def _partitions(picks: Picks) -> list[Where]:
    """Up to three partitions, perhaps one of them twice."""
    count = (1, 1, 2, 3, 0)[picks.of(5)]
    return [
        Where(picks.of(2), picks.of(3), METADATA[picks.of(len(METADATA))]) for _ in range(count)
    ]


def _topics(
    found: Iterable[Where],
    first: int,
    partition: Callable[[int, int, int, str | None], P],
    topic: Callable[[str, tuple[P, ...]], T],
) -> tuple[T, ...]:
    """What a commit is about, by topics; of the offsets, and as leader epoch the topic's number."""
    partitions: dict[int, list[P]] = {}
    for offset, each in enumerate(found, first):
        made = partition(each.partition, offset, each.topic, each.metadata)
        partitions.setdefault(each.topic, []).append(made)
    return tuple(topic(TOPICS[number], tuple(made)) for number, made in sorted(partitions.items()))


def commit(sketch: Sketch, picks: Picks) -> Input:
    """Offsets are committed, by a member or by a consumer without a group."""
    member_id, generation = sketch.member(picks), sketch.generation(picks)
    simple, version, kept = picks.of(4) == 3, sketch.version(picks), picks.of(4)
    instance_id = sketch.instance(member_id, picks)
    first = sketch.request_id * 10  # each offset is another, those of one partition too
    partition, topic = OffsetCommitRequestPartition, OffsetCommitRequestTopic
    topics = _topics(_partitions(picks), first, partition, topic)
    body = OffsetCommitRequest(
        GROUP_ID,
        NO_GENERATION if simple else generation,
        NO_MEMBER_ID if simple else member_id,
        None if simple else instance_id,
        topics,
        RETENTIONS_MS[kept] if "cleanup" in sketch.speaks.faults else -1,
    )
    return sketch.request(body, version)


def txn_commit(sketch: Sketch, picks: Picks) -> Input:
    """Offsets are committed in a transaction, by a member or by a producer alone."""
    member_id, generation = sketch.member(picks), sketch.generation(picks)
    alone, version = picks.of(4) == 3, sketch.version(picks)
    instance_id = sketch.instance(member_id, picks)
    producer_id, first = PRODUCERS[picks.of(4) // 3], sketch.request_id * 10
    partition, topic = TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
    topics = _topics(_partitions(picks), first, partition, topic)
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
    return sketch.request(body, version)


def end_txn(sketch: Sketch, picks: Picks) -> Input | None:
    """A transaction ends; its marker never overtakes a commit of it on its way to the log."""
    version, producer_id = sketch.version(picks), PRODUCERS[picks.of(4) // 3]
    held = (a.producer_id for a in sketch.state.appends if isinstance(a, OffsetsAppend))
    if producer_id in held:
        return None
    return sketch.request(EndTxnRequest(GROUP_ID, producer_id, picks.of(2) == 0), version)


def fetch(sketch: Sketch, picks: Picks) -> Input:
    """Committed offsets are asked for, all or those that are named, perhaps more than once."""
    version, stable, count = sketch.version(picks), picks.of(2) == 0, picks.of(5) - 1
    topics = None
    if count >= 0:
        topics = tuple(
            OffsetFetchRequestTopic(
                TOPICS[picks.of(2)], tuple(picks.of(3) for _ in range(picks.of(4)))
            )
            for _ in range(count)
        )
    return sketch.request(OffsetFetchRequest(GROUP_ID, topics, stable), version)


def delete(sketch: Sketch, picks: Picks) -> Input:
    """Offsets of some partitions are deleted, those of a topic one subscribes to among them."""
    version, topic = sketch.version(picks), TOPICS[picks.of(len(TOPICS))]
    indexes = tuple(dict.fromkeys(picks.of(3) for _ in range(1 + picks.of(2))))
    partitions = tuple(map(OffsetDeleteRequestPartition, indexes))
    body = OffsetDeleteRequest(GROUP_ID, (OffsetDeleteRequestTopic(topic, partitions),))
    return sketch.request(body, version)
