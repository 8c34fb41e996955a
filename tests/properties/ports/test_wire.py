"""The wire port against scripted brokers; the rest is in `test_contract`."""

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

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, Request, RequestBody, Response
from groupcheck.properties.ports import codec, connection, wire
from groupcheck.properties.ports.port import (
    Observation,
    Port,
    PortFailedError,
    PortUnavailableError,
)
from groupcheck.properties.ports.source import UnknownPortError, port_source
from groupcheck.properties.ports.topics import find_topics
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.tolerances import Tolerances
from support.wire_broker import APIS, Asked, Broker, Broker6, reply, serving

HEARTBEAT = kafka.HeartbeatRequest("group", 1, "member")
JOIN = kafka.JoinGroupRequest("group", 10_000)
JOINED = {"error_code": 0, "generation_id": 1, "protocol_name": "", "leader": "", "members": []}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with serving(Broker()) as started:
        yield started


@pytest.fixture
def port(broker: Broker) -> Iterator[WirePort]:
    opened = WirePort("127.0.0.1", broker.port, tolerances=Tolerances(answer_ms=2_000))
    opened.open("2.7", {})
    yield opened
    opened.shutdown()


def heartbeat(port: Port, request_id: int = 1, version: int = 3) -> Observation:
    return port.request(Request(request_id, version, HEARTBEAT), {request_id})


def failure(port: Port, version: int = 3) -> PortFailedError:
    with pytest.raises(PortFailedError) as failed:
        heartbeat(port, version=version)
    return failed.value


def refused(port: int, **options: Tolerances) -> str:
    """Return why a broker cannot be tested, without its address."""
    unopened = WirePort("127.0.0.1", port, **options)  # type: ignore[arg-type]
    with pytest.raises(PortUnavailableError) as error:
        unopened.open("2.7", {})
    url, reason = str(error.value).split(" cannot be tested: ")
    assert url == f"kafka://127.0.0.1:{port}"
    return reason


def test_request_returns_when_the_expected_response_arrives(port: WirePort) -> None:
    seen = heartbeat(port)
    assert seen.responses == (Response(1, kafka.HeartbeatResponse(ErrorCode.NONE)),)
    assert seen.elapsed_ms < 2_000


def test_missing_response_is_not_a_failure(broker: Broker, port: WirePort) -> None:
    broker.answer = lambda _: b""
    seen = heartbeat(port)
    assert seen.responses == ()
    assert 2_000 <= seen.elapsed_ms < 10_000


def test_request_after_a_waiting_one_uses_another_connection(
    broker: Broker, port: WirePort
) -> None:
    broker.answer = lambda asked: b"" if "Join" in asked.name else reply(asked, error_code=0)
    for request_id in range(1, 4):
        port.request(Request(request_id, 5, JOIN), ())
    for request_id in range(4, 10):
        assert len(heartbeat(port, request_id).responses) == 1
    assert len(port._connections) == 4


def test_requests_of_a_member_go_over_the_connection_on_which_it_joined(
    broker: Broker, port: WirePort
) -> None:
    """While it waits there, over one that is no member's."""
    ids = iter(("a", "b"))

    def answer(asked: Asked) -> bytes:
        if "Join" not in asked.name:
            return reply(asked, error_code=0)
        return reply(asked, **JOINED, member_id=next(ids))

    broker.answer = answer
    senders = ("", "", "b", "a", "b", "nobody")
    for request_id, member_id in enumerate(senders):
        body = HEARTBEAT._replace(member_id=member_id) if member_id else JOIN
        port.request(Request(request_id, 3, body), {request_id})
    broker.answer = lambda _: b""
    port.request(Request(7, 3, JOIN._replace(member_id="a")), ())
    port.request(Request(8, 3, HEARTBEAT._replace(member_id="a")), ())
    of_a, of_b, *others = broker.askers
    assert others[:3] == [of_b, of_a, of_b]
    assert others[4] is of_a
    assert not {of_a, of_b} & {others[3], others[5]}
    assert of_a is not of_b


