"""Real brokers: each starts, is verified and ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from groupcheck.model.classic.instances.inputs import PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode, JoinGroupRequest, Request
from groupcheck.properties.brokers import catalogue, definition, isolated
from groupcheck.properties.brokers.definition import SETTINGS, free_port
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.settings import BrokerSettings
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.finding_text import text_of
from support.needs import broker, needs_broker
from support.wire_broker import BUSY

SEQUENCES = 24
# Known bugs of a version that its specification does not have: KAFKA-14422 (docs/brokers.md).
KNOWN = {"kafka:2.7": [ErrorCode.UNSUPPORTED_VERSION]}
# Listens on all interfaces, at two ports; answers one connection at the second with what it reads.
ECHO = """
import socket, sys
listening = [socket.create_server(("", int(port))) for port in sys.argv[1:]]
print("ready", flush=True)
connection, _ = listening[1].accept()
connection.sendall(connection.recv(100))
listening[0].accept()
"""
# A conforming broker that fails at a JoinGroup without protocols; its argument is the tests'
# folder.
FAILING = """
import os, sys
from threading import Lock
sys.path.insert(0, sys.argv[1])
from groupcheck.implementation.core.config import Config
from support.wire_broker import CoordinatorBroker

def fails(asked):
    with whole:
        if asked.name == "JoinGroupRequest" and not asked.protocols:
            os._exit(1)
    return respond(asked)

broker, whole = CoordinatorBroker(Config(group_initial_rebalance_delay_ms=0)), Lock()
respond, broker.speak = broker.speak, fails
print("listening on 127.0.0.1:%d" % broker.port, flush=True)
broker.serve_forever(0.01)
"""
KAFKAS = ("kafka:4.1", "kafka:3.9", "kafka:2.7", "kafka:2.4", "kafka:0.10.2", "serve", "serve:4.1")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no temporary folder is left."""
    folder = tmp_path / "folders"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    assert list(folder.iterdir()) == []


def _address(port: Any) -> tuple[str, int]:
    """Return the address of a port's broker."""
    host, number = port._bootstrap
    return host, number


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, 5).close()
    except ConnectionRefusedError:
        return False
    return True


@contextmanager
def _started(spec: str, tolerances: Tolerances = BUSY) -> Iterator[PortSource]:
    """Start a named broker; soon after it stops, nothing listens on its network port."""
    source = port_source(spec, tolerances=tolerances)
    try:
        (address,) = {_address(source.connect()) for _ in range(2)}
        yield source
    finally:
        source.stop()
    deadline_s = time.monotonic() + 5
    while _listens(address) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not _listens(address)


def _verified(source: PortSource) -> Result:
    settings = Settings(source.profile or "", examples=SEQUENCES, steps=30)
    result = Verification(source, settings).run()
    assert (result.sequences % SEQUENCES, result.ended_early) == (0, "")
    assert result.sequences == SEQUENCES or result.findings  # toured again with deviations
    return result


def _in_time(source: PortSource, time_s: int) -> Settings:
    profile = source.profile or ""
    return Settings(profile, members=1, examples=SEQUENCES, steps=30, time_s=time_s)


def _older_leader(source: PortSource) -> Sequence:
    """A static leader joins again with a version without static members."""
    join = JoinGroupRequest("group", 60_000, 60_000, "", None, "consumer", PROTOCOLS)
    steps = (
        Request(1, 5, join._replace(group_instance_id="instance")),
        Request(2, 4, join._replace(member_id="#1")),
    )
    return Sequence(source.profile or "", source.broker_settings().values, steps)


def _errors(finding: Finding | None) -> list[ErrorCode]:
    """Return the errors in the responses to a finding's last step."""
    responses: Any = finding.exchanges[-1].seen.responses if finding else ()
    return [response.body.error_code for response in responses]


@pytest.mark.parametrize("spec", [broker(name) for name in KAFKAS])
def test_kafka_conforms_to_its_own_version(spec: str) -> None:
    with _started(spec) as source:
        assert source.broker_settings() == BrokerSettings(SETTINGS)
        result = _verified(source)
        port = source.connect()
        older = replay(_older_leader(source), port)
        port.shutdown()
    assert result.findings == []
    assert result.conforms
    assert _errors(older) == KNOWN.get(spec, [])


