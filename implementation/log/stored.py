"""Typed batches to the bytes that are stored, and back."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.implementation.log.batches import (
    Found,
    RawBatch,
    RawRecord,
    build,
    marker_record,
    parse,
)
from groupcheck.implementation.log.codec import Format, decode, encode
from groupcheck.implementation.log.errors import UnknownRecordTypeError, UnwritableRecordError
from groupcheck.implementation.log.records import Batch, Record


class Read(NamedTuple):
    """A batch, and the number of its records of unknown types.

    A batch of only such records, or a control batch of another kind, has neither records nor a
    marker.
    """

    batch: Batch
    skipped: int


def to_bytes(batch: Batch, written: Format, timestamp_ms: int) -> bytearray:
    """Encode a batch, at offset 0.

    Raises:
        UnwritableRecordError: The format cannot hold one of its records, or there are none.

    """
    if not batch.records and batch.marker is None:
        message = "a batch without records"
        raise UnwritableRecordError(message)
    records: tuple[RawRecord, ...]
    if batch.marker is not None:
        records = (marker_record(batch.marker, timestamp_ms),)
    else:
        records = tuple(
            RawRecord(i, timestamp_ms, *encode(record, written))
            for i, record in enumerate(batch.records)
        )
    return build(RawBatch(records, batch.producer_id, batch.producer_epoch, batch.marker))


def from_bytes(found: Found) -> Read:
    """Decode the records of a batch in a segment.

    Raises:
        CorruptRecordError: The checksum is right, but the records cannot be parsed.

    """
    raw = parse(found)
    if raw.control:
        return Read(Batch((), raw.producer_id, raw.producer_epoch, raw.marker), 0)
    records: list[Record] = []
    skipped = 0
    for record in raw.records:
        try:
            records.append(decode(record.key, record.value))
        except UnknownRecordTypeError:
            skipped += 1
    return Read(Batch(tuple(records), raw.producer_id, raw.producer_epoch), skipped)