def test_no_other_request_uses_the_connection_of_a_refused_join_group(
    broker: Broker, port: WirePort
) -> None:
    """Some brokers identify a member by its connection."""

    def answer(asked: Asked) -> bytes:
        if "Join" in asked.name:
            return reply(asked, **{**JOINED, "error_code": 27}, member_id="")
        return reply(asked, error_code=25)

    broker.answer = answer
    unknown, joins = HEARTBEAT._replace(member_id="nobody"), JOIN._replace(member_id="nobody")
    bodies: list[RequestBody] = [unknown, JOIN, unknown, joins, JOIN, unknown]
    for request_id, body in enumerate(bodies):
        port.request(Request(request_id, 3, body), {request_id})
    first, *others = broker.askers
    assert [asker is first for asker in others] == [False, True, False, False, True]
    assert len(set(others)) == 4


def test_many_members_that_do_not_wait_share_eight_connections(
    broker: Broker, port: WirePort
) -> None:
    broker.answer = lambda asked: reply(asked, **JOINED, member_id=f"m{len(broker.asked)}")
    for request_id in range(20):
        port.request(Request(request_id, 3, JOIN), {request_id})
    assert len(port._connections) == 8


def test_advance_sleeps_and_collects_responses(broker: Broker, port: WirePort) -> None:
    def answer(asked: Asked) -> bytes:
        time.sleep(0.1)
        return reply(asked, error_code=0)

    broker.answer = answer
    assert port.request(Request(1, 3, HEARTBEAT), ()).responses == ()
    seen = port.advance(250, {1})
    assert [r.request_id for r in seen.responses] == [1]
    assert seen.elapsed_ms >= 250


class Waiting:
    """A selector of connections with a JoinGroup in flight, which advances a clock to wait."""

    def __init__(self, *answered_s: float) -> None:
        self.now_s = 0.0
        self.connections = [InFlight(number, at_s) for number, at_s in enumerate(answered_s)]

    def select(self, timeout_s: float) -> list[tuple[SelectorKey, int]]:
        until_s = self.now_s + timeout_s
        ready = [c for c in self.connections if c.in_flight and c.at_s <= until_s]
        if not ready:
            self.now_s = until_s
            return []
        first = min(ready, key=lambda connection: connection.at_s)
        self.now_s = max(self.now_s, first.at_s)
        return [(SelectorKey(0, 0, 0, first), 0)]

    def close(self) -> None:
        pass


class InFlight:
    """A connection with one request in flight."""

    def __init__(self, number: int, at_s: float) -> None:
        self.at_s = at_s
        self.in_flight = {1: Request(number, 5, JOIN)}

    def receive(self) -> Iterator[tuple[Request, bytes]]:
        message = codec.to_message(kafka.JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID), 5)
        message.with_header(correlation_id=1)
        yield self.in_flight.pop(1), message.encode(header=True)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("answered_s", "seen", "elapsed_ms"),
    [((0.02, 0.04, 0.08), 3, 90), ((0.02, 0.04, 0.1), 2, 90), ((0.04,), 0, 30)],
)
def test_each_late_response_extends_the_grace_period(
    monkeypatch: pytest.MonkeyPatch, answered_s: tuple[float, ...], seen: int, elapsed_ms: int
) -> None:
    port = WirePort("127.0.0.1", 1, tolerances=Tolerances(grace_ms=30))
    selector: Any = Waiting(*answered_s)
    monkeypatch.setattr(wire, "monotonic", lambda: selector.now_s)
    port._selector, port._connections = selector, selector.connections
    observation = port.advance(0, ())
    assert len(observation.responses) == seen
    assert observation.elapsed_ms in {elapsed_ms - 1, elapsed_ms}


def test_elapsed_milliseconds_add_up_to_the_time_that_passed(port: WirePort) -> None:
    start = time.monotonic()
    reported = sum(heartbeat(port, n).elapsed_ms for n in range(1, 200))
    assert abs(reported - (time.monotonic() - start) * 1000) < 80  # not a millisecond a request


def test_each_test_has_its_own_group(broker: Broker, port: WirePort) -> None:
    heartbeat(port)
    port.open("2.7", {})
    heartbeat(port)
    first, second = (asked.group_id for asked in broker.asked)
    assert first != second
    assert first.endswith("-group")


