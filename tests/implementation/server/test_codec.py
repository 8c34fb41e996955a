"""The codec against kafka-python's: each reads what the other writes, in every served version."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema

from groupcheck.implementation.server import codec
from groupcheck.implementation.server.decoding import reader
from groupcheck.implementation.server.messages import OffsetFetchGroupsRequest
from groupcheck.implementation.server.ranges import API_KEYS, SERVED_PROFILES, served
from groupcheck.model import vocabulary as kafka
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from groupcheck.properties.ports import codec as kafka_python
from support.records import records

EXAMPLES = 30  # of each API, in all its versions

SERVED = sorted(
    {
        (api, version)
        for profile in SERVED_PROFILES
        for api, versions in served(profile, kafka.REQUESTS).items()
        for version in range(versions.oldest, versions.newest + 1)
    }
)
# Values of the vocabulary's records.
GROUP_APIS = {
    api: [v for name, v in SERVED if name == api and (api != "OffsetFetch" or v < 8)]
    for api in sorted(kafka.REQUESTS.keys() - {"EndTxn"})
}


def expressible(body: Any, version: int) -> bool:
    if isinstance(body, kafka.LeaveGroupRequest) and version < 3:
        return len(body.members) == 1
    return not (isinstance(body, kafka.OffsetFetchRequest) and body.topics is None and version < 2)


def framed(message: Any, client_id: str) -> bytes:
    return bytes(kafka_python.frame(message, 7, client_id)[4:])


@pytest.mark.parametrize("api", GROUP_APIS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), client_id=st.text(max_size=5))
def test_requests_of_kafka_python_are_decoded(
    api: str, data: st.DataObject, client_id: str
) -> None:
    version = data.draw(st.sampled_from(GROUP_APIS[api]))
    body = data.draw(records(kafka.REQUESTS[api]).filter(lambda body: expressible(body, version)))
    message = kafka_python.to_message(body, version)
    frame = framed(message, client_id)
    assert codec.start(frame) == (message.API_KEY, version, 7)
    wanted = trim(body, version)
    if isinstance(wanted, kafka.LeaveGroupRequest) and version < 3:
        wanted = wanted._replace(members=(MemberIdentity(wanted.members[0].member_id),))
    assert codec.decode(api, version, frame) == (client_id, wanted)


@pytest.mark.parametrize("api", GROUP_APIS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_responses_are_decoded_by_kafka_python(api: str, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(GROUP_APIS[api]))
    body = data.draw(records(kafka.RESPONSES[api]))
    if isinstance(body, kafka.JoinGroupResponse) and body.protocol_name is None and version < 7:
        body = body._replace(protocol_name="")
    frame = codec.encode(api, version, 7, body)
    assert struct.unpack(">ii", frame[:8]) == (len(frame) - 4, 7)
    read = kafka_python.answer_body(api, version, frame[4:], null_as_empty=False)
    assert read == trim(body, version)


def test_every_served_version_can_be_decoded_and_encoded() -> None:
    for api, version in SERVED:
        assert codec._request_form(api, version)
        assert codec._response_form(api, version)


@settings(max_examples=1_000)
@given(asked=st.sampled_from(SERVED), rest=st.binary(max_size=200))
def test_random_bytes_are_a_request_or_a_malformed_frame(
    asked: tuple[str, int], rest: bytes
) -> None:
    api, version = asked
    frame = struct.pack(">hhi", API_KEYS[api], version, 7) + rest
    with suppress(codec.MalformedFrameError):
        codec.decode(api, version, frame)


@pytest.mark.parametrize("api", GROUP_APIS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_truncated_request_is_malformed(api: str, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(GROUP_APIS[api]))
    body = data.draw(records(kafka.REQUESTS[api]).filter(lambda body: expressible(body, version)))
    frame = framed(kafka_python.to_message(body, version), "client")
    cut = data.draw(st.integers(8, len(frame) - 1))
    with pytest.raises(codec.MalformedFrameError):
        codec.decode(api, version, frame[:cut])


@pytest.mark.parametrize("frame", [b"", b"\0\x12\0\0\0\0\0"])
def test_frame_shorter_than_a_request_header_is_malformed(frame: bytes) -> None:
    with pytest.raises(codec.MalformedFrameError, match=f"a request of {len(frame)} bytes"):
        codec.start(frame)


MANY = b"\xff\xff\xff\xff\x0f"  # four billion, as a varint
LEGACY = struct.pack(">h", -1)  # no client id
FLEXIBLE = LEGACY + b"\0"  # and no tagged fields


@pytest.mark.parametrize(
    ("api", "version", "rest"),
    [
        # kio allocates all the entries that an array announces, and is killed.
        ("Metadata", 9, FLEXIBLE + MANY),
        ("Metadata", 1, LEGACY + struct.pack(">i", 2**31 - 1)),
        ("Metadata", 1, LEGACY + struct.pack(">i", -2)),
        ("DescribeGroups", 5, FLEXIBLE + MANY + b"\0" * 20),
        ("DescribeGroups", 5, FLEXIBLE + b"\0"),  # null, which is not a list of groups
        ("DescribeGroups", 5, FLEXIBLE + b"\xd2\x86\3" + b"\1" * 50_002),  # 50,001 empty entries
        ("Fetch", 4, LEGACY + b"\0" * 17 + struct.pack(">i", 2**31 - 1) + b"\0" * 100),
        # In kafka-python a number may have any number of bytes.
        ("DescribeGroups", 5, FLEXIBLE + b"\xff" * 10_000),
        ("Heartbeat", 4, LEGACY + MANY),
        ("Heartbeat", 4, LEGACY + b"\1\0" + MANY),
        ("Heartbeat", 4, FLEXIBLE + b"\1\0\0\0\0\1\0" + b"\2\0\1x\0" + MANY),
        ("Heartbeat", 4, FLEXIBLE + MANY),
        ("Heartbeat", 0, LEGACY + b"\xff\xfe"),
        ("Heartbeat", 0, LEGACY + b"\0\2\xff\xff" + b"\0" * 6),  # not UTF-8
        ("Heartbeat", 0, b"\xff\xfe"),
    ],
)
def test_wrong_lengths_make_a_request_malformed_at_once(
    api: str, version: int, rest: bytes
) -> None:
    frame = struct.pack(">hhi", API_KEYS[api], version, 7) + rest
    with pytest.raises(codec.MalformedFrameError):
        codec.decode(api, version, frame)


def test_unknown_tagged_fields_of_a_request_are_skipped() -> None:
    tags = b"\2\0\1x\x63\3yyy"
    frame = struct.pack(">hhih", 12, 4, 7, -1) + tags + b"\2g" + b"\0\0\0\1" + b"\2m" + b"\0" + tags
    assert codec.decode("Heartbeat", 4, frame) == ("", kafka.HeartbeatRequest("g", 1, "m"))


def test_bytes_after_a_request_are_ignored() -> None:
    frame = struct.pack(">hhih", 18, 0, 7, -1) + b"more"
    assert codec.decode("ApiVersions", 0, frame).client_id == ""


def test_record_with_a_required_field_that_the_message_lacks_is_rejected() -> None:
    heartbeat: Any = load_request_schema(12, 0)
    join: Any = kafka.REQUESTS["JoinGroup"]
    with pytest.raises(TypeError, match=r"has nothing for JoinGroupRequest\.session_timeout_ms"):
        reader(heartbeat, join)


def test_unknown_error_code_is_encoded_as_unknown_server_error() -> None:
    frame = codec.encode("Heartbeat", 0, 7, kafka.HeartbeatResponse(ErrorCode(999)))
    assert frame == struct.pack(">iih", 6, 7, -1)


def test_offset_fetch_has_several_groups_from_version_8_on() -> None:
    assert codec.record_type("OffsetFetch", 8, "Request") is OffsetFetchGroupsRequest
