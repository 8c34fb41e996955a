"""Record batches as bytes, of Kafka's message format v2, and older ones to read; aiokafka's work.

What is in a record is not known here, nor where batches are stored.

Figures, Python 3.11, one core, batches of one record and of ten: aiokafka's compiled builder and
reader take 1.1 and 0.2 us a record to write, 0.4 and 0.2 us to read with the CRC; kafka-python's,
which are Python, 2.9 and 1.4, 3.7 and 2.1; kio's reader 9.1 and 5.3, and it cuts timestamps to
seconds. aiokafka's builder lacks two things, which are patched in afterwards: a base offset (which
the CRC does not cover) and control batches, which only brokers write.
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

# How far offsets in a segment may be from its first, and those in a batch from the batch's.
REACH: Final = (1 << 31) - 1
_ANY_OFFSET: Final = range(1 << 63)

# Base offset, bytes that follow, leader epoch (in older formats the CRC), magic.
_HEAD: Final = Struct(">qiib")
# What the length does not count: the base offset and the length itself.
_UNCOUNTED: Final = 12
# The least that follows the length, by format. aiokafka's reader must not see less: it does not
# look before it reads a batch's head.
_LEAST: Final = (14, 22, 49)
_LEADER_EPOCH_AT: Final = 12
_OLD_CRC_AT: Final = 12
_OLD_CHECKED_AT: Final = 16
_CRC_AT: Final = 17
_ATTRIBUTES_AT: Final = 21
_CONTROL: Final = 0x20
_LAST_OFFSET_DELTA_AT: Final = 23
_LAST_OFFSET_DELTA: Final = Struct(">i")

# A marker's key is its version and how the transaction ended; its value is its version and the
# epoch of the transaction coordinator, which no group coordinator asks for.
_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")


class RawRecord(NamedTuple):
    """A record whose meaning is not known here; aiokafka's have the same fields.

    The oldest format has no timestamps.
    """

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None


class RawBatch(NamedTuple):
    """A batch; with a producer its records are part of a transaction, which a `marker` ends."""

    records: tuple[RawRecord, ...]
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    marker: Marker | None = None
    # A control batch of a kind that does not concern groups.
    control: bool = False


Found: TypeAlias = DefaultRecordBatch | LegacyRecordBatch


class Span(NamedTuple):
    """A batch whose records have not been read yet, and where it lies among a segment's bytes."""

    start: int
    end: int
    next_offset: int
    batch: Found


class UnsoundError(Exception):
    """From this position on the bytes are no batch."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position = position


def build(batch: RawBatch) -> bytearray:
    """A batch as bytes, at the offset of its first record."""
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
    # The epoch of the partition's leader: there has been one leader only.
    data[_LEADER_EPOCH_AT : _LEADER_EPOCH_AT + 4] = bytes(4)
    move(data, base_offset)
    return data


def move(data: bytearray, base_offset: int) -> None:
    """Give a batch another base offset."""
    data[0:8] = base_offset.to_bytes(8, "big")


def offsets_in(data: bytearray) -> int:
    """How many offsets a batch takes."""
    last: int = _LAST_OFFSET_DELTA.unpack_from(data, _LAST_OFFSET_DELTA_AT)[0]
    return last + 1


def marker_record(marker: Marker, timestamp_ms: int) -> RawRecord:
    """The one record of a marker's batch."""
    key = _MARKER_KEY.pack(0, marker.value)
    return RawRecord(0, timestamp_ms, key, _MARKER_VALUE.pack(0, 0))


def spans(data: bytes, base_offset: int) -> Iterator[Span]:
    """Each batch of a segment, seen to be whole and to follow the one before it.

    The checksum does not cover a batch's offset: that is held to what may come next.

    Args:
        data: The segment's bytes.
        base_offset: The least offset that the first batch may have.

    Raises:
        UnsoundError: What comes next is no such batch.

    """
    at, size = 0, len(data)
    offsets = range(base_offset, base_offset + REACH + 1)
    while at < size:
        span = _span(data, at, offsets)
        yield span
        at, offsets = span.end, range(span.next_offset, offsets.stop)


def whole_from(data: bytes, position: int) -> int | None:
    """The position of the first whole batch from a position on, or None if there is none.

    Where one cannot be read it cannot be told where the next begins, so every byte that may be a
    batch's magic is tried.
    """
    magic_at = _HEAD.size - 1
    # Before the zeros at the end: a batch of nothing but zeros is none.
    end = len(data.rstrip(b"\0")) + magic_at
    for magic in (b"\2", b"\1", b"\0"):
        at = data.find(magic, position + magic_at, end)
        while at != -1:
            try:
                _span(data, at - magic_at, _ANY_OFFSET)
            except UnsoundError:
                at = data.find(magic, at + 1, end)
            else:
                return at - magic_at
    return None


def _span(data: bytes, at: int, offsets: range) -> Span:
    """The batch at a position.

    Raises:
        UnsoundError: There is none.

    """
    if len(data) - at < _HEAD.size:
        raise UnsoundError(at, "the head of a batch is cut off")
    base_offset, length, _, magic = _HEAD.unpack_from(data, at)
    end = at + _UNCOUNTED + length
    if not 0 <= magic <= _MAGIC:
        raise UnsoundError(at, f"a batch of format {magic}")
    if length < _LEAST[magic]:
        raise UnsoundError(at, f"a batch of {length} bytes")
    if end > len(data):
        raise UnsoundError(at, f"a batch is cut off {end - len(data)} bytes before its end")
    if base_offset not in offsets:
        raise UnsoundError(at, f"offset {base_offset} where {offsets.start} comes next")
    batch = _checked(data[at:end], magic)
    if batch is None:
        raise UnsoundError(at, "a batch whose checksum is wrong")
    return Span(at, end, max(base_offset + 1, batch.next_offset), batch)


def _checked(data: bytes, magic: int) -> Found | None:
    """A batch if its checksum is right."""
    if magic == _MAGIC:
        batch = DefaultRecordBatch(data)
        return batch if batch.validate_crc() else None
    # aiokafka's reader of the older formats reads the record first, and trusts its lengths.
    if zlib.crc32(data[_OLD_CHECKED_AT:]) != int.from_bytes(data[_OLD_CRC_AT:_OLD_CHECKED_AT]):
        return None
    try:
        return LegacyRecordBatch(data, magic)
    except (CorruptRecordException, SystemError):
        return None


def parse(batch: Found) -> RawBatch:
    """A batch with its records.

    Raises:
        CorruptRecordError: The checksum is right, and yet the records are none, or are compressed
            in a way for which a library is missing.

    """
    try:
        records: tuple[RawRecord, ...] = tuple(batch)
    except Exception as error:  # each compression has errors of its own
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
    """A control batch: the end of a transaction, or something that is for others."""
    key = records[0].key if records else None
    if key is None or len(key) < _MARKER_KEY.size:
        message = "a control batch without a control record"
        raise CorruptRecordError(message)
    _, kind = _MARKER_KEY.unpack_from(key)
    if kind not in (Marker.ABORT.value, Marker.COMMIT.value):
        return RawBatch((), control=True)
    return RawBatch(records, batch.producer_id, batch.producer_epoch, Marker(kind), control=True)