def test_empty_group_id_stays_empty(broker: Broker, port: WirePort) -> None:
    port.request(Request(1, 3, HEARTBEAT._replace(group_id="")), {1})
    assert broker.asked[0].group_id == ""


def test_described_group_has_the_group_id_and_the_client_host_of_the_test(
    broker: Broker, port: WirePort
) -> None:
    def answer(asked: Asked) -> bytes:
        member = kafka.DescribedGroupMember("member", client_host="/172.17.0.1")
        group = kafka.DescribedGroup(ErrorCode.NONE, asked.groups[0], "Stable", members=(member,))
        message = codec.to_message(kafka.DescribeGroupsResponse((group,)), asked.version)
        return reply(asked, groups=message.groups)

    broker.answer = answer
    seen = port.request(Request(1, 4, kafka.DescribeGroupsRequest(("group",))), {1})
    member = kafka.DescribedGroupMember("member", client_host="/127.0.0.1")
    group = kafka.DescribedGroup(ErrorCode.NONE, "group", "Stable", members=(member,))
    assert seen.responses == (Response(1, kafka.DescribeGroupsResponse((group,))),)


def test_client_id_is_that_of_the_request(broker: Broker, port: WirePort) -> None:
    port.request(Request(1, 3, HEARTBEAT, "consumer-1"), {1})
    assert broker.asked[0].header.client_id == "consumer-1"


def test_request_that_its_version_cannot_express_is_unsupported(port: WirePort) -> None:
    body = kafka.LeaveGroupRequest("group", (MemberIdentity("a"), MemberIdentity("b")))
    seen = port.request(Request(1, 2, body), {1})
    assert seen == Observation(unsupported="LeaveGroup of 2 members at version 2")


def test_port_uses_the_highest_version_that_both_sides_support(
    broker: Broker, port: WirePort
) -> None:
    broker.versions |= {12: (0, 1), 8: (10, 12), 9: (8, 9)}
    del broker.versions[15]
    port.open("2.7", {})
    assert port.max_versions == {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 1, "LeaveGroup": 5}


def test_closed_connection_is_a_crash(broker: Broker, port: WirePort) -> None:
    broker.answer = lambda _: None
    failed = failure(port)
    assert failed.kind == "port crashed"
    assert (
        failed.reason == "the broker closed the connection before it answered Heartbeat version 3"
    )


def test_reset_connection_is_a_crash(broker: Broker, port: WirePort) -> None:
    def answer(_: Asked) -> None:
        linger = b"\1\0\0\0\0\0\0\0"
        broker.sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        broker.sockets[-1].close()

    broker.answer = answer
    failed = failure(port)
    assert failed.kind == "port crashed"
    assert "the broker broke the connection (Connection reset by peer)" in failed.reason


def test_connection_that_breaks_on_write_is_a_crash(port: WirePort) -> None:
    port._connections[0].socket.shutdown(socket.SHUT_WR)
    assert "the broker broke the connection (Broken pipe)" in failure(port).reason


def test_broker_that_refuses_another_connection_is_a_crash(broker: Broker, port: WirePort) -> None:
    broker.answer = lambda _: b""
    port.request(Request(1, 5, JOIN), ())
    broker.shutdown()
    broker.socket.close()
    failed = failure(port)
    assert (failed.kind, failed.reason) == (
        "port crashed",
        "cannot open another connection: Connection refused",
    )


