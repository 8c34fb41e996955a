"""Encoding of the records and batches of `__consumer_offsets`, in the versions that Kafka has.

Sources: `group-coordinator/src/main/resources/common/message/{OffsetCommitKey,OffsetCommitValue,
GroupMetadataKey,GroupMetadataValue}.json` and `LegacyOffsetCommit{Key,Value}.json` at 4.1;
GroupMetadataManager.scala at 2.7.2 (:1176-1300 for writing) and 0.10.

All versions are read in every profile: 2.7.2 would stop reading the partition at a version of 4.1
and serve it as empty. As in Kafka, bytes after the last field and the topic id of version 4 are
ignored.
"""

from __future__ import annotations

from io import BytesIO
from struct import error as struct_error
from typing import Any, Final, NamedTuple

from kio.serial.errors import SerialError
from kio.serial.readers import read_int16
from kio.serial.writers import write_int16

from groupcheck.implementation.log.batches import (
    RawBatch,
    RawRecord,
    UnparsedBatch,
    build,
    marker_record,
    parse,
)
from groupcheck.implementation.log.errors import (
    CorruptRecordError,
    UnknownRecordTypeError,
    UnwritableRecordError,
)
from groupcheck.implementation.log.records import (
    NO_TIMESTAMP,
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)
from groupcheck.implementation.log.schemas import (
    BYTES,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    Field,
    Primitive,
    Schema,
)


class Format(NamedTuple):
    """The versions in which values are written."""

    offset_commit: int
    group_metadata: int


# By profile; 2.7 and 4.1 as if the inter-broker version were the broker's own.
FORMATS: Final = {
    "0.10.0": Format(offset_commit=1, group_metadata=0),  # GroupMetadataManager.scala:732,736
    "0.10.2": Format(offset_commit=1, group_metadata=1),  # GroupMetadataManager.scala:784,790
    "2.7": Format(offset_commit=3, group_metadata=3),  # GroupMetadataManager.scala:1237,1268
    "4.1": Format(offset_commit=4, group_metadata=3),  # ...RecordHelpers.java:71,498
}

# In every profile the only version with an expire timestamp.
_EXPIRING: Final = 1

_OFFSET_COMMIT_KEY: Final = Schema(OffsetCommitKey, (Field(STRING), Field(STRING), Field(INT32)))
_GROUP_METADATA_KEY: Final = Schema(GroupMetadataKey, (Field(STRING),))

_OFFSET_COMMIT_VALUE: Final = Schema(
    OffsetCommitValue,
    (
        Field(INT64),  # offset
        Field(INT32, since=3, absent=-1),  # leader_epoch
        Field(STRING),  # metadata
        Field(INT64),  # commit_timestamp_ms
        Field(INT64, since=1, until=1, absent=NO_TIMESTAMP),  # expire_timestamp_ms
    ),
    flexible=4,
)
_MEMBER_METADATA: Final = Schema(
    MemberMetadata,
    (
        Field(STRING),  # member_id
        Field(NULLABLE_STRING, since=3),  # group_instance_id
        Field(STRING),  # client_id
        Field(STRING),  # client_host
        Field(INT32, since=1, absent=-1),  # rebalance_timeout_ms
        Field(INT32),  # session_timeout_ms
        Field(BYTES),  # subscription
        Field(BYTES),  # assignment
    ),
    flexible=4,
)
_GROUP_METADATA_VALUE: Final = Schema(
    GroupMetadataValue,
    (
        Field(STRING),  # protocol_type
        Field(INT32),  # generation
        Field(NULLABLE_STRING),  # protocol
        Field(NULLABLE_STRING),  # leader
        Field(INT64, since=2, absent=NO_TIMESTAMP),  # current_state_timestamp_ms
        Field(_MEMBER_METADATA),  # members
    ),
    flexible=4,
)

_OFFSET_COMMIT_KEYS: Final = (0, 1)
_OFFSET_COMMIT_KEY_WRITTEN: Final = 1
_GROUP_METADATA_KEY_WRITTEN: Final = 2
_KEYS: Final[dict[int, Primitive]] = {
    0: _OFFSET_COMMIT_KEY.version(0),
    1: _OFFSET_COMMIT_KEY.version(0),
    2: _GROUP_METADATA_KEY.version(0),
}
_OFFSET_COMMITS: Final = {v: _OFFSET_COMMIT_VALUE.version(v) for v in range(5)}
_GROUPS: Final = {v: _GROUP_METADATA_VALUE.version(v) for v in range(5)}


