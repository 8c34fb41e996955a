"""The codec against itself, and against kio, an independent implementation of Kafka's messages."""

from __future__ import annotations

import dataclasses
import io
import time
from datetime import timedelta
from typing import Any, get_args

import kio.index
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_writer

from groupcheck.model import vocabulary as kafka
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from groupcheck.properties.ports import codec
from support.records import records

Hint = Any  # the type of a field
Entity = Any  # a record, kio's of the same, a field of either, or its value
Message = Any  # kafka-python's

NOW_MS = 1_700_000_000_000

KIO_OLDEST = {"OffsetCommit": 2, "OffsetFetch": 1}  # Kafka 4 and kio have no older versions
KIO_FIELDS = {"include_authorized_operations": False, "throttle_time": timedelta(0)}
KIO_NAMES = {
    "generation_id_or_member_epoch": "generation_id",
    "session_timeout": "session_timeout_ms",
    "rebalance_timeout": "rebalance_timeout_ms",
    "retention_time": "retention_time_ms",
}


@st.composite
def versioned(draw: st.DrawFn, classes: dict[str, Any]) -> tuple[Any, int]:
    api = draw(st.sampled_from(sorted(codec.NEWEST_VERSIONS)))
    version = draw(st.integers(0, codec.NEWEST_VERSIONS[api]))
    record = draw(records(classes[api]))
    if isinstance(record, kafka.LeaveGroupRequest) and version < 3:
        record = record._replace(members=(MemberIdentity(draw(st.text(max_size=6))),))
    if isinstance(record, kafka.OffsetFetchRequest) and version < 2:
        record = record._replace(topics=record.topics or ())
    return record, version


def commit_before(*ages_ms: int) -> kafka.OffsetCommitRequest:
    partition, topic = kafka.OffsetCommitRequestPartition, kafka.OffsetCommitRequestTopic
    named = (partition(index, 5, commit_age_ms=age) for index, age in enumerate(ages_ms))
    return kafka.OffsetCommitRequest("group", topics=(topic("topic", tuple(named)),))


@example((kafka.LeaveGroupRequest("group", (MemberIdentity("member"),)), 2))
@example((commit_before(0, 1, -1, 2**42, NOW_MS), 1))
@given(versioned(kafka.REQUESTS) | versioned(kafka.RESPONSES))
def test_record_survives_encoding_with_the_fields_of_its_version(case: tuple[Any, int]) -> None:
    record, version = case
    message = codec.to_message(record, version, NOW_MS)
    again = type(message).decode(message.encode(), version=version)
    read = codec.to_record(type(record), again, version, now_ms=NOW_MS)
    assert read == trim(record, version)


@pytest.mark.parametrize("version", [0, 1, 2, 9])
def test_only_version_1_of_offset_commit_has_the_times_of_commits(version: int) -> None:
    message = codec.to_message(commit_before(0, 60_000, -60_000), version, NOW_MS)
    again = type(message).decode(message.encode(), version=version)
    times = [p.commit_timestamp for p in again.topics[0].partitions]
    assert times == ([-1, NOW_MS - 60_000, NOW_MS + 60_000] if version == 1 else [-1, -1, -1])


def test_ages_are_counted_from_the_time_of_this_machine() -> None:
    began_ms = time.time_ns() // 1_000_000
    message = codec.to_message(commit_before(60_000), 1)
    (partition,) = message.topics[0].partitions
    (again,) = codec.to_record(kafka.OffsetCommitRequest, message, 1).topics[0].partitions
    ended_ms = time.time_ns() // 1_000_000
    assert began_ms <= partition.commit_timestamp + 60_000 <= ended_ms
    assert 60_000 <= again.commit_age_ms <= 60_000 + ended_ms - began_ms


@pytest.mark.parametrize("age_ms", [NOW_MS + 1, -(2**63), 2**63 + NOW_MS + 1])
def test_some_times_of_commits_cannot_be_sent(age_ms: int) -> None:
    with pytest.raises(codec.InexpressibleError, match="a commit of the time"):
        codec.to_message(commit_before(age_ms), 1, NOW_MS)


@example((kafka.LeaveGroupRequest("group", (MemberIdentity("member"),)), 2))
@example((kafka.OffsetCommitRequest("group", 1, "member", retention_time_ms=0), 2))
@given(versioned(kafka.REQUESTS) | versioned(kafka.RESPONSES))
def test_encoding_equals_that_of_kio(case: tuple[Any, int]) -> None:
    record, version = case
    api = kafka.API_OF[type(record)]
    if version < KIO_OLDEST.get(api, 0):
        return
    message = codec.to_message(record, version)
    is_request = type(record) in kafka.REQUESTS.values()
    load = kio.index.load_request_schema if is_request else kio.index.load_response_schema
    cls = load(message.API_KEY, version)
    buffer = io.BytesIO()
    entity_writer(cls)(buffer, kio_entity(cls, trim(record, version)))
    assert message.encode() == buffer.getvalue()


