"""Requests on different connections do not overtake each other."""

from __future__ import annotations

import threading
import time

from groupcheck.model.vocabulary import HeartbeatRequest, JoinGroupRequest, Request
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.tolerances import Tolerances
from support.wire_broker import Asked, Broker, reply, serving

JOIN = JoinGroupRequest("group", 10_000)
HEARTBEAT = HeartbeatRequest("group", 1, "member")
ANSWER_MS = 1_000


class RecordingBroker(Broker):
    """Records its requests; answers no JoinGroup, and no ApiVersions while it is `hung`.

    It has a thread for each connection. To behave like a broker with one request thread, it handles
    other requests only after the JoinGroup, which sets `joined`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.came: list[tuple[str, int]] = []
        self.hung = False
        self.joined = threading.Event()
        self.joined.set()
        self.speak = self._record
        self.answer = lambda asked: b"" if "Join" in asked.name else reply(asked, error_code=0)

    def _record(self, asked: Asked) -> bytes | None:
        joins = asked.name == "JoinGroupRequest"
        assert joins or self.joined.wait(ANSWER_MS)
        connection = self.here.socket.getpeername()[1]
        self.came.append((asked.name.removesuffix("Request"), connection))
        if joins:
            self.joined.set()
        hangs = self.hung and asked.name == "ApiVersionsRequest"
        return b"" if hangs else self.respond(asked)


def test_next_request_is_sent_after_the_broker_has_received_a_waiting_one() -> None:
    with serving(RecordingBroker()) as broker:
        port = WirePort("127.0.0.1", broker.port)
        port.open("2.7", {})
        broker.came.clear()
        broker.joined.clear()
        port.request(Request(1, 5, JOIN), ())
        port.request(Request(2, 3, HEARTBEAT), {2})
        port.shutdown()
    names = [name for name, _ in broker.came]
    # The barrier connects and gets its response; so does each new connection.
    assert names == ["JoinGroup", "ApiVersions", "ApiVersions", "Heartbeat"]
    (_, join), (_, barrier), (_, new), (_, heartbeat) = broker.came
    assert len({join, barrier, heartbeat}) == 3
    assert new == heartbeat


def test_barrier_without_a_response_waits_only_once() -> None:
    with serving(RecordingBroker()) as broker:
        port = WirePort("127.0.0.1", broker.port, tolerances=Tolerances(answer_ms=ANSWER_MS))
        port.open("2.7", {})
        port.request(Request(1, 3, HEARTBEAT), {1})
        broker.hung = True
        began = time.monotonic()
        port._barrier.wait()
        assert time.monotonic() - began >= ANSWER_MS / 1000
        count = len(broker.came)
        port._barrier.wait()
        assert len(broker.came) == count
        port.shutdown()
