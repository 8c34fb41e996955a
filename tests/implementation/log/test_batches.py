"""Record batches as bytes, compared with kafka-python's reader and builders."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import pytest
from aiokafka.record.util import calc_crc32c
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.log.batches import (
    InvalidBatchError,
    RawBatch,
    RawRecord,
    build,
    next_batch_position,
    offset_count,
    parse,
    set_base_offset,
    spans,
)
from groupcheck.implementation.log.codec import FORMATS, from_bytes, to_bytes
from groupcheck.implementation.log.errors import CorruptRecordError
from groupcheck.implementation.log.records import Marker
from groupcheck.properties.ports.codec import importing_kafka_python
from support.log_records import commit, end

with importing_kafka_python():
    from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder

FORMAT = FORMATS["2.7"]

payloads = st.none() | st.binary(max_size=200)
raw_batches = st.builds(
    lambda base, pairs, producer, time: RawBatch(
        tuple(RawRecord(base + i, time + i, *pair) for i, pair in enumerate(pairs)),
        producer,
        -1 if producer == -1 else 3,
    ),
    st.integers(0, 1 << 40),
    st.lists(st.tuples(payloads, payloads), min_size=1, max_size=5),
    st.sampled_from((-1, 0, 77)),
    st.integers(0, 1 << 42),
)


def read(data: bytes, base_offset: int = 0) -> list[RawBatch]:
    return [parse(span.batch) for span in spans(data, base_offset)]


def same(records: Iterator[object] | tuple[object, ...]) -> list[tuple[object, ...]]:
    names = ("offset", "timestamp", "key", "value")
    return [tuple(getattr(record, name) for name in names) for record in records]


@given(st.lists(raw_batches, max_size=4))
def test_batches_round_trip(batches: list[RawBatch]) -> None:
    data, offset = bytearray(), 0
    for batch in batches:
        built = build(batch)
        set_base_offset(built, offset)
        offset += offset_count(built)
        data += built
    found = read(bytes(data))
    assert [(b.producer_id, b.producer_epoch) for b in found] == [
        (b.producer_id, b.producer_epoch) for b in batches
    ]
    assert [same(b.records)[0][2:] for b in found] == [same(b.records)[0][2:] for b in batches]
    assert [r.offset for b in found for r in b.records] == list(range(offset))


@given(raw_batches)
def test_kafka_python_writes_the_same_bytes(batch: RawBatch) -> None:
    transactional = batch.producer_id != -1
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=transactional,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=0 if transactional else -1,
        batch_size=1 << 30,
    )
    base = batch.records[0].offset
    for record in batch.records:
        builder.append(record.offset - base, record.timestamp, record.key, record.value, [])
    theirs = builder.build()
    theirs[0:8] = struct.pack(">q", base)
    theirs[12:16] = bytes(4)  # the leader epoch, which the checksum does not cover
    assert build(batch) == theirs


@pytest.mark.parametrize("marker", Marker)
def test_kafka_python_reads_a_marker_as_a_control_batch(marker: Marker) -> None:
    data = bytes(to_bytes(end(77, marker), FORMAT, 5))
    theirs = DefaultRecordBatch(data)
    assert theirs.validate_crc()
    assert (theirs.is_control_batch, theirs.is_transactional) == (True, True)
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (77, 0, -1)
    (record,) = theirs
    assert (record.version, record.commit, record.abort) == (
        0,
        marker is Marker.COMMIT,
        marker is Marker.ABORT,
    )
    # EndTransactionMarker: its version and the coordinator's epoch.
    assert record.value == bytes(6)
    (span,) = spans(data, 0)
    assert from_bytes(span.batch).batch == end(77, marker)


def test_control_batch_of_another_kind_has_no_marker() -> None:
    data = build(RawBatch((RawRecord(0, 5, b"\0\0\0\2", b""),), 77, 0, Marker.COMMIT))
    (span,) = spans(bytes(data), 0)
    read = from_bytes(span.batch)
    assert (read.batch.records, read.batch.marker, read.skipped) == ((), None, 0)


def test_control_batch_without_a_kind_is_corrupt() -> None:
    data = build(RawBatch((RawRecord(0, 5, b"\0\0", b""),), 77, 0, Marker.COMMIT))
    (span,) = spans(bytes(data), 0)
    with pytest.raises(CorruptRecordError, match="without a control record"):
        parse(span.batch)


def test_record_of_an_unknown_type_is_skipped_and_counted() -> None:
    known = to_bytes(commit("g", 1), FORMAT, 5)
    (span,) = spans(bytes(known), 0)
    (record,) = parse(span.batch).records
    unknown = RawRecord(1, 5, b"\0\3\0\1g", b"\0\0")
    (span,) = spans(bytes(build(RawBatch((record, unknown)))), 0)
    assert from_bytes(span.batch) == (commit("g", 1), 1)


@pytest.mark.parametrize("compression", [0, 1], ids=["plain", "gzip"])
@pytest.mark.parametrize("magic", [0, 1])
def test_batches_of_older_formats_are_read(magic: int, compression: int) -> None:
    builder = LegacyRecordBatchBuilder(magic, compression, 1 << 20)
    for i in range(5):
        builder.append(i, 1000 + i, b"key" * 20, b"value%d" % i)
    found = [record for batch in read(bytes(builder.build())) for record in batch.records]
    assert [(r.offset, r.key, r.value) for r in found] == [
        (i, b"key" * 20, b"value%d" % i) for i in range(5)
    ]
    assert [r.timestamp for r in found] == [None if magic == 0 else 1000 + i for i in range(5)]


def test_compressed_batches_are_read() -> None:
    builder = DefaultRecordBatchBuilder(2, 1, 0, -1, -1, -1, 1 << 20)
    for i in range(5):
        builder.append(i, 1000, b"key" * 20, b"value", [("header", b"of no interest")])
    (batch,) = read(bytes(builder.build()))
    assert same(batch.records) == [(i, 1000, b"key" * 20, b"value") for i in range(5)]


@given(raw_batches, st.data())
def test_batch_with_a_changed_byte_is_invalid_or_has_the_same_records(
    batch: RawBatch, data: st.DataObject
) -> None:
    built = build(batch)
    at = data.draw(st.integers(0, len(built) - 1))
    built[at] ^= data.draw(st.integers(1, 255))
    try:
        (span,) = spans(bytes(built), 0)
    except InvalidBatchError:
        return
    # The checksum does not cover the base offset and the leader epoch.
    assert at < 8 or 12 <= at < 16
    assert [r[1:] for r in same(parse(span.batch).records)] == [r[1:] for r in same(batch.records)]


@given(st.binary(max_size=200))
def test_bytes_that_are_not_a_batch_are_rejected(data: bytes) -> None:
    if data:
        with pytest.raises(InvalidBatchError):
            list(spans(data, 0))


@given(st.binary(max_size=300), raw_batches)
def test_complete_batch_is_found_after_any_bytes(noise: bytes, batch: RawBatch) -> None:
    built = bytes(build(batch))
    assert next_batch_position(b"x" + noise + built, 0) == len(noise) + 1


def test_batch_with_an_earlier_offset_is_rejected() -> None:
    data = bytes(build(RawBatch((RawRecord(4, 5, b"k", b"v"),))))
    with pytest.raises(InvalidBatchError, match="offset 4 where 5 is expected"):
        list(spans(data + data, 0))


@pytest.mark.parametrize("key_bytes", [-5, 1 << 30])
@pytest.mark.parametrize("magic", [0, 1])
def test_older_batch_with_wrong_lengths_is_rejected_despite_its_checksum(
    magic: int, key_bytes: int
) -> None:
    record = bytes([magic, 0]) + bytes(8 * magic) + struct.pack(">i", key_bytes) + bytes(8)
    data = struct.pack(">qiI", 0, 4 + len(record), zlib.crc32(record)) + record
    with pytest.raises(InvalidBatchError):
        list(spans(data, 0))


@pytest.mark.parametrize("length", range(-1, 61))
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_batch_shorter_than_its_header_is_rejected(magic: int, length: int) -> None:
    # aiokafka's compiled reader would kill the process.
    data = struct.pack(">qiib", 0, length, 0, magic) + bytes(100)
    with pytest.raises(InvalidBatchError):
        list(spans(data[: 12 + max(length, 5)], 0))


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5])
def test_batch_that_cannot_be_decompressed_is_corrupt(codec: int) -> None:
    data = build(RawBatch((RawRecord(0, 5, b"key", b"value"),)))
    data[22] |= codec
    data[17:21] = struct.pack(">I", calc_crc32c(bytes(data[21:])))
    (span,) = spans(bytes(data), 0)
    with pytest.raises(CorruptRecordError, match="a batch that cannot be read"):
        parse(span.batch)