def test_too_many_open_files_is_not_a_failure_of_the_broker(
    broker: Broker, port: WirePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    broker.answer = lambda _: b""
    port.request(Request(1, 5, JOIN), ())
    monkeypatch.setattr(socket, "create_connection", full)
    with pytest.raises(
        PortUnavailableError, match="cannot open another connection: Too many open files"
    ):
        heartbeat(port)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\xff\xff\xff\xff", "a response with a length of -1 bytes"),
        (b"HTTP/1.1 400 Bad Request", "a response with a length of 1213486160 bytes"),
        (b"\0\0\0\x04\0\0\0\x63", "a response with an unknown correlation id, 99"),
        (b"\0\0\0\x04\xff\xff\xff\xff", "a response with an unknown correlation id, -1"),
        (b"\0\0\0\x05\0\0\0\x01\0", "a response that cannot be decoded as Heartbeat version 3: "),
        (
            b"\0\0\0\x0b\0\0\0\x01" + bytes(7),
            "a response of 11 bytes that is not Heartbeat version 3",
        ),
    ],
)
def test_invalid_response_is_a_protocol_error(
    broker: Broker, port: WirePort, sent: bytes, reason: str
) -> None:
    broker.answer = lambda _: sent
    failed = failure(port)
    assert failed.kind == "protocol error"
    assert failed.reason.startswith(reason)


def test_response_may_arrive_in_pieces(broker: Broker, port: WirePort) -> None:
    def answer(asked: Asked) -> bytes:
        *most, last = reply(asked, error_code=27)
        for byte in most:
            broker.sockets[-1].sendall(bytes([byte]))
            time.sleep(0.002)
        return bytes([last])

    broker.answer = answer
    seen = heartbeat(port)
    assert seen.responses[0].body == kafka.HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)


def test_unused_network_port_is_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert refused(free.getsockname()[1]) == "Connection refused"


def test_invalid_host_name_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match=r"^kafka://a\.\.b:1 cannot be tested: \S"):
        WirePort("a..b", 1).open("2.7", {})


def test_unreachable_coordinator_is_named(broker: Broker) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        broker.coordinator = free.getsockname()
        url = f"kafka://127.0.0.1:{broker.coordinator[1]}"
        assert refused(broker.port) == f"its coordinator at {url}: Connection refused"


def test_ipv6_address_is_given_in_brackets() -> None:
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
def test_invalid_address_is_reported_in_one_line(rest: str) -> None:
    with pytest.raises(UnknownPortError) as error:
        port_source(f"kafka://{rest}")
    form = "kafka://HOST:PORT (IPv6 addresses in brackets)"
    assert str(error.value) == f"'kafka://{rest}' does not have the form {form}"


def test_broker_that_never_answers_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reason = refused(silent.getsockname()[1], tolerances=Tolerances(answer_ms=100))
    assert reason == "no response in time"


def test_broker_that_answers_too_slowly_is_unavailable(broker: Broker) -> None:
    def drip(_: Asked) -> bytes:
        broker.sockets[-1].sendall(b"\0\0\1\0")
        for _ in range(40):
            broker.sockets[-1].sendall(b"\0")
            time.sleep(0.01)
        return b""

    broker.speak = drip
    assert refused(broker.port, tolerances=Tolerances(answer_ms=100)) == "no response in time"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"speak": lambda _: b"HTTP/1.1 400 Bad Request"},
            "a response with a length of 1213486160 bytes",
        ),
        (
            {"speak": lambda _: b"\0\0\0\x05\0\0\0\x01\0"},
            "a response that cannot be decoded as ApiVersions version 0: ",
        ),
        (
            {"versions": dict.fromkeys(APIS, (0, 20)) | {10: (4, 6)}},
            "it supports no version of FindCoordinator that groupcheck does",
        ),
        ({"find_errors": [30]}, "it finds no coordinator (GROUP_AUTHORIZATION_FAILED)"),
    ],
)
def test_broker_that_cannot_be_tested_is_unavailable(
    broker: Broker, change: dict[str, Any], reason: str
) -> None:
    vars(broker).update(change)
    assert refused(broker.port).startswith(reason)


def test_coordinator_that_is_not_ready_is_retried(broker: Broker) -> None:
    broker.find_errors = [15, 14, 15]
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    assert len(heartbeat(port).responses) == 1
    port.shutdown()


def test_coordinator_is_not_retried_forever(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "COORDINATOR_WAIT_S", 0.25)
    broker.find_errors = [15] * 100
    assert refused(broker.port) == "it finds no coordinator (COORDINATOR_NOT_AVAILABLE)"


