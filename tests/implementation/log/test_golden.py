"""A segment that Kafka 4.1.0 wrote (with `golden/Golden.java`), with every record version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from groupcheck.implementation.log.batches import parse, spans
from groupcheck.implementation.log.codec import Format, encode, to_bytes
from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.records import (
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    Marker,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)
from support.log_loading import load

GOLDEN = Path(__file__).parent / "golden" / "kafka-4.1.0.log"
TIME = 1_600_000_000_000


def offset(partition: int, version: int | None) -> OffsetCommitRecord:
    key = OffsetCommitKey("grüße", "topic", partition)
    if version is None:
        return OffsetCommitRecord(key, None)
    return OffsetCommitRecord(
        key,
        OffsetCommitValue(
            1_000_000_000_000 + version,
            9 if version >= 3 else -1,
            "méta",
            TIME,
            TIME + 1 if version == 1 else -1,
        ),
    )


def group(name: str, version: int | None) -> GroupMetadataRecord:
    key = GroupMetadataKey(name)
    if version is None:
        return GroupMetadataRecord(key, None)
    members = (
        MemberMetadata(
            f"member-{i}",
            "instance" if version >= 3 and i == 0 else None,
            "client",
            "/127.0.0.1",
            300_000 if version >= 1 else 10_000,
            10_000,
            b"\0\1\2",
            bytes(i * 200),
        )
        for i in range(2)
    )
    return GroupMetadataRecord(
        key,
        GroupMetadataValue(
            "consumer",
            version + 1,
            "range",
            "member-0" if version else None,
            TIME if version >= 2 else -1,
            tuple(members),
        ),
    )


OLD = [
    Batch(records)
    for partition in (0, 1)
    for records in ((offset(partition, 0),), (group("old", 0), offset(partition, 1)))
]
VERSIONS = [
    Batch(records)
    for version in range(5)
    for records in (
        (offset(version, version),),
        (group(f"group-{version}", version), offset(10 + version, None)),
    )
]
EXPECTED = [
    *OLD,
    *VERSIONS,
    Batch((group("gone", None),)),
    Batch((group("beside", None),)),
    Batch((offset(99, 3),), 7, 4),
    Batch((offset(99, 3),), 8, 4),
    Batch((), 7, 4, Marker.COMMIT),
    Batch((), 8, 4, Marker.ABORT),
]


@pytest.fixture
def log(tmp_path: Path) -> DirectoryLog:
    folder = tmp_path / "__consumer_offsets-27"
    folder.mkdir()
    shutil.copy(GOLDEN, folder / f"{0:020}.log")
    return DirectoryLog(tmp_path, segment_bytes=1)


def test_kafkas_segment_is_read(log: DirectoryLog) -> None:
    assert list(log.read(27)) == EXPECTED
    assert log.skipped == 1
    log.close()


def test_kafkas_segment_is_appended_to_and_compacted(log: DirectoryLog) -> None:
    more = Batch((offset(0, 3),))
    log.append(27, more, lambda _: None)
    log.flush()
    log.compact()
    assert load(log.read(27)) == load([*EXPECTED, more])
    assert log.skipped == 1
    log.close()


def kafkas() -> list[tuple[bytes | None, bytes | None]]:
    """All keys and values of the segment, as bytes."""
    return [
        (record.key, record.value)
        for span in spans(GOLDEN.read_bytes(), 0)
        for record in parse(span.batch).records
    ]


@pytest.mark.parametrize("version", range(5))
def test_records_equal_kafkas_bytes_in_each_version(version: int) -> None:
    written: list[Record] = [offset(version, version), group(f"group-{version}", version)]
    for record in written:
        key, value = encode(record, Format(version, version))
        assert value is not None
        if version == 4 and isinstance(record, OffsetCommitRecord):
            # Kafka was given the topic id, which is dropped here.
            assert value.endswith(b"\0")
            value = value[:-1] + b"\1\0\x10" + bytes(7) + b"\1" + bytes(7) + b"\2"
        assert (key, value) in kafkas()


def test_batches_and_markers_equal_kafkas_bytes() -> None:
    data = GOLDEN.read_bytes()
    theirs = [data[span.start : span.end] for span in spans(data, 0)]
    for batch, bytes_of in zip(EXPECTED[-4:], theirs[-4:], strict=True):
        time = int.from_bytes(bytes_of[27:35], "big")
        ours = to_bytes(batch, Format(3, 3), time)
        ours[0:8] = bytes_of[0:8]
        if batch.marker is not None:
            # The value has the coordinator's epoch, which was 5 in Kafka.
            assert (bytes_of[-5:-1], bytes(ours[-5:-1])) == (b"\0\0\0\5", bytes(4))
            assert ours[21:-5] == bytes_of[21:-5]
        else:
            # Kafka's producers do not set the leader epoch.
            assert ours[16:] == bytes_of[16:]
