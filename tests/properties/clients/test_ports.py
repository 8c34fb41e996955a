"""Real clients as ports: led through a short sequence, side by side, and when they fail."""

from __future__ import annotations

import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from groupcheck.model.client import (
    ASSIGNED,
    AUTO_COMMIT_INTERVAL,
    CLOSE,
    COMMIT,
    COMMIT_SYNC,
    COMMITTED,
    DISCONNECT,
    HEARTBEAT_INTERVAL,
    NONE,
    OTHER,
    POLL,
    POLL_INTERVAL,
    RAISED,
    REVOKED,
    SESSION_TIMEOUT,
    SUBSCRIBE,
    UNSUBSCRIBE,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.member.specification import GIVEN, Consumer, instances
from groupcheck.model.member.state import Settings
from groupcheck.properties.clients.port import (
    ClientFailedError,
    ClientPort,
    ClientUnderTest,
    UnsupportedSettingsError,
)
from groupcheck.properties.clients.process import ProcessPort
from groupcheck.properties.clients.settings import KAFKA_PYTHON
from groupcheck.properties.clients.source import client_source
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import UnknownPortError
from support.needs import needs_client

PATIENCE_S = 20.0
PYTHON = ("kafka-python", "aiokafka", "librdkafka")
JAVA = ("3.9",)  # test_real_clients.py has the others
MANY = 16
HERE = Path("/proc/self")


def open_sockets() -> set[str]:
    """The sockets of this process, by inode."""
    found = set()
    for each in (HERE / "fd").iterdir():
        try:
            found.add(str(each.readlink()))
        except FileNotFoundError:
            continue
    return {target for target in found if target.startswith("socket:")}


@contextmanager
def opened(port: ClientPort) -> Iterator[ClientPort]:
    """An open port, which leaves nothing behind when it is shut down."""
    sockets, threads = open_sockets(), threading.active_count()
    try:
        port.open()
        yield port
    finally:
        port.shutdown()
    assert open_sockets() <= sockets
    assert threading.active_count() == threads


@pytest.fixture(scope="module")
def port_of() -> Iterator[Callable[[str], ClientPort]]:
    """Open ports by name, each of which is started once."""
    ports: dict[str, ClientPort] = {}

    def port_of(name: str) -> ClientPort:
        if name not in ports:
            ports[name] = client_source(name).make(lambda _: None)
            ports[name].open()
        return ports[name]

    yield port_of
    for port in ports.values():
        port.shutdown()


def answered(api: str, error: str = NONE, **fields: object) -> ClientInput:
    return ClientInput(api, error, **fields)  # type: ignore[arg-type]


def sent(api: str, *args: object, **fields: object) -> ClientEvent:
    return ClientEvent(api, *args, **fields)  # type: ignore[arg-type]


def called(name: str, *partitions: int) -> ClientEvent:
    return ClientEvent(name, partitions=partitions)


# What every client does alike.
JOINING: Sequence[tuple[ClientInput, tuple[ClientEvent, ...]]] = (
    (ClientInput(SUBSCRIBE), (sent("FindCoordinator"),)),
    (answered("FindCoordinator"), (sent("JoinGroup"),)),
    (
        answered("JoinGroup", "MEMBER_ID_REQUIRED", member_id=GIVEN),
        (sent("JoinGroup", GIVEN),),
    ),
    (
        answered("JoinGroup", member_id=GIVEN, generation=1, leader=True),
        (sent("SyncGroup", GIVEN, 1, leader=True),),
    ),
    (answered("SyncGroup", partitions=(0, 1)), (called(ASSIGNED, 0, 1),)),
)
REJOINING: Sequence[tuple[ClientInput, tuple[ClientEvent, ...]]] = (
    (ClientInput(HEARTBEAT_INTERVAL), (sent("Heartbeat", GIVEN, 1),)),
    (answered("Heartbeat"), ()),
    (ClientInput(COMMIT), (sent("OffsetCommit", GIVEN, 1),)),
    (answered("OffsetCommit"), (sent(COMMITTED),)),
    (ClientInput(COMMIT_SYNC), (sent("OffsetCommit", GIVEN, 1),)),
    (answered("OffsetCommit"), (sent(COMMITTED),)),
    (ClientInput(HEARTBEAT_INTERVAL), (sent("Heartbeat", GIVEN, 1),)),
    (
        answered("Heartbeat", "REBALANCE_IN_PROGRESS"),
        (called(REVOKED, 0, 1), sent("JoinGroup", GIVEN)),
    ),
    (
        answered("JoinGroup", member_id=GIVEN, generation=2),
        (sent("SyncGroup", GIVEN, 2),),
    ),
    (answered("SyncGroup", partitions=(1,)), (called(ASSIGNED, 1),)),
)
COMMITTING: Sequence[tuple[ClientInput, tuple[ClientEvent, ...]]] = (
    (ClientInput(AUTO_COMMIT_INTERVAL), (sent("OffsetCommit", GIVEN, 1),)),
    (answered("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"), (sent("OffsetCommit", GIVEN, 1),)),
    (answered("OffsetCommit"), ()),
)
# librdkafka commits what the application has consumed, which is nothing.
LED = [
    *((name, Settings(), REJOINING) for name in PYTHON),
    *((name, Settings(auto_commit=True), COMMITTING) for name in ("kafka-python", "aiokafka")),
]


def lead(
    consumer: ClientUnderTest, steps: Sequence[tuple[ClientInput, tuple[ClientEvent, ...]]]
) -> None:
    for given, expected in steps:
        assert consumer.do(given, expected, patience_s=PATIENCE_S) == expected, str(given)


def lead_as_specified(port: ClientPort, instance: Consumer, inputs: Sequence[ClientInput]) -> None:
    consumer = port.start(instance.settings)
    state = instance.initial
    try:
        for given in inputs:
            assert given in instance.inputs(state), str(given)
            (outcome,) = instance.successors(state, given)
            lead(consumer, [(given, outcome.responses[0])])
            state = outcome.state
    finally:
        consumer.end()


@pytest.mark.parametrize(("name", "settings", "steps"), LED)
def test_a_consumer_joins_commits_and_joins_again_as_the_broker_tells_it(
    port_of: Callable[[str], ClientPort],
    name: str,
    settings: Settings,
    steps: Sequence[tuple[ClientInput, tuple[ClientEvent, ...]]],
) -> None:
    for tries_left in reversed(range(3)):
        consumer = port_of(name).start(settings)
        try:
            lead(consumer, [*JOINING, *steps])
        except AssertionError:
            # kafka-python joins again if a join ends between two polls.
            if name != "kafka-python" or not tries_left:
                raise
        else:
            break
        finally:
            consumer.end()


@pytest.mark.parametrize("name", PYTHON)
def test_a_static_consumer_does_not_leave_its_group(
    port_of: Callable[[str], ClientPort], name: str
) -> None:
    consumer = port_of(name).start(Settings(static=True))
    try:
        lead(consumer, JOINING)
        seen = consumer.do(ClientInput(CLOSE), (), patience_s=PATIENCE_S)
        assert "LeaveGroup" not in {event.name for event in seen}
    finally:
        consumer.end()


@pytest.mark.parametrize("name", ["kafka-python", "librdkafka"])
def test_a_cooperative_consumer_owns_its_partitions_when_it_joins_again(
    port_of: Callable[[str], ClientPort], name: str
) -> None:
    consumer = port_of(name).start(Settings(cooperative=True))
    try:
        lead(
            consumer, [*JOINING, (ClientInput(HEARTBEAT_INTERVAL), (sent("Heartbeat", GIVEN, 1),))]
        )
        expected = (sent("JoinGroup", GIVEN, partitions=(0, 1)),)
        lead(consumer, [(answered("Heartbeat", "REBALANCE_IN_PROGRESS"), expected)])
    finally:
        consumer.end()


def test_aiokafka_has_no_cooperative_assignor(port_of: Callable[[str], ClientPort]) -> None:
    with pytest.raises(UnsupportedSettingsError, match="no cooperative assignor"):
        port_of("aiokafka").start(Settings(cooperative=True))


@pytest.mark.parametrize("name", PYTHON)
def test_many_consumers_are_led_side_by_side_and_nothing_is_left(name: str) -> None:
    def run(port: ClientPort) -> None:
        consumer = port.start(Settings())
        lead(consumer, JOINING[:4])
        consumer.end()

    with opened(client_source(name).make(lambda _: None)) as port:
        with ThreadPoolExecutor(MANY) as pool:
            for led in [pool.submit(run, port) for _ in range(MANY)]:
                led.result()
        port.start(Settings())  # which its owner does not end


def test_an_event_that_is_not_expected_is_returned_without_a_long_wait(
    port_of: Callable[[str], ClientPort],
) -> None:
    consumer = port_of("librdkafka").start(Settings())
    try:
        started = time.monotonic()
        seen = consumer.do(ClientInput(SUBSCRIBE), (), patience_s=PATIENCE_S)
        assert seen == (sent("FindCoordinator"),)
        given = answered("FindCoordinator", "GROUP_AUTHORIZATION_FAILED")
        expected = (sent(RAISED, error=OTHER),)
        assert consumer.do(given, expected, patience_s=PATIENCE_S)[:1] == expected
        assert time.monotonic() - started < PATIENCE_S / 2
    finally:
        consumer.end()


# Programs that fail. `connect` returns the connection of the first consumer's application.
CONNECT = """
import json, os, socket, sys, threading, time
print("1.0", flush=True)
line = json.loads(sys.stdin.readline())
application = socket.create_connection(("127.0.0.1", line["control"]))
broker = ("127.0.0.1", int(line["settings"]["bootstrap.servers"].split(":")[1]))
"""
STARTED = CONNECT + 'application.sendall(b"started\\n")\n'


def failing(program: str) -> ProcessPort:
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return ProcessPort("failing", lambda: command, KAFKA_PYTHON)


def failure(program: str, given: ClientInput | None = None) -> str:
    """The error of a program at the start of its consumer, or at an input."""
    port = failing(program)

    def do() -> None:
        consumer = port.start(Settings())
        if given is not None:
            started.append(consumer)
            consumer.do(given, (sent("LeaveGroup"),), patience_s=PATIENCE_S)

    started: list[ClientUnderTest] = []
    try:
        with pytest.raises(ClientFailedError) as raised:
            do()
        assert bool(started) == (given is not None)
        assert "\n" not in str(raised.value)
        return str(raised.value)
    finally:
        port.shutdown()


def test_a_program_that_exits_is_a_failure_with_the_end_of_its_log() -> None:
    exits = 'sys.stderr.write("no memory\\n"); os._exit(3)'
    assert failure(CONNECT + exits) == "its process exited with status 3: no memory"
    waits = f"application.recv(100); {exits}"
    assert failure(STARTED + waits, ClientInput(SUBSCRIBE)).endswith("status 3: no memory")


def test_a_program_that_does_not_start_is_unavailable() -> None:
    with pytest.raises(PortUnavailableError, match="failing does not start: its process exited"):
        failing("raise SystemExit(1)").open()
    missing = ProcessPort("failing", lambda: ["/no/such/program"], KAFKA_PYTHON)
    with pytest.raises(PortUnavailableError, match="No such file"):
        missing.open()


def test_a_consumer_that_cannot_be_made_is_a_failure_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("groupcheck.properties.clients.consumer.END_S", 0.1)
    fails = 'application.sendall(b"failed no such setting\\n"); time.sleep(60)'
    assert failure(CONNECT + fails) == "no such setting"


def test_an_application_that_hangs_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupcheck.properties.clients.consumer.HANG_S", 0.3)
    monkeypatch.setattr("groupcheck.properties.clients.consumer.END_S", 0.1)
    found = failure(STARTED + "time.sleep(60)", ClientInput(SUBSCRIBE))
    assert found == "it hangs: within 0.3 s it did not do this: the application subscribes"


FLOOD = """
application.recv(100)
def flood():
    request = bytes.fromhex("000300000000000100000000000000")[:14]
    frame = len(request).to_bytes(4, "big") + request
    opened = socket.create_connection(broker)
    opened.settimeout(60)
    threading.Thread(target=lambda: [None for _ in iter(lambda: opened.recv(65536), b"")]).start()
    while True:
        opened.sendall(frame * 100)
threading.Thread(target=flood, daemon=True).start()
application.sendall(b"taken\\n")
time.sleep(60)
"""
NO_REQUEST = """
application.recv(100)
opened = socket.create_connection(broker)
opened.sendall(bytes.fromhex("00000009000b0007000000010b"))
opened.sendall((1 << 30).to_bytes(4, "big"))
time.sleep(60)
"""


def test_a_client_that_floods_its_broker_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupcheck.properties.clients.consumer.MAX_REQUESTS", 300)
    monkeypatch.setattr("groupcheck.properties.clients.consumer.END_S", 0.1)
    found = failure(STARTED + FLOOD, ClientInput(SUBSCRIBE))
    assert found == "it sent more than 300 requests in one step"


REPORTS = """
application.recv(100)
def read():
    while application.recv(65536):
        pass
threading.Thread(target=read, daemon=True).start()
application.sendall(b"taken\\n")
while True:
    application.sendall(b"%s\\n" * 100)
"""


@pytest.mark.parametrize("line", ["assigned 0", "taken"])
def test_an_application_that_reports_without_end_is_a_failure(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupcheck.properties.clients.consumer.MAX_LINES", 300)
    monkeypatch.setattr("groupcheck.properties.clients.consumer.END_S", 0.1)
    found = failure(STARTED + REPORTS % line, ClientInput(SUBSCRIBE))
    assert found == "it reported more than 300 events in one step"


def test_a_line_without_the_partitions_that_it_has_to_name_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("groupcheck.properties.clients.consumer.END_S", 0.1)
    reports = 'application.recv(100); application.sendall(b"assigned x\\n"); time.sleep(60)'
    found = failure(STARTED + reports, ClientInput(SUBSCRIBE))
    assert found == "a line without partitions: b'x'"


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("os.kill(os.getpid(), 9)", "its process was killed by signal SIGKILL"),
        ("while True: print('x' * 100)", "a line after its version: b'xxx"),
    ],
)
def test_a_program_that_is_killed_or_floods_its_output_is_a_failure(
    does: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupcheck.properties.clients.consumer.END_S", 0.1)
    found = failure(f"{STARTED}application.recv(100)\n{does}", ClientInput(SUBSCRIBE))
    assert found.startswith(reason)


@pytest.mark.slow
def test_bytes_that_are_no_request_are_a_failure() -> None:
    found = failure(STARTED + NO_REQUEST, ClientInput(SUBSCRIBE))
    assert found.startswith("a request that cannot be decoded as JoinGroup version 7")


def test_a_port_starts_its_program_again_after_a_failure(tmp_path: Path) -> None:
    """The first process exits, the second is that of kafka-python."""
    exits = [sys.executable, "-c", "print('1.0', flush=True); input(); raise SystemExit(1)"]
    port = client_source("kafka-python").make(lambda _: None)
    assert isinstance(port, ProcessPort)
    works = port._command()
    commands = iter([exits])
    port._command = lambda: next(commands, works)
    try:
        with pytest.raises(ClientFailedError, match="exited with status 1"):
            port.start(Settings())
        port.start(Settings()).end()
    finally:
        port.shutdown()
    assert list(tmp_path.iterdir()) == []


def test_only_known_clients_have_a_source() -> None:
    for name in (*PYTHON, *(f"kafka-clients:{version}" for version in JAVA)):
        assert client_source(name).spec == name
    for name in ("kafka", "kafka-clients:1.0", "python:a.b:c"):
        with pytest.raises(UnknownPortError, match="it is one of"):
            client_source(name)


# Everything that the specification has once, also what takes long.
ONCE = (
    ClientInput(SUBSCRIBE),
    answered("FindCoordinator", "GROUP_AUTHORIZATION_FAILED"),
    answered("FindCoordinator"),
    answered("JoinGroup", "MEMBER_ID_REQUIRED", member_id=GIVEN),
    answered("JoinGroup", member_id=GIVEN, generation=1, leader=True),
    answered("SyncGroup", partitions=(0, 1)),
    ClientInput(HEARTBEAT_INTERVAL),
    answered("Heartbeat"),
    ClientInput(COMMIT),
    answered("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ClientInput(COMMIT_SYNC),
    answered("OffsetCommit", "REQUEST_TIMED_OUT"),
    answered("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    answered("FindCoordinator"),
    answered("OffsetCommit"),
    ClientInput(HEARTBEAT_INTERVAL),
    ClientInput(DISCONNECT),
    answered("FindCoordinator"),
    ClientInput(HEARTBEAT_INTERVAL),
    ClientInput(SESSION_TIMEOUT),
    answered("FindCoordinator"),
    ClientInput(POLL_INTERVAL),
    ClientInput(POLL),
    answered("JoinGroup", member_id=GIVEN, generation=2),
    answered("SyncGroup", "UNKNOWN_MEMBER_ID"),
    answered("JoinGroup", member_id=GIVEN, generation=3),
    answered("SyncGroup", partitions=(0, 1)),
    ClientInput(UNSUBSCRIBE),
    ClientInput(SUBSCRIBE),
    answered("JoinGroup", "GROUP_MAX_SIZE_REACHED"),
    ClientInput(DISCONNECT),
    ClientInput(CLOSE),
)


RUNNABLE = [pytest.param(each, marks=needs_client(f"kafka-clients:{each}")) for each in JAVA]


@pytest.mark.parametrize("version", RUNNABLE)
@pytest.mark.parametrize("name", instances("4.1"))
def test_kafkas_consumer_does_what_its_specification_says(
    port_of: Callable[[str], ClientPort], version: str, name: str
) -> None:
    source = client_source(f"kafka-clients:{version}")
    instance = replace(instances(source.version)[name], generations=3)
    lead_as_specified(port_of(source.spec), instance, ONCE)