@needs_broker("kafka:4.1")
@needs_broker("kfake")
def test_kafka_has_none_of_the_findings_of_kfake() -> None:
    with _started("kfake") as source:
        result = Verification(source, _in_time(source, 60)).run()
    assert result.ended_early == ""
    assert result.assumed_defaults == ["offset.metadata.max.bytes=4096"]
    assert result.findings
    with _started("kafka:4.1") as source:
        for finding in result.findings:
            port = source.connect()
            shared = replay(finding.sequence._replace(deviations=()), port)
            assert shared is None, text_of(shared)
            port.shutdown()


@pytest.mark.parametrize(
    ("spec", "unsupported", "assumed"),
    [
        pytest.param("tansu", [], 2, marks=needs_broker("tansu")),
        pytest.param("mokapi", ["DescribeGroups", "LeaveGroup"], 3, marks=needs_broker("mokapi")),
    ],
)
def test_broker_with_many_differences_is_verified_in_its_time(
    spec: str, unsupported: list[str], assumed: int
) -> None:
    with _started(spec, Tolerances(answer_ms=1_000)) as source:
        result = Verification(source, _in_time(source, 60)).run()
    assert result.ended_early == ""
    assert len(result.findings) > 5
    assert sorted(result.unsupported) == unsupported
    assert len(result.assumed_defaults) == assumed


@needs_broker("serve")
@pytest.mark.parametrize("harm", [signal.SIGKILL, signal.SIGSTOP])
def test_broker_that_ends_or_hangs_is_started_again(
    harm: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(definition, "ANSWER_S", 3.0)
    shared = catalogue.Broker(catalogue.definitions()["serve"], SETTINGS, Event())
    first = shared.address()
    tolerances = Tolerances(answer_ms=3_000)
    ports = [
        WirePort(*first, tolerances=tolerances, replaced=shared.replaced, interrupted=Event())
        for _ in range(2)
    ]
    try:
        ports[0].open("2.7", SETTINGS)
        running: Any = shared._running
        os.kill(running.programs.pids["serve"], harm)
        for port in ports:
            port.open("2.7", SETTINGS)
            port.shutdown()
        second = shared.address()
        assert second != first
        assert shared.replaced(first) == shared.replaced(second) == second
    finally:
        shared.stop()


@pytest.mark.slow
def test_broker_that_one_request_ends_is_verified_on_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAILING)
    starts = []

    def launch(programs: Supervised, _settings: object, interrupted: Event) -> tuple[str, int]:
        starts.append(programs)
        programs.start("failing", [sys.executable, str(program), str(Path(__file__).parents[2])])
        return definition.wait_for_address(programs, "failing", "listening on", interrupted)

    failing = catalogue.definitions()["serve"]._replace(launch=launch)
    monkeypatch.setitem(catalogue.definitions(), "failing", failing)
    # It ends, and does not hang: only a busy machine needs the time for an answer.
    with _started("failing", Tolerances(answer_ms=20_000, late_ms=5_000)) as source:
        result = Verification(source, Settings("2.7", members=1, examples=100)).run()
    assert result.ended_early == ""
    assert 1 <= len(result.findings) <= 2
    for finding in result.findings:
        request: Any = finding.sequence.steps[-1]
        assert (request.api, request.body.protocols) == ("JoinGroup", ())
    assert result.covered_transitions > 0.9 * result.transitions
    assert len(starts) > 2


@needs_broker("mokapi")
def test_isolated_program_is_reached_at_one_port_only(tmp_path: Path) -> None:
    port, other = free_port(), free_port()
    program = tmp_path / "program.py"
    program.write_text(ECHO)
    command = [sys.executable, isolated.__file__, str(port), sys.executable, str(program)]
    with subprocess.Popen([*command, str(other), str(port)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            with socket.create_connection(("127.0.0.1", port), 30) as client:
                client.sendall(b"hello")
                assert client.recv(100) == b"hello"
            assert not _listens(("127.0.0.1", other))
        finally:
            process.kill()
    deadline_s = time.monotonic() + 5
    while _listens(("127.0.0.1", port)) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not _listens(("127.0.0.1", port))


@pytest.mark.parametrize("spec", [broker("serve"), broker("serve:4.1")])
def test_broker_starts_with_the_given_settings(spec: str) -> None:
    given = {"group.initial.rebalance.delay.ms": 50, "group.min.session.timeout.ms": 300}
    query = "&".join(f"{name}={value}" for name, value in given.items())
    with _started(f"{spec}?{query}") as source:
        assert source.broker_settings() == BrokerSettings({**SETTINGS, **given})
