"""The batches in a segment of a log, in order; this module does not interpret their records.

aiokafka reads every format and compression. An incomplete batch, or one with a wrong checksum, is
reported with its position.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatch

HEAD: Final = Struct(">qi")  # base offset, length of the rest
MAGIC_AT: Final = 16
NEWEST_MAGIC: Final = 2
MIN_LENGTHS: Final = (14, 22, 49)  # by format
MOST_BYTES: Final = 256 * 1024 * 1024
OLD_CRC: Final = slice(12, 16)
OLD_CHECKED_AT: Final = 16
MARKER_KEY: Final = Struct(">hh")  # version, how the transaction ended
MARKERS: Final = {0: "abort", 1: "commit"}


class Record(NamedTuple):
    """A record as it is stored; the oldest format has no timestamps."""

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None


class Batch(NamedTuple):
    """A batch at a `position` in the file: records, a marker, or the reason why it is unreadable.

    `base_offset` and `next_offset` have the values read so far. With a producer the
    records are part of a transaction, or a marker ends it.
    """

    position: int
    base_offset: int | None = None
    next_offset: int | None = None
    records: tuple[Record, ...] = ()
    producer_id: int | None = None
    producer_epoch: int = -1
    marker: str | None = None
    control: bool = False
    reason: str = ""


def batches(file: Any, size: int) -> Iterator[Batch]:  # noqa: ANN401 - any object with `read`
    """The batches of a segment of `size` bytes."""
    at = 0
    while at < size:
        head = file.read(HEAD.size)
        if len(head) < HEAD.size:
            yield Batch(at, reason="the file ends in the head of a batch")
            return
        base_offset, length = HEAD.unpack(head)
        if length == 0 and base_offset == 0:
            yield Batch(at, reason="the file ends with unused zeros")
            return
        if not MIN_LENGTHS[0] <= length <= MOST_BYTES or base_offset < 0:
            yield Batch(at, reason=f"not a batch: {length} bytes at offset {base_offset}")
            return
        data = head + file.read(length)
        if len(data) < HEAD.size + length:
            short = HEAD.size + length - len(data)
            yield Batch(at, base_offset, reason=f"the file ends {short} bytes before the batch")
            return
        yield _batch(at, base_offset, data)
        at += len(data)


def _batch(at: int, base_offset: int, data: bytes) -> Batch:
    magic = data[MAGIC_AT]
    if magic > NEWEST_MAGIC or len(data) - HEAD.size < MIN_LENGTHS[magic]:
        return Batch(at, base_offset, reason=f"a batch of format {magic}, {len(data)} bytes")
    if not _has_valid_checksum(data, magic):
        return Batch(at, base_offset, reason="a batch with a wrong checksum")
    new = magic == NEWEST_MAGIC
    try:
        found = DefaultRecordBatch(data) if new else LegacyRecordBatch(data, magic)
        records = tuple(Record(r.offset, r.timestamp, r.key, r.value) for r in found)
    except Exception as error:  # noqa: BLE001 - each compression has errors of its own
        return Batch(at, base_offset, reason=f"a batch that cannot be read: {error}")
    if not new:  # a compressed one has the offset of its last record
        return Batch(at, base_offset, base_offset + 1, records)
    batch = Batch(at, base_offset, found.next_offset, records)
    if found.is_control_batch or found.is_transactional:
        batch = batch._replace(producer_id=found.producer_id, producer_epoch=found.producer_epoch)
    return _control(batch) if found.is_control_batch else batch


def _has_valid_checksum(data: bytes, magic: int) -> bool:
    if magic == NEWEST_MAGIC:
        return bool(DefaultRecordBatch(data).validate_crc())
    # In older formats aiokafka reads the record before its checksum, and trusts its lengths.
    return zlib.crc32(data[OLD_CHECKED_AT:]) == int.from_bytes(data[OLD_CRC], "big")


def _control(batch: Batch) -> Batch:
    key = batch.records[0].key if batch.records else None
    if key is None or len(key) < MARKER_KEY.size:
        return batch._replace(records=(), reason="a control batch without a control record")
    return batch._replace(control=True, marker=MARKERS.get(MARKER_KEY.unpack_from(key)[1]))
