"""Two kept libraries for Kafka's messages, on the server's side: `python tests/bench/codec.py`.

Of each it is printed which versions of the served APIs it has, how long it takes to decode a
request and to encode a response, and what becomes of a request that is cut short. The last column
is what the server does with kio: from a frame to the vocabulary's record, and back.
"""

from __future__ import annotations

import io
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from groupcheck.implementation.server import codec
from groupcheck.implementation.server.encoding import to_entity
from groupcheck.implementation.server.ranges import API_KEYS
from groupcheck.model.vocabulary import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    Protocol,
    RequestBody,
    ResponseBody,
)
from groupcheck.properties.ports import codec as kafka_python

MEMBER = "consumer-1-0b3cbd2c-3c0c-4b5e-9a8e-0f6a6d2e4c1b"
PROTOCOLS = tuple(Protocol(name, b"m" * 100) for name in ("range", "cooperative-sticky"))
COMMITTED = tuple(OffsetCommitRequestPartition(i, 10**6 + i, 3, "") for i in range(10))
STORED = tuple(OffsetCommitResponsePartition(i, ErrorCode.NONE) for i in range(10))

REQUESTS: list[tuple[str, int, RequestBody]] = [
    ("Heartbeat", 4, HeartbeatRequest("group-1", 4, MEMBER)),
    (
        "JoinGroup",
        9,
        JoinGroupRequest("group-1", 45_000, 300_000, MEMBER, None, "consumer", PROTOCOLS),
    ),
    (
        "OffsetCommit",
        9,
        OffsetCommitRequest(
            "group-1", 4, MEMBER, topics=(OffsetCommitRequestTopic("topic-1", COMMITTED),)
        ),
    ),
]


def joined(members: int) -> JoinGroupResponse:
    """What a leader is told."""
    member = JoinGroupResponseMember(MEMBER, None, b"m" * 100)
    return JoinGroupResponse(
        ErrorCode.NONE, 4, "consumer", "range", MEMBER, MEMBER, (member,) * members
    )


RESPONSES: list[tuple[str, int, ResponseBody, str]] = [
    ("Heartbeat", 4, HeartbeatResponse(ErrorCode.NONE), ""),
    ("OffsetCommit", 9, OffsetCommitResponse((OffsetCommitResponseTopic("topic-1", STORED),)), ""),
    *(("JoinGroup", 9, joined(n), f", {n} members") for n in (1, 50, 1_000)),
]


def micros(work: Callable[[], object]) -> float:
    """The shortest of five measurements, in microseconds a call."""
    work()
    began = time.perf_counter()
    work()
    times = max(3, int(0.1 / max(time.perf_counter() - began, 1e-7)))
    shortest = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            work()
        shortest = min(shortest, (time.perf_counter() - began) / times)
    return shortest * 1e6


def coverage() -> None:
    """Which versions each has; one that is not there cannot be loaded."""
    print(f"{'versions':24} {'kio':>14} {'kafka-python':>14}")  # noqa: T201
    for api, key in API_KEYS.items():
        versions = []
        for version in range(20):
            with suppress(Exception):  # each says so in its own way
                load_request_schema(key, version)
                versions.append(version)
        cls = kafka_python.message_class(f"{api}Request")
        kio, theirs = f"{versions[0]}-{versions[-1]}", f"{cls.min_version}-{cls.max_version}"
        print(f"{api:24} {kio:>14} {theirs:>14}")  # noqa: T201


def row(what: str, kio: float, kafka: float, ours: float) -> None:
    """One line of figures."""
    print(f"{what:34} {kio:>10.1f} {kafka:>14.1f} {ours:>12.1f}")  # noqa: T201


def decoding(api: str, version: int, body: RequestBody) -> None:
    """From bytes to an object."""
    message = kafka_python.to_message(body, version)
    frame = bytes(kafka_python.frame(message, 7, "client"))[4:]
    schema: Any = load_request_schema(API_KEYS[api], version)
    header, read = entity_reader(schema.__header_schema__), entity_reader(schema)
    cls = kafka_python.message_class(f"{api}Request")

    def by_kio() -> object:
        _, size = header(frame, 0)
        return read(frame, size)

    row(
        f"decode {api} v{version}",
        micros(by_kio),
        micros(lambda: cls.decode(frame, version=version, header=True)),
        micros(lambda: codec.decode(api, version, frame)),
    )


def encoding(api: str, version: int, body: Any, note: str) -> None:
    """From an object to bytes; making the object counts, for every answer is a new one."""
    schema: Any = load_response_schema(API_KEYS[api], version)
    record_type: Any = type(body)
    write, entity = entity_writer(schema), to_entity(record_type, schema)

    def by_kio() -> bytes:
        with io.BytesIO() as buffer:
            write(buffer, entity(body))
            return buffer.getvalue()

    def by_kafka_python() -> bytes:
        message = kafka_python.to_message(body, version)
        return bytes(message.encode(header=False))

    assert by_kio() == by_kafka_python()
    row(
        f"encode {api} v{version}{note}",
        micros(by_kio),
        micros(by_kafka_python),
        micros(lambda: codec.encode(api, version, 7, body)),
    )


def cut_short() -> None:
    """What each makes of a Heartbeat whose last string is not all there."""
    body = HeartbeatRequest("group-1", 4, MEMBER)
    message = kafka_python.to_message(body, 0)
    frame = bytes(kafka_python.frame(message, 7, "client"))[4:-10]
    read = kafka_python.message_class("HeartbeatRequest").decode(frame, version=0, header=True)
    print(f"cut short, kafka-python reads:  member_id={read.member_id!r}")  # noqa: T201
    try:
        codec.decode("Heartbeat", 0, frame)
    except codec.MalformedFrameError as error:
        print(f"cut short, kio refuses:         {error}")  # noqa: T201


def main() -> None:
    """Print everything."""
    cpus = os.cpu_count()
    print(f"Python {platform.python_version()}, {platform.machine()}, {cpus} cores")  # noqa: T201
    coverage()
    print(f"{'microseconds':34} {'kio':>10} {'kafka-python':>14} {'the server':>12}")  # noqa: T201
    for request in REQUESTS:
        decoding(*request)
    for response in RESPONSES:
        encoding(*response)
    cut_short()


if __name__ == "__main__":
    main()