def test_port_waits_until_a_topic_is_created(broker: Broker) -> None:
    broker.topic_errors = [5, 5]
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    port.shutdown()
    assert broker.topic_errors == []


def unsupported_commit(port: WirePort) -> str | None:
    """Return why a commit of the first topic of tests is not sent, if it is not."""
    topics = (kafka.OffsetCommitRequestTopic(TOPIC, (kafka.OffsetCommitRequestPartition(0, 5),)),)
    commit = kafka.OffsetCommitRequest("group", -1, "", topics=topics)
    return port.request(Request(1, 5, commit), {1}).unsupported


def committed(asked: Asked) -> bytes:
    """Answer a commit as the topic that it names."""
    topic = codec.message_class("OffsetCommitResponse").fields["topics"]
    partition = topic.fields["partitions"](partition_index=0, error_code=0)
    return reply(asked, topics=[topic(name=asked.topics[0].name, partitions=[partition])])


def test_missing_topic_is_created(broker: Broker) -> None:
    broker.versions[19] = (0, 7)
    broker.existing_topics = set()
    broker.answer = committed
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    assert broker.existing_topics == {"topic", "other"}
    assert unsupported_commit(port) is None
    port.shutdown()


@pytest.mark.parametrize("creates", [False, True])
def test_commits_to_a_topic_that_cannot_be_created_are_unsupported(
    broker: Broker,
    creates: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    if creates:
        broker.versions[19] = (0, 7)
        broker.create_error = 29
    broker.existing_topics = {"other"}
    port = WirePort("127.0.0.1", broker.port)
    port.open("2.7", {})
    assert unsupported_commit(port) == (
        "OffsetCommit (topic 'topic' is not there and cannot be created; see ?topic=NAME)"
    )
    marker = Request(2, 0, kafka.EndTxnRequest("group", 1, committed=True))
    assert (port.request(marker, {2}).unsupported or "").startswith("EndTxn (topic 'topic' is not")
    assert len(heartbeat(port, 3).responses) == 1
    port.shutdown()
    assert len(broker.asked) == 1


def test_given_topics_replace_those_of_tests(broker: Broker) -> None:
    broker.existing_topics = {"mine", "other"}
    broker.answer = committed
    port = port_source(f"kafka://127.0.0.1:{broker.port}?topic=mine").connect()
    port.open("2.7", {})
    topics = (kafka.OffsetCommitRequestTopic(TOPIC, (kafka.OffsetCommitRequestPartition(0, 5),)),)
    body = kafka.OffsetCommitRequest("group", -1, "", topics=topics)
    (response,) = port.request(Request(1, 5, body), {1}).responses
    assert broker.asked[0].topics[0].name == "mine"
    assert [topic.name for topic in response.body.topics] == [TOPIC]  # type: ignore[union-attr]
    delete = kafka.OffsetDeleteRequest("group", ())
    assert port.request(Request(2, 0, delete), {2}).unsupported == "OffsetDelete (with ?topic=NAME)"
    port.shutdown()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ((), ("topic", "other")),
        (("mine",), ("mine", "other")),
        (("other",), ("other", "topic")),
        (("mine", "ours"), ("mine", "ours")),
    ],
)
def test_each_topic_of_tests_has_a_topic_of_its_own(
    given: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert tuple(find_topics(given, lambda _: True).names.values()) == names


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("topic=", "'' is not a valid name of a topic"),
        ("topic=a/b", "'a/b' is not a valid name of a topic"),
        ("topic=a&topic=a", "tests use at most 2 different topics"),
        ("topic=a&topic=b&topic=c", "tests use at most 2 different topics"),
    ],
)
def test_invalid_topic_is_reported_in_one_line(query: str, reason: str) -> None:
    with pytest.raises(UnknownPortError) as refused:
        port_source(f"kafka://localhost:9092?{query}")
    assert str(refused.value) == f"'kafka://localhost:9092?{query}': {reason}"


def test_port_that_is_not_open_raises() -> None:
    with pytest.raises(ValueError, match="the port is not open"):
        WirePort("127.0.0.1", 1).advance(0, ())


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_hundred_concurrent_tests_close_every_connection(broker: Broker) -> None:
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
