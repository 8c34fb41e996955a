"""Decoding of requests and encoding of responses in every served version.

`decoding` and `encoding` map fields to records, by the schemas of kio, which can be inspected;
those of kafka-python's protocol package cannot. Neither package decodes requests safely: kio
allocates as many entries as the length field of an array says; kafka-python reads a truncated
string as if it were complete, and needs hours for a varint without end. kio lacks the versions that
Kafka 4 has dropped.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any, Final, NamedTuple

from kio.index import load_request_schema, load_response_schema
from kio.serial.readers import read_nullable_legacy_string

from groupcheck.implementation.log.schemas import Read, Write, tags_size
from groupcheck.implementation.server import messages
from groupcheck.implementation.server.decoding import NO_TAGS, Class, reader
from groupcheck.implementation.server.encoding import writer
from groupcheck.implementation.server.ranges import API_KEYS
from groupcheck.model import vocabulary as kafka

Record = Any  # of the vocabulary or of `messages`

PREFIX: Final = struct.Struct(">hhi")  # the first fields of every version of the request header
LENGTH: Final = struct.Struct(">i")
ID: Final = struct.Struct(">ii")  # of a response: its length and its correlation id


class MalformedFrameError(ValueError):
    """A frame does not contain the request that its header announces."""


class Start(NamedTuple):
    """The fields that every request has."""

    api_key: int
    api_version: int
    correlation_id: int


class DecodedRequest(NamedTuple):
    """A request: its client id and its body."""

    client_id: str
    body: Record


def start(frame: bytes) -> Start:
    """The first fields of a request.

    Raises:
        MalformedFrameError: the frame is too short for them.
    """
    if len(frame) < PREFIX.size:
        msg = f"a request of {len(frame)} bytes"
        raise MalformedFrameError(msg)
    return Start(*PREFIX.unpack_from(frame))


def decode(api: str, api_version: int, frame: bytes) -> DecodedRequest:
    """Decode the request in a frame without its length; trailing bytes are ignored, as in Kafka.

    Raises:
        MalformedFrameError: the frame does not match the schema of the API and version.
    """
    form = _request_form(api, api_version)
    try:
        client_id, size = read_nullable_legacy_string(frame, PREFIX.size)
        at = PREFIX.size + size
        if form.flexible:
            at += tags_size(frame, at)
        body, _ = form.read(frame, at)
    except Exception as error:  # readers may raise any error on invalid bytes
        msg = f"{api} version {api_version} that cannot be read ({type(error).__name__})"
        raise MalformedFrameError(msg) from error
    return DecodedRequest(client_id or "", form.convert(body))


def encode(api: str, api_version: int, correlation_id: int, body: Record) -> bytes:
    """Encode the frame of a response, with its length."""
    form = _response_form(api, api_version)
    out = BytesIO()
    out.write(form.header)
    form.write(out, body)
    frame = out.getbuffer()
    ID.pack_into(frame, 0, len(frame) - LENGTH.size, correlation_id)
    return bytes(frame)


class _RequestForm(NamedTuple):
    flexible: bool  # whether its header has tagged fields
    read: Read
    convert: Callable[[Any], Record]


class _ResponseForm(NamedTuple):
    write: Write
    header: bytes  # with zeros for the length and the correlation id


@cache
def _request_form(api: str, api_version: int) -> _RequestForm:
    schema: Any = load_request_schema(API_KEYS[api], api_version)
    read = reader(schema, record_type(api, api_version, "Request"))
    convert = _REQUEST_CONVERSIONS.get((api, api_version), _as_it_is)
    return _RequestForm(schema.__header_schema__.__flexible__, read, convert)


@cache
def _response_form(api: str, api_version: int) -> _ResponseForm:
    schema: Any = load_response_schema(API_KEYS[api], api_version)
    write = writer(record_type(api, api_version, "Response"), schema)
    if (api, api_version) in _RESPONSE_CONVERSIONS:
        write = _after(_RESPONSE_CONVERSIONS[api, api_version], write)
    tags = NO_TAGS if schema.__header_schema__.__flexible__ else b""
    return _ResponseForm(write, bytes(ID.size) + tags)


def record_type(api: str, api_version: int, kind: str) -> Class:
    """The record type of an API's "Request" or "Response" in a version."""
    if api == "LeaveGroup" and api_version < 3:
        name = f"LeaveGroupMember{kind}"
    elif api == "OffsetFetch" and api_version >= 8:
        name = f"OffsetFetchGroups{kind}"
    else:
        name = f"{api}{kind}"
    # The vocabulary's EndTxn is the marker in a group, not the producer's request.
    own: Class | None = getattr(messages, name, None)
    return own or (kafka.REQUESTS if kind == "Request" else kafka.RESPONSES)[api]


def _one_timeout(record: kafka.JoinGroupRequest) -> kafka.JoinGroupRequest:
    # Version 0 has one timeout (JoinGroupRequest.java, the constructor's maybeOverride).
    return record._replace(rebalance_timeout_ms=record.session_timeout_ms)


def _every_topic(record: messages.MetadataRequest) -> messages.MetadataRequest:
    # Version 0 has no null: an empty array requests all topics (MetadataRequest.json).
    return record._replace(topics=record.topics or None)


def _members_leave(record: messages.LeaveGroupMemberRequest) -> kafka.LeaveGroupRequest:
    return kafka.LeaveGroupRequest(record.group_id, (kafka.MemberIdentity(record.member_id),))


def _member_left(record: kafka.LeaveGroupResponse) -> messages.LeaveGroupMemberResponse:
    # Before batches, the one member's error was the response's (LeaveGroupResponse.java).
    first = record.members[0] if record.members else record
    return messages.LeaveGroupMemberResponse(record.error_code or first.error_code)


# Conversions of old versions.
_REQUEST_CONVERSIONS: Final[dict[tuple[str, int], Callable[[Any], Any]]] = {
    ("JoinGroup", 0): _one_timeout,
    ("Metadata", 0): _every_topic,
    **{("LeaveGroup", version): _members_leave for version in range(3)},
}
_RESPONSE_CONVERSIONS: Final[dict[tuple[str, int], Callable[[Any], Any]]] = {
    ("LeaveGroup", version): _member_left for version in range(3)
}


def _as_it_is(record: Record) -> Record:
    return record


def _after(convert: Callable[[Any], Any], write: Write) -> Write:
    return lambda frame, record: write(frame, convert(record))
