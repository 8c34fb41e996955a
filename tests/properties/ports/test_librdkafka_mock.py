"""The port of librdkafka's mock broker, an independent coordinator."""

from __future__ import annotations

import importlib.util
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupcheck.cli import main
from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.instance import DELAY
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    MemberIdentity,
    Protocol,
    Request,
    RequestBody,
    ResponseBody,
)
from groupcheck.properties.ports import codec, librdkafka
from groupcheck.properties.ports.librdkafka import (
    SETTINGS,
    LibrdkafkaPort,
    MockBroker,
    MockBrokers,
)
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortUnavailableError,
)
from groupcheck.properties.ports.settings import BrokerSettings
from groupcheck.properties.ports.source import UnknownPortError, port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.sequence import parse
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.verify import Verification

JOIN = kafka.JoinGroupRequest("group", 10_000, 10_000, protocols=(Protocol("range", b"topics"),))
HEARTBEAT = kafka.HeartbeatRequest("group", 1, "nobody")


@pytest.fixture(scope="module")
def port() -> Iterator[LibrdkafkaPort]:
    shared = LibrdkafkaPort(MockBroker())
    yield shared
    shared.shutdown()


@pytest.fixture(autouse=True)
def _opened(port: LibrdkafkaPort) -> None:
    port.open("2.7", SETTINGS)


def ask(port: LibrdkafkaPort, request_id: int, version: int, body: RequestBody) -> ResponseBody:
    """The answer to a request that is answered at once."""
    (response,) = port.request(Request(request_id, version, body), {request_id}).responses
    assert response.request_id == request_id
    return response.body


def test_a_member_joins_syncs_heartbeats_commits_and_leaves(port: LibrdkafkaPort) -> None:
    seen = port.request(Request(1, 5, JOIN), {1})
    assert SETTINGS[DELAY] - 50 <= seen.elapsed_ms < SETTINGS[DELAY] + 1_000
    joined = seen.responses[0].body
    assert isinstance(joined, kafka.JoinGroupResponse)
    member, generation = joined.member_id, joined.generation_id
    assert joined == kafka.JoinGroupResponse(
        ErrorCode.NONE,
        generation_id=generation,
        protocol_name="range",
        leader=member,
        member_id=member,
        members=(kafka.JoinGroupResponseMember(member, None, b"topics"),),
    )

    sync = kafka.SyncGroupRequest(
        "group", generation, member, assignments=(Assignment(member, b"all"),)
    )
    assert ask(port, 2, 3, sync) == kafka.SyncGroupResponse(ErrorCode.NONE, assignment=b"all")
    heartbeat = kafka.HeartbeatRequest("group", generation, member)
    assert ask(port, 3, 4, heartbeat) == kafka.HeartbeatResponse(ErrorCode.NONE)

    offset = kafka.OffsetCommitRequestPartition(0, 5, 0, "here")
    topics = (kafka.OffsetCommitRequestTopic("topic", (offset,)),)
    stored = (kafka.OffsetCommitResponsePartition(0, ErrorCode.NONE),)
    commit = kafka.OffsetCommitRequest("group", generation, member, topics=topics)
    assert ask(port, 4, 8, commit) == kafka.OffsetCommitResponse(
        (kafka.OffsetCommitResponseTopic("topic", stored),)
    )
    fetch = kafka.OffsetFetchRequest("group", (kafka.OffsetFetchRequestTopic("topic", (0,)),))
    fetched = ask(port, 5, 6, fetch)
    assert isinstance(fetched, kafka.OffsetFetchResponse)
    assert fetched.topics[0].partitions[0][:4] == (0, 5, 0, "here")

    leave = kafka.LeaveGroupRequest("group", (MemberIdentity(member),))
    assert ask(port, 6, 2, leave) == kafka.LeaveGroupResponse(ErrorCode.NONE)
    assert ask(port, 7, 4, heartbeat) == kafka.HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)


def test_two_members_without_ids_are_answered_together(port: LibrdkafkaPort) -> None:
    # Kafka returns MEMBER_ID_REQUIRED at once, the mock does not.
    assert port.request(Request(1, 4, JOIN), ()).responses == ()
    assert port.request(Request(2, 4, JOIN), ()).responses == ()
    seen = port.advance(0, {1, 2})
    joined = {
        r.request_id: r.body for r in seen.responses if isinstance(r.body, kafka.JoinGroupResponse)
    }
    assert [len(joined[n].members) for n in (1, 2)] == [2, 0]


def test_versions_that_the_mock_only_advertises_are_not_used(port: LibrdkafkaPort) -> None:
    assert port.max_versions == {
        "JoinGroup": 5,
        "SyncGroup": 3,
        "Heartbeat": 4,
        "LeaveGroup": 2,
        "OffsetCommit": 9,
        "OffsetFetch": 6,
        "TxnOffsetCommit": 3,
        "EndTxn": 0,
    }
    assert port.fault(Fault("crash"), ()) == Observation(unsupported="crash")


def test_null_assignment_is_read_as_empty(port: LibrdkafkaPort) -> None:
    answer = ask(port, 1, 3, kafka.SyncGroupRequest("group", 1, "nobody"))
    assert answer == kafka.SyncGroupResponse(ErrorCode.GROUP_ID_NOT_FOUND)


def test_crash_of_the_library_is_a_failure_and_the_next_test_has_a_new_broker() -> None:
    port = LibrdkafkaPort(MockBroker())
    assert port.max_versions is None
    assert port.open("2.7", SETTINGS).name == "librdkafka's mock broker"
    with pytest.raises(PortFailedError) as failed:
        port.request(Request(1, 5, JOIN._replace(protocols=())), {1})
    assert failed.value.kind == "port crashed"
    assert "its process was killed by signal SIG" in failed.value.reason
    port.open("2.7", SETTINGS)
    assert isinstance(ask(port, 1, 3, HEARTBEAT), kafka.HeartbeatResponse)
    port.shutdown()
    port.shutdown()


