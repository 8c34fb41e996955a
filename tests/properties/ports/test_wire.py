"""The wire port against brokers of a few lines, which do what no real one can be asked to."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from selectors import SelectorKey
from typing import Any

import pytest

from groupcheck.model.vocabulary import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    Request,
    Response,
)
from groupcheck.properties.ports import codec, connection, wire
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    Port,
    PortFailedError,
    PortUnavailableError,
)
from groupcheck.properties.ports.source import UnknownPortError, port_source
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.windows import Windows
from support.wire_broker import Asked, Broker, Broker6, reply, serving

HEARTBEAT = HeartbeatRequest("group", 1, "member")
JOIN = JoinGroupRequest("group", 10_000)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with serving(Broker()) as started:
        yield started


@pytest.fixture
def port(broker: Broker) -> Iterator[WirePort]:
    opened = WirePort("127.0.0.1", broker.port, windows=Windows(answer_ms=2_000))
    opened.open("2.7", {})
    yield opened
    opened.shutdown()


def heartbeat(port: Port, request_id: int = 1, version: int = 3) -> Observation:
    return port.request(Request(request_id, version, HEARTBEAT), {request_id})


def failure(port: Port, version: int = 3) -> PortFailedError:
    with pytest.raises(PortFailedError) as failed:
        heartbeat(port, version=version)
    return failed.value


def refused(port: int, **options: Windows) -> str:
    """Why a broker cannot be tested, without its address."""
    unopened = WirePort("127.0.0.1", port, **options)  # type: ignore[arg-type]
    with pytest.raises(PortUnavailableError) as error:
        unopened.open("2.7", {})
    url, reason = str(error.value).split(" cannot be tested: ")
    assert url == f"kafka://127.0.0.1:{port}"
    return reason


def test_what_must_be_answered_is_waited_for_and_no_longer(port: WirePort) -> None:
    seen = heartbeat(port)
    assert seen.responses == (Response(1, HeartbeatResponse(ErrorCode.NONE)),)
    assert seen.elapsed_ms < 2_000


def test_an_answer_that_never_comes_is_no_failure(broker: Broker, port: WirePort) -> None:
    broker.answer = lambda _: b""
    seen = heartbeat(port)
    assert seen.responses == ()
    assert 2_000 <= seen.elapsed_ms < 10_000


def test_an_answer_that_nothing_waited_for_comes_with_a_later_one(
    broker: Broker, port: WirePort
) -> None:
    parked: list[tuple[Asked, socket.socket]] = []

    def answer(asked: Asked) -> bytes:
        if asked.name == "JoinGroupRequest":
            parked.append((asked, broker.here.socket))
            return b""
        first, asker = parked[0]
        asker.sendall(reply(first, error_code=25, member_id="", leader=""))
        return reply(asked, error_code=27)

    broker.answer = answer
    assert port.request(Request(1, 5, JOIN), ()).responses == ()
    seen = heartbeat(port, 2)
    assert sorted(r.request_id for r in seen.responses) == [1, 2]


def test_a_request_behind_a_parked_one_goes_out_on_another_connection(
    broker: Broker, port: WirePort
) -> None:
    broker.answer = lambda asked: b"" if "Join" in asked.name else reply(asked, error_code=0)
    for request_id in range(1, 4):
        port.request(Request(request_id, 5, JOIN), ())
    for request_id in range(4, 10):
        assert len(heartbeat(port, request_id).responses) == 1
    assert len(port._connections) == 4


def test_advancing_sleeps_and_takes_what_is_answered_meanwhile(
    broker: Broker, port: WirePort
) -> None:
    def answer(asked: Asked) -> bytes:
        time.sleep(0.1)
        return reply(asked, error_code=0)

    broker.answer = answer
    assert port.request(Request(1, 3, HEARTBEAT), ()).responses == ()
    seen = port.advance(250, {1})
    assert [r.request_id for r in seen.responses] == [1]
    assert seen.elapsed_ms >= 250


class Parked:
    """Connections that each owe an answer to a JoinGroup, and when it comes; the clock is theirs.

    It has what the port uses of a selector, and moves the clock instead of waiting.
    """

    def __init__(self, *answered_s: float) -> None:
        self.now_s = 0.0
        self.connections = [Owing(number, at_s) for number, at_s in enumerate(answered_s)]

    def select(self, timeout_s: float) -> list[tuple[SelectorKey, int]]:
        until_s = self.now_s + timeout_s
        ready = [c for c in self.connections if c.owed and c.at_s <= until_s]
        if not ready:
            self.now_s = until_s
            return []
        first = min(ready, key=lambda owing: owing.at_s)
        self.now_s = max(self.now_s, first.at_s)
        return [(SelectorKey(0, 0, 0, first), 0)]

    def close(self) -> None:
        pass


class Owing:
    """A connection that owes one answer."""

    def __init__(self, number: int, at_s: float) -> None:
        self.at_s = at_s
        self.owed = {1: Request(number, 5, JOIN)}

    def receive(self) -> Iterator[tuple[Request, bytes]]:
        message = codec.to_message(JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID), 5)
        message.with_header(correlation_id=1)
        yield self.owed.pop(1), message.encode(header=True)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("answered_s", "seen", "elapsed_ms"),
    [((0.02, 0.04, 0.08), 3, 90), ((0.02, 0.04, 0.1), 2, 90), ((0.04,), 0, 30)],
)
def test_where_one_answer_came_others_are_waited_for_a_moment_longer(
    monkeypatch: pytest.MonkeyPatch, answered_s: tuple[float, ...], seen: int, elapsed_ms: int
) -> None:
    port = WirePort("127.0.0.1", 1, windows=Windows(grace_ms=30))
    parked: Any = Parked(*answered_s)
    monkeypatch.setattr(wire, "monotonic", lambda: parked.now_s)
    port._selector, port._connections = parked, parked.connections
    observation = port.advance(0, ())
    assert len(observation.responses) == seen
    assert observation.elapsed_ms in {elapsed_ms - 1, elapsed_ms}


def test_the_milliseconds_told_add_up_to_the_time_that_passed(port: WirePort) -> None:
    start = time.monotonic()
    told = sum(heartbeat(port, n).elapsed_ms for n in range(1, 200))
    assert abs(told - (time.monotonic() - start) * 1000) < 80  # not a millisecond a request


def test_a_test_has_a_group_of_its_own(broker: Broker, port: WirePort) -> None:
    heartbeat(port)
    port.open("2.7", {})
    heartbeat(port)
    first, second = (asked.group_id for asked in broker.asked)
    assert first != second
    assert first.endswith("-group")


def test_no_group_id_stays_none(broker: Broker, port: WirePort) -> None:
    port.request(Request(1, 3, HEARTBEAT._replace(group_id="")), {1})
    assert broker.asked[0].group_id == ""


def test_a_described_group_has_the_name_and_the_host_that_the_test_gave(
    broker: Broker, port: WirePort
) -> None:
    def answer(asked: Asked) -> bytes:
        member = DescribedGroupMember("member", client_host="/172.17.0.1")
        group = DescribedGroup(ErrorCode.NONE, asked.groups[0], "Stable", members=(member,))
        message = codec.to_message(DescribeGroupsResponse((group,)), asked.version)
        return reply(asked, groups=message.groups)

    broker.answer = answer
    seen = port.request(Request(1, 4, DescribeGroupsRequest(("group",))), {1})
    member = DescribedGroupMember("member", client_host="/127.0.0.1")
    group = DescribedGroup(ErrorCode.NONE, "group", "Stable", members=(member,))
    assert seen.responses == (Response(1, DescribeGroupsResponse((group,))),)


def test_the_client_id_is_the_request_s(broker: Broker, port: WirePort) -> None:
    port.request(Request(1, 3, HEARTBEAT, "consumer-1"), {1})
    assert broker.asked[0].header.client_id == "consumer-1"


def test_what_a_version_cannot_say_is_unsupported(port: WirePort) -> None:
    body = LeaveGroupRequest("group", (MemberIdentity("a"), MemberIdentity("b")))
    seen = port.request(Request(1, 2, body), {1})
    assert seen == Observation(unsupported="LeaveGroup of 2 members at version 2")


def test_faults_are_unsupported(port: WirePort) -> None:
    assert port.fault(Fault("crash"), ()) == Observation(unsupported="crash")


def test_a_version_is_spoken_that_both_sides_speak(broker: Broker, port: WirePort) -> None:
    broker.versions |= {12: (0, 1), 8: (10, 12), 9: (8, 9)}
    del broker.versions[15]
    port.open("2.7", {})
    assert port.max_versions == {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 1, "LeaveGroup": 5}


def test_a_closed_connection_is_a_crash(broker: Broker, port: WirePort) -> None:
    broker.answer = lambda _: None
    failed = failure(port)
    assert failed.kind == "port crashed"
    assert (
        failed.reason
        == "the broker closed the connection that owed an answer to Heartbeat version 3"
    )


def test_a_reset_connection_is_a_crash(broker: Broker, port: WirePort) -> None:
    def answer(_: Asked) -> None:
        linger = b"\1\0\0\0\0\0\0\0"
        broker.sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        broker.sockets[-1].close()

    broker.answer = answer
    failed = failure(port)
    assert failed.kind == "port crashed"
    assert "the broker broke the connection (Connection reset by peer)" in failed.reason


def test_a_connection_that_breaks_when_written_to_is_a_crash(port: WirePort) -> None:
    port._connections[0].socket.shutdown(socket.SHUT_WR)
    assert "the broker broke the connection (Broken pipe)" in failure(port).reason


def test_a_broker_that_takes_no_further_connection_is_a_crash(
    broker: Broker, port: WirePort
) -> None:
    broker.answer = lambda _: b""
    port.request(Request(1, 5, JOIN), ())
    broker.shutdown()
    broker.socket.close()
    failed = failure(port)
    assert (failed.kind, failed.reason) == (
        "port crashed",
        "no further connection: Connection refused",
    )


def test_no_room_for_a_connection_on_this_machine_is_not_the_broker_s_fault(
    broker: Broker, port: WirePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    broker.answer = lambda _: b""
    port.request(Request(1, 5, JOIN), ())
    monkeypatch.setattr(socket, "create_connection", full)
    with pytest.raises(PortUnavailableError, match="no further connection: Too many open files"):
        heartbeat(port)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\xff\xff\xff\xff", "an answer said to be -1 bytes long"),
        (b"HTTP/1.1 400 Bad Request", "an answer said to be 1213486160 bytes long"),
        (b"\0\0\0\x04\0\0\0\x63", "an answer with an unknown correlation id, 99"),
        (b"\0\0\0\x04\xff\xff\xff\xff", "an answer with an unknown correlation id, -1"),
        (b"\0\0\0\x05\0\0\0\x01\0", "an answer that cannot be read as Heartbeat version 3: "),
        (
            b"\0\0\0\x0b\0\0\0\x01" + bytes(7),
            "an answer of 11 bytes that is no Heartbeat version 3",
        ),
    ],
)
def test_what_is_no_answer_is_a_protocol_error(
    broker: Broker, port: WirePort, sent: bytes, reason: str
) -> None:
    broker.answer = lambda _: sent
    failed = failure(port)
    assert failed.kind == "protocol error"
    assert failed.reason.startswith(reason)


def test_a_second_answer_is_a_protocol_error(broker: Broker, port: WirePort) -> None:
    broker.answer = lambda asked: reply(asked, error_code=0) * 2
    failed = failure(port)
    assert (failed.kind, failed.reason) == ("protocol error", "a request answered twice")


def test_an_answer_may_come_in_pieces(broker: Broker, port: WirePort) -> None:
    def answer(asked: Asked) -> bytes:
        *most, last = reply(asked, error_code=27)
        for byte in most:
            broker.sockets[-1].sendall(bytes([byte]))
            time.sleep(0.002)
        return bytes([last])

    broker.answer = answer
    seen = heartbeat(port)
    assert seen.responses[0].body == HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)


def test_where_nothing_listens_nothing_can_be_tested() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert refused(free.getsockname()[1]) == "Connection refused"


def test_a_name_that_no_host_can_have_cannot_be_tested() -> None:
    with pytest.raises(PortUnavailableError, match=r"^kafka://a\.\.b:1 cannot be tested: \S"):
        WirePort("a..b", 1).open("2.7", {})


def test_a_coordinator_that_cannot_be_reached_is_named(broker: Broker) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        broker.coordinator = free.getsockname()
        url = f"kafka://127.0.0.1:{broker.coordinator[1]}"
        assert refused(broker.port) == f"its coordinator at {url}: Connection refused"


def test_a_broker_on_ipv6_is_reached_by_its_address_in_brackets() -> None:
    try:
        broker = Broker6()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(broker):
        port = port_source(f"kafka://[::1]:{broker.port}").connect()
        assert port.open("2.7", {}).name == f"kafka://[::1]:{broker.port}"
        assert len(heartbeat(port).responses) == 1
        port.shutdown()


@pytest.mark.parametrize(
    "rest", ["::1:1", "[::1:1", "localhost", "localhost:0", ":9092", "a:1,b:2", "a:1/b", "u@a:1"]
)
def test_what_is_no_address_is_one_clear_line(rest: str) -> None:
    with pytest.raises(UnknownPortError) as error:
        port_source(f"kafka://{rest}")
    form = "kafka://HOST:PORT (an IPv6 address in brackets)"
    assert str(error.value) == f"'kafka://{rest}' is not of the form {form}"


def test_what_never_answers_cannot_be_tested() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reason = refused(silent.getsockname()[1], windows=Windows(answer_ms=100))
    assert reason == "no answer in time"


def test_what_drips_without_end_cannot_be_tested(broker: Broker) -> None:
    def drip(_: Asked) -> bytes:
        broker.sockets[-1].sendall(b"\0\0\1\0")
        for _ in range(40):
            broker.sockets[-1].sendall(b"\0")
            time.sleep(0.01)
        return b""

    broker.speak = drip
    assert refused(broker.port, windows=Windows(answer_ms=100)) == "no answer in time"


def test_what_does_not_speak_kafka_cannot_be_tested(broker: Broker) -> None:
    broker.speak = lambda _: b"HTTP/1.1 400 Bad Request"
    assert refused(broker.port) == "an answer said to be 1213486160 bytes long"


def test_a_malformed_answer_before_the_test_makes_it_impossible(broker: Broker) -> None:
    broker.speak = lambda _: b"\0\0\0\x05\0\0\0\x01\0"
    assert refused(broker.port).startswith("an answer that cannot be read as ApiVersions version 0")


def test_a_broker_that_refuses_to_tell_its_versions_cannot_be_tested(broker: Broker) -> None:
    broker.versions_error = 35
    assert refused(broker.port) == "it answers ApiVersions with error 35"


def test_a_broker_without_a_common_way_to_find_coordinators_cannot_be_tested(
    broker: Broker,
) -> None:
    broker.versions[10] = (4, 6)
    expected = "it speaks no version of FindCoordinator that groupcheck does"
    assert refused(broker.port) == expected


def test_a_coordinator_that_is_not_there_yet_is_asked_for_again(broker: Broker) -> None:
    broker.find_errors = [15, 14, 15]
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    assert len(heartbeat(port).responses) == 1
    port.shutdown()


def test_a_coordinator_is_not_asked_for_without_end(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "COORDINATOR_WAIT_S", 0.25)
    broker.find_errors = [15] * 100
    assert refused(broker.port) == "it finds no coordinator (COORDINATOR_NOT_AVAILABLE)"


def test_a_group_that_may_not_be_coordinated_is_not_asked_for_again(broker: Broker) -> None:
    broker.find_errors = [30]
    assert refused(broker.port) == "it finds no coordinator (GROUP_AUTHORIZATION_FAILED)"


def test_a_topic_that_is_being_created_is_waited_for(broker: Broker) -> None:
    broker.topic_errors = [5, 5]
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    port.shutdown()
    assert broker.topic_errors == []


def test_a_port_that_is_not_open_takes_no_request() -> None:
    with pytest.raises(ValueError, match="the port is not open"):
        WirePort("127.0.0.1", 1).advance(0, ())


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_hundred_tests_run_side_by_side_and_leave_nothing_behind(broker: Broker) -> None:
    def one_test() -> None:
        port = WirePort("127.0.0.1", broker.port)
        for _ in range(2):
            port.open("2.7", {})
            answered.extend(r for n in range(5) for r in heartbeat(port, n).responses)
        port.shutdown()
        port.shutdown()

    answered: list[Response] = []
    codec.message_class("HeartbeatRequest")
    before = open_files()
    threads = [threading.Thread(target=one_test) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(answered) == 1000
    deadline = time.monotonic() + 10
    while open_files() > before and time.monotonic() < deadline:
        time.sleep(0.01)  # the broker's side of the connections
    assert open_files() <= before
