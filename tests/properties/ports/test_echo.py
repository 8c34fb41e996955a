"""That requests on several connections do not overtake each other on their way to a broker."""

from __future__ import annotations

import threading
import time

from groupcheck.model.vocabulary import HeartbeatRequest, JoinGroupRequest, Request
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.windows import Windows
from support.wire_broker import Asked, Broker, reply, serving

JOIN = JoinGroupRequest("group", 10_000)
HEARTBEAT = HeartbeatRequest("group", 1, "member")
ANSWER_MS = 1_000


class Watched(Broker):
    """Answers no JoinGroup, and notes all that it is asked; what is `hung` is not answered.

    It has a thread for each connection, where a broker that takes one request after the other has
    one for all: until `joined` is set, which the JoinGroup does, others are not taken in.
    """

    def __init__(self) -> None:
        super().__init__()
        self.came: list[tuple[str, int]] = []
        self.hung = False
        self.joined = threading.Event()
        self.joined.set()
        self.speak = self._note
        self.answer = lambda asked: b"" if "Join" in asked.name else reply(asked, error_code=0)

    def _note(self, asked: Asked) -> bytes | None:
        joins = asked.name == "JoinGroupRequest"
        assert joins or self.joined.wait(ANSWER_MS)
        connection = self.here.socket.getpeername()[1]
        self.came.append((asked.name.removesuffix("Request"), connection))
        if joins:
            self.joined.set()
        hangs = self.hung and asked.name == "ApiVersionsRequest"
        return b"" if hangs else self.respond(asked)


def test_the_next_request_is_sent_when_the_broker_has_come_past_one_that_waits() -> None:
    with serving(Watched()) as broker:
        port = WirePort("127.0.0.1", broker.port)
        port.open("2.7", {})
        broker.came.clear()
        broker.joined.clear()
        port.request(Request(1, 5, JOIN), ())
        port.request(Request(2, 3, HEARTBEAT), {2})
        port.shutdown()
    names = [name for name, _ in broker.came]
    # First the echo has its connection; then it answers, and so does each new connection.
    assert names == ["JoinGroup", "ApiVersions", "ApiVersions", "Heartbeat"]
    (_, joined), (_, echoed), (_, greeted), (_, beaten) = broker.came
    assert len({joined, echoed, beaten}) == 3
    assert greeted == beaten


def test_an_echo_that_does_not_come_is_waited_for_once() -> None:
    with serving(Watched()) as broker:
        port = WirePort("127.0.0.1", broker.port, windows=Windows(answer_ms=ANSWER_MS))
        port.open("2.7", {})
        port.request(Request(1, 3, HEARTBEAT), {1})
        broker.hung = True
        began = time.monotonic()
        port._echo.wait()
        assert time.monotonic() - began >= ANSWER_MS / 1000
        echoes = len(broker.came)
        port._echo.wait()
        assert len(broker.came) == echoes
        port.shutdown()
