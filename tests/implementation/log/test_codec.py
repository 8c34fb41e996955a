"""Records as bytes, compared with kafka-python's reading of Kafka's message definitions."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.log.codec import FORMATS, Format, decode, encode
from groupcheck.implementation.log.errors import (
    CorruptRecordError,
    UnknownRecordTypeError,
    UnwritableRecordError,
)
from groupcheck.implementation.log.records import (
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
)
from support.kafka_messages import Message
from support.log_records import group_records, int16, offset_records, records

OFFSET_KEY = Message("OffsetCommitKey")
OFFSET_VALUE = Message("OffsetCommitValue")
GROUP_KEY = Message("GroupMetadataKey")
GROUP_VALUE = Message("GroupMetadataValue")

VERSIONS = range(5)

OFFSET = OffsetCommitRecord(
    OffsetCommitKey("my-group", "my-topic", 7), OffsetCommitValue(42, 3, "meta", 1_600_000_000_000)
)
MEMBER = MemberMetadata("id", "instance", "client", "/host", 5_000, 6_000, b"sub", b"ass")
GROUP = GroupMetadataRecord(
    GroupMetadataKey("my-group"),
    GroupMetadataValue("consumer", 9, "range", "id", 1_600_000_000_000, (MEMBER,)),
)


def prefixed(version: int, data: bytes) -> bytes:
    return struct.pack(">h", version) + data


def kafkas_offset(record: OffsetCommitRecord, version: int) -> tuple[bytes, bytes | None]:
    key = prefixed(1, OFFSET_KEY.encode(0, record.key._asdict()))
    if record.value is None:
        return key, None
    fields = {
        "offset": record.value.offset,
        "leader_epoch": record.value.leader_epoch,
        "metadata": record.value.metadata,
        "commit_timestamp": record.value.commit_timestamp_ms,
        "expire_timestamp": record.value.expire_timestamp_ms,
    }
    return key, prefixed(version, OFFSET_VALUE.encode(version, fields))


def kafkas_group(record: GroupMetadataRecord, version: int) -> tuple[bytes, bytes | None]:
    key = prefixed(2, GROUP_KEY.encode(0, record.key._asdict()))
    if record.value is None:
        return key, None
    fields = renamed(record.value._asdict())
    fields["members"] = [renamed(member._asdict()) for member in record.value.members]
    return key, prefixed(version, GROUP_VALUE.encode(version, fields))


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name.removesuffix("_ms"): value for name, value in fields.items()}


def without(record: OffsetCommitRecord, version: int) -> OffsetCommitRecord:
    """The fields of an offset that a version has."""
    if record.value is None:
        return record
    value = record.value
    if version < 3:
        value = value._replace(leader_epoch=-1)
    if version != 1:
        value = value._replace(expire_timestamp_ms=-1)
    return record._replace(value=value)


def group_without(record: GroupMetadataRecord, version: int) -> GroupMetadataRecord:
    """The fields of a group that a version has."""
    if record.value is None:
        return record
    members = record.value.members
    if version < 3:
        members = tuple(m._replace(group_instance_id=None) for m in members)
    if version < 1:
        members = tuple(m._replace(rebalance_timeout_ms=m.session_timeout_ms) for m in members)
    value = record.value._replace(members=members)
    if version < 2:
        value = value._replace(current_state_timestamp_ms=-1)
    return record._replace(value=value)


@pytest.mark.parametrize("version", VERSIONS)
@given(record=offset_records)
def test_offset_record_round_trips_and_matches_kafkas_definition(
    version: int, record: OffsetCommitRecord
) -> None:
    if record.value is not None and version != 1:
        record = record._replace(value=record.value._replace(expire_timestamp_ms=-1))
    key, value = encode(record, Format(version, 3))
    assert (key, value) == kafkas_offset(record, version)
    assert decode(key, value) == without(record, version)


@pytest.mark.parametrize("version", VERSIONS)
@given(record=group_records)
def test_group_record_round_trips_and_matches_kafkas_definition(
    version: int, record: GroupMetadataRecord
) -> None:
    key, value = encode(record, Format(3, version))
    assert (key, value) == kafkas_group(record, version)
    assert decode(key, value) == group_without(record, version)


@pytest.mark.parametrize("profile", FORMATS)
@given(record=offset_records)
def test_offset_with_an_expire_timestamp_is_written_in_version_1(
    profile: str, record: OffsetCommitRecord
) -> None:
    if record.value is None or record.value.expire_timestamp_ms == -1:
        return
    assert encode(record, FORMATS[profile]) == kafkas_offset(record, 1)


@pytest.mark.parametrize(
    ("profile", "offset", "group"),
    [("0.10.0", 1, 0), ("0.10.2", 1, 1), ("2.7", 3, 3), ("4.1", 4, 3)],
)
def test_profile_writes_the_record_versions_of_its_kafka(
    profile: str, offset: int, group: int
) -> None:
    assert encode(OFFSET, FORMATS[profile]) == kafkas_offset(OFFSET, offset)
    assert encode(GROUP, FORMATS[profile]) == kafkas_group(GROUP, group)


def test_every_profile_has_record_formats() -> None:
    from groupcheck.model.classic.profiles import PROFILES  # noqa: PLC0415 - for this test alone

    assert FORMATS.keys() == PROFILES.keys()


def test_bytes_of_version_3_are_those_computed_by_hand() -> None:
    # Written out from the tables of GroupMetadataManager.scala:1000-1090 at 2.7.2.
    assert encode(OFFSET, FORMATS["2.7"]) == (
        b"\0\1\0\x08my-group\0\x08my-topic\0\0\0\x07",
        b"\0\3\0\0\0\0\0\0\0\x2a\0\0\0\3\0\4meta\0\0\x01\x74\x87\x6e\x80\0",
    )
    assert encode(GROUP, FORMATS["2.7"]) == (
        b"\0\2\0\x08my-group",
        (
            b"\0\3"
            b"\0\x08consumer"
            b"\0\0\0\x09"
            b"\0\5range"
            b"\0\2id"
            b"\0\0\x01\x74\x87\x6e\x80\0"
            b"\0\0\0\1"
            b"\0\2id"
            b"\0\x08instance"
            b"\0\6client"
            b"\0\5/host"
            b"\0\0\x13\x88"
            b"\0\0\x17\x70"
            b"\0\0\0\3sub"
            b"\0\0\0\3ass"
        ),
    )


def test_older_version_of_an_offset_key_is_read() -> None:
    key, value = encode(OFFSET, FORMATS["2.7"])
    assert decode(b"\0\0" + key[2:], value) == OFFSET


@given(version=int16.filter(lambda version: version > 2), rest=st.binary())
def test_key_of_an_unknown_version_is_an_unknown_record_type(version: int, rest: bytes) -> None:
    with pytest.raises(UnknownRecordTypeError, match=f"type {version}"):
        decode(prefixed(version, rest), rest)


@given(version=int16.filter(lambda version: version > 4), rest=st.binary())
def test_value_of_an_unknown_version_is_rejected(version: int, rest: bytes) -> None:
    for record in (OFFSET, GROUP):
        key, _ = encode(record, FORMATS["2.7"])
        with pytest.raises(CorruptRecordError, match=f"of the unknown version {version}"):
            decode(key, prefixed(version, rest))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("record", [OFFSET, GROUP], ids=["offset", "group"])
def test_truncated_record_is_rejected_at_every_length(
    version: int, record: OffsetCommitRecord | GroupMetadataRecord
) -> None:
    key, value = encode(record, Format(version, version))
    assert value is not None
    for end in range(len(key)):
        with pytest.raises(CorruptRecordError):
            decode(key[:end], value)
    for end in range(len(value)):
        with pytest.raises(CorruptRecordError):
            decode(key, value[:end])


@given(key=st.none() | st.binary(), value=st.none() | st.binary())
def test_random_bytes_are_a_record_or_a_defined_error(
    key: bytes | None, value: bytes | None
) -> None:
    with contextlib.suppress(CorruptRecordError, UnknownRecordTypeError):
        decode(key, value)


@given(record=records, version=st.sampled_from(VERSIONS), data=st.data())
def test_record_with_a_changed_byte_is_a_record_or_a_defined_error(
    record: OffsetCommitRecord | GroupMetadataRecord, version: int, data: st.DataObject
) -> None:
    key, value = encode(record, Format(version, version))
    both = bytearray(key + (value or b""))
    both[data.draw(st.integers(0, len(both) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptRecordError, UnknownRecordTypeError):
        decode(bytes(both[: len(key)]), None if value is None else bytes(both[len(key) :]))


def test_bytes_after_the_last_field_are_ignored() -> None:
    for record in (OFFSET, GROUP):
        key, value = encode(record, FORMATS["2.7"])
        assert value is not None
        assert decode(key + b"more", value + b"more") == record


def test_unknown_tagged_fields_of_a_record_are_skipped() -> None:
    # KIP-915: later versions of Kafka add only tagged fields.
    key, value = encode(OFFSET, Format(4, 4))
    assert value is not None
    assert value[-1:] == b"\0"
    topic_id = b"\0\x10" + bytes(range(16))
    assert decode(key, value[:-1] + b"\2" + topic_id + b"\x05\x03abc") == OFFSET
    key, value = encode(GROUP, Format(4, 4))
    assert value is not None
    assert value[-2:] == b"\0\0"
    assert decode(key, value[:-2] + b"\1\x09\x01x" + b"\1\x05\x03abc") == GROUP


def test_tagged_field_longer_than_the_record_is_rejected() -> None:
    key, value = encode(OFFSET, Format(4, 4))
    assert value is not None
    with pytest.raises(CorruptRecordError, match="a tagged field of 5 bytes"):
        decode(key, value[:-1] + b"\1\x05\x05abc")


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x7f\xff\xff\xff"])
def test_member_array_with_a_wrong_length_is_rejected(length: bytes) -> None:
    # kio's own reader of arrays would be killed by the last of these.
    key, value = encode(GROUP._replace(value=GroupMetadataValue("", 0)), FORMATS["2.7"])
    assert value is not None
    assert value[-4:] == bytes(4)
    with pytest.raises(CorruptRecordError, match="an array of"):
        decode(key, value[:-4] + length)


@pytest.mark.parametrize("length", [b"\0", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f"])
def test_flexible_member_array_with_a_wrong_length_is_rejected(length: bytes) -> None:
    key, value = encode(GROUP._replace(value=GroupMetadataValue("", 0)), Format(4, 4))
    assert value is not None
    assert value[-2:] == b"\1\0"
    with pytest.raises(CorruptRecordError):
        decode(key, value[:-2] + length + b"\0")


def test_record_that_no_format_can_hold_is_rejected() -> None:
    for key in (OFFSET.key._replace(group="x" * 40_000), OFFSET.key._replace(partition=1 << 31)):
        with pytest.raises(UnwritableRecordError, match="cannot be written"):
            encode(OFFSET._replace(key=key), FORMATS["2.7"])
