"""A consumer that has ended may connect to ports that another one has now, and is refused."""

from __future__ import annotations

import socket
from time import monotonic

from groupcheck.model.client import ClientEvent
from groupcheck.properties.clients.broker import HOST, Broker
from groupcheck.properties.clients.control import STARTED, Control, Line
from groupcheck.properties.clients.coordinator import Coordinator
from groupcheck.properties.ports import codec

PATIENCE_S = 20.0


def find_coordinator(group: str) -> bytes:
    request = codec.message_class("FindCoordinatorRequest")(version=3, key=group, key_type=0)
    request.with_header(correlation_id=1, client_id="a client")
    encoded: bytes = request.encode(header=True, framed=True)
    return encoded


def connected(port: int, sent: bytes) -> socket.socket:
    opened = socket.create_connection((HOST, port), timeout=PATIENCE_S)
    opened.sendall(sent)
    return opened


def has_ended(opened: socket.socket) -> bool:
    opened.settimeout(0.01)
    try:
        return opened.recv(1) == b""
    except TimeoutError:
        return False


def test_an_application_is_recognised_after_a_consumer_that_looks_for_its_broker() -> None:
    broker = Broker({})
    control = Control(broker)
    lines: list[Line] = []
    with (
        connected(control.port, find_coordinator("another")) as other,
        connected(control.port, f"{STARTED}\n".encode()),
    ):
        deadline = monotonic() + PATIENCE_S
        while not lines and monotonic() < deadline:
            broker.requests(0.1)
            lines += control.lines()
        assert lines == [Line(STARTED)]
        assert other.recv(1) == b""
    control.close()
    broker.close()


def test_a_coordinator_closes_the_connection_of_a_consumer_of_another_group() -> None:
    coordinator = Coordinator("its own")
    port = coordinator.broker.port
    events: list[ClientEvent] = []
    with (
        connected(port, find_coordinator("another")) as other,
        connected(port, find_coordinator("its own")),
    ):
        deadline, is_closed = monotonic() + PATIENCE_S, False
        while not (events and is_closed) and monotonic() < deadline:
            events += coordinator.serve(0.1)
            is_closed = is_closed or has_ended(other)
        assert is_closed
        assert events == [ClientEvent("FindCoordinator")]
    coordinator.close()
