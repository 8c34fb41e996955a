"""Requests of a slow client: what is no difference, and what a consumer has time for."""

from __future__ import annotations

import socket
from itertools import permutations
from threading import Timer
from time import monotonic

from groupcheck.model.client import ASSIGNED, LOST, POLL, REVOKED, ClientEvent, ClientInput
from groupcheck.properties.clients.broker import HOST
from groupcheck.properties.clients.consumer import Consumer, _is_late
from groupcheck.properties.clients.control import STARTED, TAKEN
from groupcheck.properties.clients.settings import JAVA
from groupcheck.properties.ports import codec

COMMIT = ClientEvent("OffsetCommit", "m", 1)
LEAVE = ClientEvent("LeaveGroup", "m")
CALL = ClientEvent(REVOKED, partitions=(0,))
OTHER_CALL = ClientEvent(ASSIGNED, partitions=(1,))


def test_of_all_orders_only_those_with_later_requests_are_late() -> None:
    expected = (COMMIT, CALL, LEAVE, OTHER_CALL)
    late = {seen for seen in permutations(expected) if _is_late(seen, expected)}
    assert late == {
        expected,
        (COMMIT, CALL, OTHER_CALL, LEAVE),
        (CALL, COMMIT, LEAVE, OTHER_CALL),
        (CALL, COMMIT, OTHER_CALL, LEAVE),
        (CALL, OTHER_CALL, COMMIT, LEAVE),
    }


def test_another_event_or_a_missing_one_is_not_late() -> None:
    assert not _is_late((COMMIT,), (COMMIT, CALL))
    assert not _is_late((COMMIT, ClientEvent(LOST, partitions=(0,))), (COMMIT, CALL))


def test_a_consumer_with_new_partitions_has_time_until_it_fetches() -> None:
    delay_s, patience_s = 0.3, 20.0
    assigned = (ClientEvent(ASSIGNED, partitions=(0, 1)),)
    request = codec.message_class("FetchRequest")(version=11, max_wait_ms=0, topics=[])
    request.with_header(correlation_id=1, client_id="a client")
    consumer = Consumer(JAVA, "group", lambda: None)
    with (
        socket.create_connection((HOST, consumer.control.port)) as application,
        socket.create_connection((HOST, consumer.coordinator.broker.port)) as client,
    ):
        application.sendall(f"{STARTED}\n{TAKEN}\nassigned 0 1\n".encode())
        consumer.wait_for_start()
        started = monotonic()
        Timer(delay_s, client.sendall, [request.encode(header=True, framed=True)]).start()
        assert consumer.do(ClientInput(POLL), assigned, patience_s=patience_s) == assigned
        assert delay_s <= monotonic() - started < patience_s
    consumer.end()
