"""The state of a coordinator after loading a log, by Kafka's rules, to compare logs by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groupcheck.implementation.log.records import (
    NO_PRODUCER_ID,
    Batch,
    GroupMetadataKey,
    GroupMetadataValue,
    Marker,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)

Key = OffsetCommitKey | GroupMetadataKey
Value = OffsetCommitValue | GroupMetadataValue
Values = dict[Key, tuple[int, Value]]


class Loaded(NamedTuple):
    """The stored values, and the pending ones of open transactions by producer."""

    stored: dict[Key, Value]
    pending: dict[int, dict[Key, Value]]


def load(log: Iterable[Batch], *, tombstones_end_pending: bool = False) -> Loaded:
    """Load as 2.7.2 does (GroupMetadataManager.doLoadGroupsAndOffsets).

    In 4.1 a tombstone also removes what open transactions hold for its key
    (OffsetMetadataManager.replay).
    """
    stored: Values = {}
    pending: dict[int, Values] = {}
    for position, batch in enumerate(log):
        if batch.marker is not None:
            ended = pending.pop(batch.producer_id, {})
            if batch.marker is Marker.COMMIT:
                stored.update(
                    {k: v for k, v in ended.items() if k not in stored or stored[k][0] < v[0]}
                )
        elif batch.producer_id != NO_PRODUCER_ID:
            replay(position, batch.records, pending.setdefault(batch.producer_id, {}))
        else:
            replay(position, batch.records, stored)
            if tombstones_end_pending:
                for record in batch.records:
                    for held in pending.values() if record.value is None else ():
                        held.pop(record.key, None)
    return Loaded(
        bare(stored), {producer: bare(held) for producer, held in pending.items() if held}
    )


def replay(position: int, records: Iterable[Record], into: Values) -> None:
    """Replace earlier records of the same keys."""
    for record in records:
        if record.value is None:
            into.pop(record.key, None)
        else:
            into[record.key] = (position, record.value)


def bare(values: Values) -> dict[Key, Value]:
    """The values without their positions."""
    return {key: value for key, (_, value) in values.items()}
