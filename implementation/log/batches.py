"""Record batches as bytes: Kafka's message format v2, and older formats for reading, with aiokafka.

This module does not decode the content of records, and does not access files.

Speed, Python 3.11, one core, batches of one record and of ten: aiokafka's compiled builder and
reader take 1.1 and 0.2 us a record to write, 0.4 and 0.2 us to read with the CRC; kafka-python, in
Python, 2.9 and 1.4, 3.7 and 2.1; kio's reader 9.1 and 5.3, and it truncates timestamps to seconds.
aiokafka's builder lacks two things, which are patched in afterwards: a base offset (outside the
CRC) and control batches, which only brokers write.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatch
from aiokafka.record.util import calc_crc32c

from groupcheck.implementation.log.errors import CorruptRecordError
from groupcheck.implementation.log.records import NO_PRODUCER_ID, Marker

_MAGIC: Final = 2
_NO_SEQUENCE: Final = -1
_NO_TIMESTAMP: Final = -1
_UNLIMITED: Final = (1 << 31) - 1

# The maximum distance of an offset from the first of its segment, and from the first of its batch.
MAX_OFFSET_DELTA: Final = (1 << 31) - 1
ANY_OFFSET: Final = range(1 << 63)

# Base offset, length, leader epoch (in older formats the CRC), magic.
_HEAD: Final = Struct(">qiib")
# The length does not count the base offset and itself.
_UNCOUNTED_BYTES: Final = 12
# The minimum length by format: aiokafka's reader does not check the length of the header.
_MIN_LENGTHS: Final = (14, 22, 49)
_LEADER_EPOCH_AT: Final = 12
_OLD_CRC_AT: Final = 12
_OLD_CHECKED_AT: Final = 16
_CRC_AT: Final = 17
_ATTRIBUTES_AT: Final = 21
_CONTROL: Final = 0x20
_LAST_OFFSET_DELTA_AT: Final = 23
_LAST_OFFSET_DELTA: Final = Struct(">i")

# The key of a marker has its version and how the transaction ended; the value has its version and
# the epoch of the transaction coordinator, which no group coordinator reads.
_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")


class RawRecord(NamedTuple):
    """A record as bytes; aiokafka's records have the same fields.

    The oldest format has no timestamps.
    """

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None


class RawBatch(NamedTuple):
    """A batch; with a producer id its records are in a transaction, which a `marker` ends."""

    records: tuple[RawRecord, ...]
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    marker: Marker | None = None
    # A control batch of another kind.
    control: bool = False


UnparsedBatch: TypeAlias = DefaultRecordBatch | LegacyRecordBatch


class Span(NamedTuple):
    """A batch whose records have not been read yet, and its position in a segment."""

    start: int
    end: int
    next_offset: int
    batch: UnparsedBatch


class InvalidBatchError(Exception):
    """The bytes at this position are not a valid batch."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position = position


def build(batch: RawBatch) -> bytearray:
    """Encode a batch, at the offset of its first record."""
    transactional = batch.producer_id != NO_PRODUCER_ID
    builder = DefaultRecordBatchBuilder(
        magic=_MAGIC,
        compression_type=0,
        is_transactional=transactional,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=0 if transactional and batch.marker is None else _NO_SEQUENCE,
        batch_size=_UNLIMITED,
    )
    base_offset = batch.records[0].offset
    for record in batch.records:
        timestamp = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
        builder.append(record.offset - base_offset, timestamp, record.key, record.value, [])
    data: bytearray = builder.build()
    if batch.marker is not None:
        data[_ATTRIBUTES_AT + 1] |= _CONTROL
        crc = calc_crc32c(bytes(data[_ATTRIBUTES_AT:]))
        data[_CRC_AT:_ATTRIBUTES_AT] = crc.to_bytes(4, "big")
    # The leader epoch: the partition has had one leader only.
    data[_LEADER_EPOCH_AT : _LEADER_EPOCH_AT + 4] = bytes(4)
    set_base_offset(data, base_offset)
    return data


def set_base_offset(data: bytearray, base_offset: int) -> None:
    """Set the base offset of a batch."""
    data[0:8] = base_offset.to_bytes(8, "big")


def offset_count(data: bytearray) -> int:
    """The number of offsets of a batch."""
    last: int = _LAST_OFFSET_DELTA.unpack_from(data, _LAST_OFFSET_DELTA_AT)[0]
    return last + 1


def marker_record(marker: Marker, timestamp_ms: int) -> RawRecord:
    """The only record of a marker's batch."""
    key = _MARKER_KEY.pack(0, marker.value)
    return RawRecord(0, timestamp_ms, key, _MARKER_VALUE.pack(0, 0))


