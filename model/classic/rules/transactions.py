"""Offsets of transactions: pending from their TxnOffsetCommit to the marker that ends them.

Of positions in the log only the order matters, for each partition. Appends complete in the order of
the log, so the last completed one is the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

from groupcheck.model.classic.state import (
    Group,
    Offset,
    OffsetsAppend,
    PendingOffset,
    TopicPartition,
    put,
)


def pend(
    group: Group,
    producer_id: int,
    offsets: Mapping[TopicPartition, Offset],
    request_id: int | None,
) -> Group:
    """The group with offsets of a transaction, which replace earlier ones of the same producer.

    Source: GroupMetadata.scala:614.
    """
    kept = [
        p for p in group.transactions if p.producer_id != producer_id or p.partition not in offsets
    ]
    new = [PendingOffset(producer_id, *item, request_id) for item in offsets.items()]
    return group._replace(
        transactions=tuple(sorted((*kept, *new), key=attrgetter("partition"))),
        producers=tuple(sorted({*group.producers, producer_id})),
    )


def mark_in_log(group: Group, entry: OffsetsAppend) -> Group:
    """The group after the append of a TxnOffsetCommit is complete (GroupMetadata.scala:645)."""
    stored = {partition for partition, _ in entry.offsets}
    return group._replace(
        transactions=tuple(
            p._replace(request_id=None)
            if p.request_id == entry.request_id and p.partition in stored
            else p
            for p in group.transactions
        )
    )


def drop_failed(group: Group, entry: OffsetsAppend) -> Group:
    """The group after the append of a TxnOffsetCommit failed (GroupMetadata.scala:632).

    The producer's pending offsets of those partitions are dropped, whichever commit they are of. If
    none is left, no marker is awaited.
    """
    stored = {partition for partition, _ in entry.offsets}
    kept = tuple(
        p
        for p in group.transactions
        if p.producer_id != entry.producer_id or p.partition not in stored
    )
    left = {p.producer_id for p in kept}
    producers = tuple(p for p in group.producers if p != entry.producer_id or p in left)
    return group._replace(transactions=kept, producers=producers)


def mark_older(group: Group, partition: TopicPartition) -> Group:
    """The group after a commit of the partition that is now the newest in the log."""
    return group._replace(
        transactions=tuple(
            p._replace(newer=False) if p.partition == partition and p.request_id is None else p
            for p in group.transactions
        )
    )


def awaiting_marker(group: Group) -> set[TopicPartition]:
    """The partitions with a transaction's pending offset."""
    return {p.partition for p in group.transactions}


def mark_newest(group: Group, partitions: Iterable[TopicPartition]) -> Group:
    """The group without the offsets of those partitions: pending ones are newer."""
    gone = set(partitions)
    return group._replace(
        transactions=tuple(
            p._replace(newer=True) if p.partition in gone else p for p in group.transactions
        )
    )


def drop_pending(group: Group, partitions: Iterable[TopicPartition]) -> Group:
    """The group without the pending offsets of those partitions; markers are still awaited."""
    gone = set(partitions)
    kept = tuple(p for p in group.transactions if p.partition not in gone)
    return group._replace(transactions=kept)


def drop_pending_and_producers(group: Group, partitions: Iterable[TopicPartition]) -> Group:
    """The same; no marker is awaited of a producer without pending offsets.

    Source: 4.1 OffsetMetadataManager.java:1184.
    """
    group = drop_pending(group, partitions)
    left = {p.producer_id for p in group.transactions}
    return group._replace(producers=tuple(sorted(left)))


def pending_of(group: Group, producer_id: int) -> list[PendingOffset]:
    """The pending offsets of a producer."""
    return [p for p in group.transactions if p.producer_id == producer_id]


def end(group: Group, producer_id: int, made_readable: Iterable[PendingOffset]) -> Group:
    """The group after a marker (GroupMetadata.scala:660).

    It makes an offset readable only if that is newer than the readable one.
    """
    for pending in made_readable:
        if pending.newer:
            group = _read_from(group, pending)
    return group._replace(
        transactions=tuple(p for p in group.transactions if p.producer_id != producer_id),
        producers=tuple(p for p in group.producers if p != producer_id),
    )


def _read_from(group: Group, pending: PendingOffset) -> Group:
    """The group in which that offset is readable, and earlier ones of the log are older."""
    earlier = group.transactions[: group.transactions.index(pending)]
    overtaken = [p for p in earlier if p.partition == pending.partition]
    return group._replace(
        offsets=put(group.offsets, pending.partition, pending.offset),
        transactions=tuple(
            p._replace(newer=False) if p in overtaken else p for p in group.transactions
        ),
    )