def kio_entity(cls: Entity, record: Entity) -> Entity:
    """Convert a record to kio's class."""
    found = {}
    for field in dataclasses.fields(cls):
        name = KIO_NAMES.get(field.name, field.name)
        if field.name in KIO_FIELDS:
            found[field.name] = KIO_FIELDS[field.name]
        elif isinstance(record, kafka.LeaveGroupRequest) and name == "member_id":
            found[name] = record.members[0].member_id
        elif hasattr(record, name):
            found[field.name] = kio_value(field, getattr(record, name))
    return cls(**found)


def kio_value(field: Entity, value: Entity) -> Entity:
    if isinstance(value, tuple):
        nested = dataclass_in(field.type)
        return tuple(kio_entity(nested, item) for item in value) if nested else value
    if isinstance(value, ErrorCode):
        return KioErrorCode(int(value))
    is_span = field.metadata.get("kafka_type", "").startswith("timedelta")
    return timedelta(milliseconds=value) if is_span else value


def dataclass_in(hint: Hint) -> Entity:
    if dataclasses.is_dataclass(hint):
        return hint
    return next(filter(None, map(dataclass_in, get_args(hint))), None)


def answered(message: Message) -> bytes:
    message.with_header(correlation_id=1)
    data: bytes = message.encode(header=True)
    return data


def test_truncated_response_is_malformed() -> None:
    whole = answered(
        codec.to_message(kafka.SyncGroupResponse(ErrorCode.NONE, assignment=b"part"), 3)
    )
    for missing in range(1, len(whole) - 4):
        with pytest.raises(codec.MalformedAnswerError, match="SyncGroup version 3"):
            codec.answer_body("SyncGroup", 3, whole[:-missing], null_as_empty=False)


def test_response_with_extra_bytes_is_malformed() -> None:
    answer = answered(codec.to_message(kafka.HeartbeatResponse(ErrorCode.NONE), 3)) + b"\0"
    with pytest.raises(
        codec.MalformedAnswerError, match="11 bytes that is not Heartbeat version 3"
    ):
        codec.answer_body("Heartbeat", 3, answer, null_as_empty=False)


def test_tagged_fields_of_newer_definitions_are_skipped() -> None:
    answer = answered(codec.to_message(kafka.HeartbeatResponse(ErrorCode.NONE), 4))
    tagged = answer[:-1] + b"\x01\x07\x02ab"
    body = codec.answer_body("Heartbeat", 4, tagged, null_as_empty=False)
    assert body == kafka.HeartbeatResponse(ErrorCode.NONE)


def test_null_that_is_not_allowed_is_malformed_or_read_as_empty() -> None:
    cls = codec.message_class("JoinGroupResponse")
    answer = answered(cls(version=5, error_code=16, leader=None, member_id=None, members=None))
    with pytest.raises(codec.MalformedAnswerError, match=r"leader .JoinGroup version 5. is null"):
        codec.answer_body("JoinGroup", 5, answer, null_as_empty=False)
    body = codec.answer_body("JoinGroup", 5, answer, null_as_empty=True)
    assert body == kafka.JoinGroupResponse(ErrorCode.NOT_COORDINATOR, protocol_name="")


def test_null_protocol_name_is_allowed_from_version_7_on() -> None:
    record = kafka.JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    answer = answered(codec.to_message(record, 7))
    assert codec.answer_body("JoinGroup", 7, answer, null_as_empty=False) == record


def test_unknown_error_code_is_decoded() -> None:
    answer = answered(codec.to_message(kafka.HeartbeatResponse(ErrorCode(999)), 0))
    body = codec.answer_body("Heartbeat", 0, answer, null_as_empty=False)
    assert body == kafka.HeartbeatResponse(ErrorCode(999))


@pytest.mark.parametrize("count", [0, 2])
def test_old_versions_of_leave_group_have_one_member(count: int) -> None:
    request = kafka.LeaveGroupRequest("group", (MemberIdentity("member"),) * count)
    with pytest.raises(codec.InexpressibleError, match=f"LeaveGroup of {count} members"):
        codec.to_message(request, 2)


def test_old_versions_of_offset_fetch_cannot_name_every_partition() -> None:
    with pytest.raises(codec.InexpressibleError, match="OffsetFetch of every partition"):
        codec.to_message(kafka.OffsetFetchRequest("group"), 1)