def spans(data: bytes, base_offset: int) -> Iterator[Span]:
    """The batches of a segment, each checked to be complete and to follow the one before it.

    The checksum does not cover the base offset, so that is checked against the next expected
    offset.

    Args:
        data: The segment's bytes.
        base_offset: The lowest offset that the first batch may have.

    Raises:
        InvalidBatchError: The next bytes are not such a batch.

    """
    at, size = 0, len(data)
    offsets = range(base_offset, base_offset + MAX_OFFSET_DELTA + 1)
    while at < size:
        span = span_at(data, at, offsets)
        yield span
        at, offsets = span.end, range(span.next_offset, offsets.stop)


def next_batch_position(data: bytes, position: int) -> int | None:
    """The position of the first complete batch from a position on, or None.

    After an invalid batch the position of the next one is unknown, so this tries every byte that
    may be a batch's magic.
    """
    magic_at = _HEAD.size - 1
    # Not in the zeros at the end: zeros alone are not a batch.
    end = len(data.rstrip(b"\0")) + magic_at
    for magic in (b"\2", b"\1", b"\0"):
        at = data.find(magic, position + magic_at, end)
        while at != -1:
            try:
                span_at(data, at - magic_at)
            except InvalidBatchError:
                at = data.find(magic, at + 1, end)
            else:
                return at - magic_at
    return None


def span_at(data: bytes, at: int, offsets: range = ANY_OFFSET) -> Span:
    """The batch at a position, whose first offset is in a range.

    Raises:
        InvalidBatchError: There is none.

    """
    if len(data) - at < _HEAD.size:
        raise InvalidBatchError(at, "a truncated batch header")
    base_offset, length, _, magic = _HEAD.unpack_from(data, at)
    end = at + _UNCOUNTED_BYTES + length
    if not 0 <= magic <= _MAGIC:
        raise InvalidBatchError(at, f"a batch of format {magic}")
    if length < _MIN_LENGTHS[magic]:
        raise InvalidBatchError(at, f"a batch of {length} bytes")
    if end > len(data):
        raise InvalidBatchError(at, f"a batch without its last {end - len(data)} bytes")
    if base_offset not in offsets:
        raise InvalidBatchError(at, f"offset {base_offset} where {offsets.start} is expected")
    batch = _checked(data[at:end], magic)
    if batch is None:
        raise InvalidBatchError(at, "a batch with a wrong checksum")
    return Span(at, end, max(base_offset + 1, batch.next_offset), batch)


def _checked(data: bytes, magic: int) -> UnparsedBatch | None:
    """The batch, or None if its checksum is wrong."""
    if magic == _MAGIC:
        batch = DefaultRecordBatch(data)
        return batch if batch.validate_crc() else None
    # aiokafka's reader of the older formats parses the record before the CRC and trusts its
    # lengths.
    if zlib.crc32(data[_OLD_CHECKED_AT:]) != int.from_bytes(data[_OLD_CRC_AT:_OLD_CHECKED_AT]):
        return None
    try:
        return LegacyRecordBatch(data, magic)
    except (CorruptRecordException, SystemError):
        return None


def parse(batch: UnparsedBatch) -> RawBatch:
    """Read the records of a batch.

    Raises:
        CorruptRecordError: The checksum is right, but the records cannot be parsed, or the library
            for their compression is missing.

    """
    try:
        records: tuple[RawRecord, ...] = tuple(batch)
    except Exception as error:  # each compression has its own errors
        message = f"a batch that cannot be read: {error}"
        raise CorruptRecordError(message) from error
    if isinstance(batch, LegacyRecordBatch):
        return RawBatch(records)
    if batch.is_control_batch:
        return _parse_control(batch, records)
    if batch.is_transactional:
        return RawBatch(records, batch.producer_id, batch.producer_epoch)
    return RawBatch(records)


def _parse_control(batch: DefaultRecordBatch, records: tuple[RawRecord, ...]) -> RawBatch:
    """A control batch: a marker, or one of another kind."""
    key = records[0].key if records else None
    if key is None or len(key) < _MARKER_KEY.size:
        message = "a control batch without a control record"
        raise CorruptRecordError(message)
    _, kind = _MARKER_KEY.unpack_from(key)
    if kind not in (Marker.ABORT.value, Marker.COMMIT.value):
        return RawBatch((), control=True)
    return RawBatch(records, batch.producer_id, batch.producer_epoch, Marker(kind), control=True)
