"""Broken, slow, greedy or malicious clients: the server continues to serve the others."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.server import groups
from groupcheck.implementation.server.connection import MOST_UNREAD_BYTES, MOST_UNSENT_BYTES
from groupcheck.implementation.server.maintenance import LONGEST, QUIET_S, Notes
from groupcheck.implementation.server.ranges import API_KEYS
from groupcheck.model.vocabulary import (
    HeartbeatRequest,
    JoinGroupRequest,
    Request,
    RequestBody,
    Response,
)
from groupcheck.properties.ports import codec
from support.batches import made, request_fetch
from support.client_processes import eventually
from support.serving import JOIN, QUICK, Served, Wire

TRICKY = "wholly-unlikely-text"  # client input, which must not be logged


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with Served(("topic", 2), ("wide", 1_000)) as server:
        yield server


@pytest.fixture(autouse=True)
def _others_are_served(server: Served) -> Iterator[None]:
    yield
    with server.connected() as wire:
        wire.socket.settimeout(5)
        assert wire.ask("FindCoordinator", 0, key="group").error_code == 0
    assert all(TRICKY not in note and len(note) < LONGEST + 60 for note in server.notes)


def frame(api: str, version: int, rest: bytes = b"") -> bytes:
    return struct.pack(">hhih", API_KEYS[api], version, 7, -1) + rest


def valid() -> list[bytes]:
    """A request of each API."""
    bodies: list[RequestBody] = [
        JoinGroupRequest("group", 10_000),
        HeartbeatRequest("group", 1, "nobody"),
    ]
    framed = [bytes(codec.frame(codec.to_message(b, 4), 7, "client"))[4:] for b in bodies]
    return [*framed, frame("ApiVersions", 0), frame("Metadata", 1, struct.pack(">i", -1))]


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 0),
        struct.pack(">i", 7) + b"1234567",
        struct.pack(">i", 10) + struct.pack(">hhih", 999, 0, 7, -1),
        struct.pack(">i", 10) + struct.pack(">hhih", -5, 0, 7, -1),
        struct.pack(">i", 10) + frame("JoinGroup", 99),
        struct.pack(">i", 10) + frame("Heartbeat", -1),
        struct.pack(">i", 10) + frame("Fetch", 0),
        struct.pack(">i", 10) + frame("Heartbeat", 0),
        struct.pack(">i", 14) + frame("Metadata", 1, struct.pack(">i", 2**31 - 1)),
        b"GET / HTTP/1.1\r\nHost: " + TRICKY.encode() + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # the beginning of TLS
    ],
)
def test_frame_that_is_not_a_served_request_closes_the_connection(
    sent: bytes, server: Served
) -> None:
    with server.connected() as wire:
        wire.socket.sendall(sent)
        assert wire.receive() is None


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(st.binary(max_size=60) | st.sampled_from(valid()), max_size=4))
def test_random_frames_do_no_harm(frames: list[bytes], server: Served) -> None:
    with server.connected() as wire, suppress(OSError):
        for each in frames:
            wire.send(each)
        wire.socket.shutdown(socket.SHUT_WR)
        while wire.receive() is not None:
            pass


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.sampled_from(valid()),
    at=st.integers(0, 200),
    byte=st.integers(0, 255),
    key=st.sampled_from(sorted(API_KEYS.values())),
    version=st.integers(-1, 12),
)
@example(body=valid()[0], at=8, byte=255, key=11, version=4)
def test_requests_with_one_byte_changed_do_no_harm(  # noqa: PLR0913, PLR0917 - all are drawn
    body: bytes, at: int, byte: int, key: int, version: int, server: Served
) -> None:
    changed = bytearray(body)
    changed[at % len(changed)] = byte
    with server.connected() as wire, suppress(OSError):
        wire.send(bytes(changed))
        wire.send(struct.pack(">hh", key, version) + bytes(changed[4:]))
        wire.socket.shutdown(socket.SHUT_WR)
        while wire.receive() is not None:
            pass


def test_requests_in_the_wrong_order_return_errors(server: Served) -> None:
    with server.connected() as wire:
        fields = {"group_id": "wrong", "generation_id": 3, "member_id": "nobody"}
        assert wire.ask("SyncGroup", 1, **fields, assignments=[]).error_code == 25
        assert wire.ask("Heartbeat", 1, **fields).error_code == 25
        assert wire.ask("LeaveGroup", 1, group_id="wrong", member_id="nobody").error_code == 25
        assert wire.ask("Fetch", 7, max_wait_ms=0, session_id=9).error_code == 70
        end = {"transactional_id": "none", "producer_id": 1, "producer_epoch": 0}
        assert "EndTxn" not in server.server.broker.served or (
            wire.ask("EndTxn", 0, **end, committed=True).error_code == 49
        )


def connection_of(server: Served, wire: Wire) -> Any:
    """A connection as the server has it, once accepted."""
    assert wire.ask("ApiVersions", 0).error_code == 0
    return connection_of_port(server, wire)


def connection_of_port(server: Served, wire: Wire) -> Any:
    name = wire.socket.getsockname()

    async def find() -> Any:
        return next(
            c
            for c in server.server._connections
            if c._transport is not None and c._transport.get_extra_info("peername") == name
        )

    return server.run(find())


def test_client_that_never_reads_gets_no_more_responses_and_takes_little_memory(
    server: Served,
) -> None:
    with server.connected() as wire:
        connection = connection_of(server, wire)
        wire.socket.settimeout(0.5)
        ask_all = struct.pack(">i", 14) + frame("Metadata", 1, struct.pack(">i", -1))
        with suppress(TimeoutError):  # it can send no more
            for _ in range(100_000):
                wire.socket.sendall(ask_all * 100)
        eventually(lambda: connection._unread)
        one_answer = 40_000
        assert connection._transport.get_write_buffer_size() <= MOST_UNSENT_BYTES + one_answer
        assert len(connection._frames) <= MOST_UNREAD_BYTES + 256 * 1024  # and the rest of the data


def test_client_that_pauses_reading_gets_every_response(server: Served) -> None:
    with server.connected() as wire:
        topic = [("topic", [(0, made(b"x" * 1_000_000))])]
        produced = wire.ask("Produce", 3, acks=1, timeout_ms=1_000, topic_data=topic)
        assert produced.responses[0].partition_responses[0].error_code == 0
        asked = 30

        def ask() -> None:
            for _ in range(asked):
                request_fetch(wire, 0, 0, most_bytes=2_000_000)

        asking = threading.Thread(target=ask)
        asking.start()
        connection = connection_of_port(server, wire)
        eventually(lambda: connection._unread)
        sizes = {len(wire.receive() or b"") for _ in range(asked)}
        assert len(sizes) == 1
        assert min(sizes) > 1_000_000
        asking.join()


def test_client_with_many_requests_does_not_block_others(server: Served) -> None:
    with server.connected() as greedy, server.connected() as other:
        asked = 2_000
        ask_all = struct.pack(">i", 14) + frame("Metadata", 1, struct.pack(">i", -1))
        greedy.socket.sendall(ask_all * asked)
        answered: list[float] = []

        def take() -> None:
            for _ in range(asked):
                greedy.receive()
                answered.append(time.monotonic())

        taking = threading.Thread(target=take)
        taking.start()
        assert other.ask("ApiVersions", 0).error_code == 0
        served_s = time.monotonic()
        taking.join()
        assert sum(at < served_s for at in answered) < asked


def test_request_received_byte_by_byte_is_answered(server: Served) -> None:
    with server.connected() as slow, server.connected() as other:
        slow.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in struct.pack(">i", 10) + frame("ApiVersions", 0):
            slow.socket.sendall(bytes([byte]))
            assert other.ask("FindCoordinator", 0, key="group").error_code == 0
        assert slow.answer("ApiVersions", 0).error_code == 0


def test_incomplete_requests_share_a_memory_limit() -> None:
    limits = ("socket.request.max.bytes=50000", "queued.max.request.bytes=100000")
    with Served(config=(*QUICK, *limits)) as server, ExitStack() as stack:
        wires = [stack.enter_context(server.connected()) for _ in range(3)]
        begun = struct.pack(">i", 50_000) + b"x" * 40_000
        for number, wire in enumerate(wires[:2], 1):
            wire.socket.sendall(begun)
            eventually(lambda number=number: server.server._reserved == number * len(begun))  # type: ignore[misc] # bound
        wires[2].socket.sendall(begun)
        assert wires[2].receive() is None
        # The others continue.
        for wire in wires[:2]:
            wire.socket.sendall(b"x" * 10_000)
            assert wire.receive() is None  # it was not a request
        assert server.server._reserved == 0
        assert "take too much memory" in server.notes[0]


def test_number_of_connections_is_limited() -> None:
    with Served(config=("max.connections=2",)) as server, ExitStack() as stack:
        first, second = (stack.enter_context(server.connected()) for _ in range(2))
        assert first.ask("ApiVersions", 0).error_code == 0
        assert second.ask("ApiVersions", 0).error_code == 0
        with server.connected() as third:
            assert third.receive() is None
        first.socket.close()
        eventually(lambda: len(server.server._connections) == 1)
        with server.connected() as fourth:
            assert fourth.ask("ApiVersions", 0).error_code == 0


def test_idle_connection_is_closed() -> None:
    with Served(config=("connections.max.idle.ms=400",)) as server, server.connected() as wire:
        began = time.monotonic()
        assert wire.receive() is None
        assert time.monotonic() - began > 0.4
        assert server.notes == ["closed a connection: 127.0.0.1: idle"]


def test_many_idle_connections_do_not_block_others() -> None:
    with Served() as server, ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(server.connected())
        with server.connected() as wire:
            began = time.monotonic()
            for _ in range(100):
                assert wire.ask("ApiVersions", 0).error_code == 0
            assert time.monotonic() - began < 5


def test_one_client_may_make_many_groups(server: Served) -> None:
    with server.connected() as wire:
        for number in range(300):
            fields = {"group_id": f"many-{number}", "session_timeout_ms": 10_000, "member_id": ""}
            protocols = [("range", b"")]
            wire.request("JoinGroup", 0, **fields, protocol_type="consumer", protocols=protocols)
        for _ in range(300):
            assert wire.answer("JoinGroup", 0).error_code == 0


def test_lost_clients_of_repeated_joins_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MIN_WAITING", 8)
    with Served() as server, server.connected() as first, server.connected() as second:
        leader = first.join()
        second.request("JoinGroup", 3, **JOIN)
        while first.state_of() != "PreparingRebalance":
            time.sleep(0.01)
        follower = first.join(member_id=leader.member_id)
        member_id = second.answer("JoinGroup", 3).member_id
        assert follower.generation_id == 2
        # The leader rejoins with other metadata: the group waits for the follower.
        changed = {"member_id": leader.member_id, "protocols": [("range", b"other")]}
        for _ in range(40):
            with server.connected() as wire:
                wire.request("JoinGroup", 3, **{**JOIN, **changed})
                wire.socket.shutdown(socket.SHUT_WR)
                wire.receive()
        groups_of_server = server.server._groups
        assert groups_of_server is not None
        assert len(groups_of_server._waiting) <= 16
        first.request("JoinGroup", 3, **{**JOIN, **changed})
        last = second.join(member_id=member_id)
        assert last.generation_id == first.answer("JoinGroup", 3).generation_id == 3


def test_failure_of_a_request_closes_only_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Coordinator):
        def receive(self, request: Request) -> list[Response]:
            raise RuntimeError(TRICKY, request)

    monkeypatch.setattr(groups, "Coordinator", Failing)
    with Served() as server, server.connected() as wire, server.connected() as other:
        wire.request("Heartbeat", 0, group_id="g", generation_id=1, member_id="m")
        assert wire.receive() is None
        assert other.ask("ApiVersions", 0).error_code == 0
        assert server.notes == [
            "closed a connection: 127.0.0.1: a request failed here (RuntimeError)"
        ]


def test_response_that_cannot_be_encoded_closes_only_its_connection() -> None:
    with Served() as server, server.connected() as old, server.connected() as new:
        leader = old.join()
        message = codec.message_class("JoinGroupRequest")(version=6, **JOIN)
        long = "x" * 32_767  # the prefix of a member id that no old version can encode
        new.socket.sendall(codec.frame(message, 7, long))
        given = new.answer("JoinGroup", 6)
        assert len(given.member_id) > 32_767
        new.request("JoinGroup", 6, **{**JOIN, "member_id": given.member_id})
        with server.connected() as other:
            while other.state_of() != "PreparingRebalance":
                time.sleep(0.01)
        old.request("JoinGroup", 3, **{**JOIN, "member_id": leader.member_id})
        assert old.receive() is None
        assert new.answer("JoinGroup", 6).generation_id == 2
        assert server.notes == [
            "closed a connection: 127.0.0.1: a request failed here (OutOfBoundValue)"
        ]


def test_repeated_messages_are_counted_and_not_repeated() -> None:
    lines: list[str] = []
    now = [0.0]
    notes = Notes(lines.append, lambda: now[0])
    for _ in range(5):
        notes.note("closed", "why")
    notes.note("other")
    now[0] = QUIET_S
    notes.note("closed", "x" * 1_000)
    assert lines[:2] == ["closed: why", "other"]
    assert lines[2].endswith("x (and 4 times since the last line)")
    assert len(lines[2]) < LONGEST + 60