def test_each_test_has_a_new_cluster_in_the_process_of_the_test_before() -> None:
    brokers = MockBrokers()
    answers, processes = [], []
    try:
        for _ in range(2):
            port = brokers.port(Tolerances())
            port.open("2.7", SETTINGS)
            processes.append(port._broker._program)
            # Each test has a group of its own, except for the empty group id.
            answers.append(ask(port, 1, 1, HEARTBEAT._replace(group_id="")))
            ask(port, 2, 5, JOIN._replace(group_id=""))
            port.shutdown()
            port.shutdown()  # gives the process back once only
        assert brokers._idle.qsize() == 1
    finally:
        brokers.stop()
    assert processes[0] is processes[1]
    assert answers == [kafka.HeartbeatResponse(ErrorCode.GROUP_ID_NOT_FOUND)] * 2


def test_crash_between_two_tests_costs_no_test() -> None:
    port = LibrdkafkaPort(MockBroker())
    port.open("2.7", SETTINGS)
    program = port._broker._program
    assert program is not None
    program._process.kill()
    port.open("2.7", SETTINGS)
    assert ask(port, 1, 1, HEARTBEAT) == kafka.HeartbeatResponse(ErrorCode.GROUP_ID_NOT_FOUND)
    port.shutdown()


def test_cluster_has_the_initial_delay_of_the_test(port: LibrdkafkaPort) -> None:
    port.open("2.7", {DELAY: 1_000})
    assert 950 <= port.request(Request(1, 5, JOIN), {1}).elapsed_ms < 2_000


def test_initial_delay_of_a_verification_can_be_given_and_no_other_setting() -> None:
    assert port_source("librdkafka-mock").broker_settings() == BrokerSettings(SETTINGS)
    source = port_source(f"librdkafka-mock?{DELAY}=1000")
    assert source.broker_settings() == BrokerSettings({**SETTINGS, DELAY: 1_000})
    with pytest.raises(UnknownPortError, match=r"has no setting group\.max\.size"):
        port_source("librdkafka-mock?group.max.size=2")


def test_port_that_is_not_open_raises() -> None:
    with pytest.raises(ValueError, match="the port is not open"):
        LibrdkafkaPort(MockBroker()).advance(0, ())


def test_broker_ends_with_its_parent() -> None:
    parent = """
import time
from groupcheck.properties.ports.librdkafka import MockBroker
broker = MockBroker()
print(*broker.renew(), flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().split()
        process.kill()
    deadline = time.monotonic() + 5
    while listens(host.decode(), int(port)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not listens(host.decode(), int(port))


def listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def test_missing_confluent_kafka_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(PortUnavailableError) as error:
        LibrdkafkaPort(MockBroker()).open("2.7", SETTINGS)
    assert str(error.value) == (
        "librdkafka-mock needs the package confluent-kafka: pip install 'groupcheck[wire]'"
    )


def test_missing_kafka_python_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codec.message_class.cache_clear()
    codec._modules.cache_clear()
    monkeypatch.setitem(sys.modules, "kafka.protocol", None)
    with pytest.raises(PortUnavailableError) as error:
        LibrdkafkaPort(MockBroker()).open("2.7", SETTINGS)
    assert str(error.value).endswith("kafka-python: pip install 'groupcheck[wire]'")


def test_interrupted_start_leaves_no_process() -> None:
    interrupted = threading.Event()
    interrupted.set()
    port = LibrdkafkaPort(MockBroker(interrupted))
    with pytest.raises(PortUnavailableError, match=r"^interrupted$"):
        port.open("2.7", SETTINGS)
    assert port._broker._program is not None
    process = port._broker._program._process
    port.shutdown()
    assert process.poll() == -signal.SIGKILL


def test_broker_that_does_not_start_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit('no room')")
    monkeypatch.setattr(librdkafka, "PROGRAM", program)
    with pytest.raises(PortUnavailableError) as error:
        LibrdkafkaPort(MockBroker()).open("2.7", SETTINGS)
    assert str(error.value) == "librdkafka's mock broker does not start: no room"


@pytest.mark.slow
def test_verification_of_the_mock_has_minimal_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report"
    options = ["--examples", "60", "--time", "60s", "--report", str(report)]
    status = main(["verify", "librdkafka-mock", *options])
    printed = capsys.readouterr().out
    assert status == 1
    assert "MEMBER_ID_REQUIRED" in printed
    traces = sorted(report.glob("*.jsonl"))
    assert len(traces) > 3
    # The mock differs from the first request on: without other deviations no finding needs more
    # than two or three requests.
    sequences = [parse(trace.read_text(), trace.name) for trace in traces]
    alone = [sequence for sequence in sequences if not sequence.deviations]
    assert len(alone) > 3
    assert all(len(sequence.steps) <= 3 for sequence in alone)


def test_run_ends_with_its_findings_when_the_broker_ends() -> None:
    broker = MockBroker()
    host, port = broker.renew()
    done = 0

    def progress(_what: str, total: int | None) -> Callable[[int], None]:
        def tell(count: int) -> None:
            nonlocal done
            done += count
            if total == 5_000 and done > 20:
                broker.stop()

        return tell if total == 5_000 else lambda _count: None

    source = port_source(f"kafka://{host}:{port}")
    result = Verification(source, Settings(examples=5_000), progress).run()
    broker.stop()
    assert result.ended_early.startswith(f"kafka://{host}:{port} cannot be tested: ")
    assert result.findings
    assert not result.conforms