def encode(record: Record, versions: Format) -> tuple[bytes, bytes | None]:
    """Encode a record's key and value; the value of a tombstone is None.

    Raises:
        UnwritableRecordError: The format cannot represent it.

    """
    value: bytes | None = None
    if isinstance(record, OffsetCommitRecord):
        key = _write(_OFFSET_COMMIT_KEY_WRITTEN, _KEYS[1], record.key)
        if record.value is not None:
            expires = record.value.expire_timestamp_ms != NO_TIMESTAMP
            version = _EXPIRING if expires else versions.offset_commit
            value = _write(version, _OFFSET_COMMITS[version], record.value)
    else:
        key = _write(_GROUP_METADATA_KEY_WRITTEN, _KEYS[2], record.key)
        if record.value is not None:
            value = _write(versions.group_metadata, _GROUPS[versions.group_metadata], record.value)
    return key, value


def decode(key: bytes | None, value: bytes | None) -> Record:
    """Decode a record from its key and value.

    Raises:
        UnknownRecordTypeError: The version of the key is not one of a consumer group's records.
            Kafka 4.1 continues with the next record [CoordinatorLoaderImpl.scala:186].
        CorruptRecordError: The bytes end too early, or the version of the value is unknown.

    """
    if key is None:
        message = "a record without a key"
        raise CorruptRecordError(message)
    try:
        version, _ = read_int16(key, 0)
        schema = _KEYS.get(version)
        if schema is None:
            message = f"a record of type {version}"
            raise UnknownRecordTypeError(message)
        decoded, _ = schema.read(key, 2)
        if version in _OFFSET_COMMIT_KEYS:
            return OffsetCommitRecord(decoded, _read(_OFFSET_COMMITS, value, "offset commit"))
        group = _read(_GROUPS, value, "group metadata")
        return GroupMetadataRecord(decoded, group and _with_rebalance_timeouts(group))
    except (SerialError, ValueError) as error:
        message = f"a record that cannot be read: {error}"
        raise CorruptRecordError(message) from error


def _write(version: int, schema: Primitive, values: Any) -> bytes:  # noqa: ANN401 - any tuple
    """Encode a version and the fields after it."""
    buffer = BytesIO()
    try:
        write_int16(buffer, version)  # type: ignore[arg-type]  # kio's i16 is an int
        schema.write(buffer, values)
    except (SerialError, ValueError, struct_error) as error:
        message = f"a record that cannot be written: {error}"
        raise UnwritableRecordError(message) from error
    return buffer.getvalue()


def _read(versions: dict[int, Primitive], value: bytes | None, what: str) -> Any:  # noqa: ANN401 - a tuple, which the caller knows
    """Decode a value of one of these versions; None if there is no value.

    Raises:
        CorruptRecordError: The version is unknown. Kafka 4.0 and before misread it (KAFKA-18672).

    """
    if value is None:
        return None
    version, _ = read_int16(value, 0)
    schema = versions.get(version)
    if schema is None:
        message = f"{what} of the unknown version {version}"
        raise CorruptRecordError(message)
    return schema.read(value, 2)[0]


def _with_rebalance_timeouts(group: GroupMetadataValue) -> GroupMetadataValue:
    """Set missing rebalance timeouts to the session timeout.

    [GroupMetadataManager.java:6050; GroupMetadataManager.scala:1435 at 2.7.2]
    """
    if all(member.rebalance_timeout_ms != -1 for member in group.members):
        return group
    members = (
        member._replace(rebalance_timeout_ms=member.session_timeout_ms)
        if member.rebalance_timeout_ms == -1
        else member
        for member in group.members
    )
    return group._replace(members=tuple(members))


# Batches


class Read(NamedTuple):
    """A batch, and the number of its records of unknown types.

    A batch of only such records, or a control batch of another kind, has neither records nor a
    marker.
    """

    batch: Batch
    skipped: int


def to_bytes(batch: Batch, versions: Format, timestamp_ms: int) -> bytearray:
    """Encode a batch, at offset 0.

    Raises:
        UnwritableRecordError: The format cannot represent one of its records, or there are none.

    """
    if not batch.records and batch.marker is None:
        message = "a batch without records"
        raise UnwritableRecordError(message)
    records: tuple[RawRecord, ...]
    if batch.marker is not None:
        records = (marker_record(batch.marker, timestamp_ms),)
    else:
        records = tuple(
            RawRecord(i, timestamp_ms, *encode(record, versions))
            for i, record in enumerate(batch.records)
        )
    return build(RawBatch(records, batch.producer_id, batch.producer_epoch, batch.marker))


def from_bytes(found: UnparsedBatch) -> Read:
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
