"""Records of the offsets topic are read as Kafka's message definitions have them."""

from __future__ import annotations

import base64
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.log.codec import FORMATS, Format, encode
from groupcheck.implementation.log.records import (
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)
from groupcheck.pipeline.offsets_topic.group_records import (
    OtherKindError,
    UnreadableError,
    decode,
    profile_of,
)
from groupcheck.pipeline.offsets_topic.segments import batches
from support.kafka_messages import Message
from support.log_records import records

GOLDEN = Path(__file__).parents[1] / "implementation" / "log" / "golden" / "kafka-4.1.0.log"
VERSIONS = st.integers(0, 4)


def result(record: Record, version: int) -> dict[str, Any]:
    """The record in Kafka's JSON, with the fields of the version."""
    if isinstance(record, OffsetCommitRecord):
        key = {"type": 1, "data": record.key._asdict()}
        if record.value is None:
            return {"key": key, "value": None}
        value = record.value
        data: dict[str, Any] = {"offset": value.offset, "metadata": value.metadata}
        data["commitTimestamp"] = value.commit_timestamp_ms
        if version >= 3:
            data["leaderEpoch"] = value.leader_epoch
        if version == 1:
            data["expireTimestamp"] = value.expire_timestamp_ms
        return {"key": key, "value": {"version": version, "data": data}}
    key = {"type": 2, "data": record.key._asdict()}
    if record.value is None:
        return {"key": key, "value": None}
    group = record.value
    data = {"protocolType": group.protocol_type, "generation": group.generation}
    data |= {"protocol": group.protocol, "leader": group.leader}
    if version >= 2:
        data["currentStateTimestamp"] = group.current_state_timestamp_ms
    data["members"] = [
        {
            "memberId": m.member_id,
            **({"groupInstanceId": m.group_instance_id} if version >= 3 else {}),
            "clientId": m.client_id,
            "clientHost": m.client_host,
            **({"rebalanceTimeout": m.rebalance_timeout_ms} if version >= 1 else {}),
            "sessionTimeout": m.session_timeout_ms,
            "subscription": base64.b64encode(m.subscription).decode(),
            "assignment": base64.b64encode(m.assignment).decode(),
        }
        for m in group.members
    ]
    return {"key": key, "value": {"version": version, "data": data}}


@given(records, VERSIONS)
def test_each_version_survives_writing_and_reading(record: Record, version: int) -> None:
    if isinstance(record, OffsetCommitRecord) and record.value is not None and version != 1:
        record = record._replace(value=record.value._replace(expire_timestamp_ms=-1))
    key, value = encode(record, Format(version, version))
    if isinstance(record, OffsetCommitRecord) and record.value is not None:
        version = 1 if record.value.expire_timestamp_ms != -1 else version
    assert decode(key, value) == result(record, version)


def test_records_of_kafka_decode_as_in_kafka_python() -> None:
    """The segment has every version (`golden/Golden.java`)."""
    data = GOLDEN.read_bytes()
    with GOLDEN.open("rb") as file:
        found = [record for batch in batches(file, len(data)) for record in batch.records]
    groups = offsets = 0
    for record in found:
        try:
            read = decode(record.key, record.value)
        except (OtherKindError, UnreadableError):
            continue
        if read["value"] is None:
            continue
        value = read["value"]
        name = "OffsetCommitValue" if "topic" in read["key"]["data"] else "GroupMetadataValue"
        fields = {
            snake(each): decoded for each, decoded in value["data"].items() if each != "members"
        }
        if name == "GroupMetadataValue":
            groups += 1
            fields["members"] = [member(each) for each in value["data"]["members"]]
        else:
            offsets += 1
        again = Message(name).encode(value["version"], fields)
        assert (record.value or b"")[2:].startswith(again[:8])
    assert groups >= 4
    assert offsets >= 4


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def member(fields: dict[str, Any]) -> dict[str, Any]:
    decoded = {snake(name): value for name, value in fields.items()}
    for name in ("subscription", "assignment"):
        decoded[name] = base64.b64decode(decoded[name])
    return decoded


@given(records, VERSIONS, st.data())
def test_a_truncated_record_is_reported(record: Record, version: int, data: st.DataObject) -> None:
    key, value = encode(record, Format(version, version))
    if value is None:
        return
    flexible = value[:2] == b"\0\4"  # bytes after the last field are ignored
    cut = data.draw(st.integers(0, len(value) - (2 if flexible else 1)))
    with pytest.raises(UnreadableError):
        decode(key, value[:cut])


@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_bytes_are_a_record_or_are_rejected(key: bytes, value: bytes | None) -> None:
    with suppress(UnreadableError, OtherKindError):
        assert decode(key, value)["key"]["type"] in {0, 1, 2}


def test_a_record_of_another_group_type_has_its_group_id() -> None:
    with pytest.raises(OtherKindError) as caught:
        decode(b"\0\3\0\2my", b"")
    assert caught.value.group == "my"


GROUP = GroupMetadataRecord(GroupMetadataKey("g"), GroupMetadataValue("consumer", 2))
NEW = GroupMetadataRecord(GroupMetadataKey("g"), GroupMetadataValue("", 0))
OFFSET = OffsetCommitRecord(OffsetCommitKey("g", "t", 0), OffsetCommitValue(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "revealed_by"),
    [("0.10.0", GROUP), ("0.10.2", GROUP), ("4.1", OFFSET), ("4.1", NEW)],
)
@given(before=st.lists(records), after=st.lists(records))
def test_the_version_is_revealed_by_the_values(
    profile: str, revealed_by: Record, before: list[Record], after: list[Record]
) -> None:
    made = [r for r in (*before, revealed_by, *after) if not is_new(r) or r is revealed_by]
    assert profile_of(encode(each, FORMATS[profile]) for each in made) == profile
    assert profile_of(encode(each, FORMATS["2.7"]) for each in made if not is_new(each)) == "2.7"


def is_new(record: Record) -> bool:
    if not isinstance(record, GroupMetadataRecord) or record.value is None:
        return False
    return record.value.generation == 0
