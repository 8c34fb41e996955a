"""A cluster that cannot run or does not start: one line, in bounded time, and nothing is left."""

from __future__ import annotations

import re
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.definition import free_port
from groupcheck.properties.cluster.real import processes, quorum
from groupcheck.properties.cluster.real.processes import release_of, started
from groupcheck.properties.ports.port import PortUnavailableError
from support.needs import needs_broker

NAME, OLDER, QUORUM = "kafka-cluster:2.7", "kafka-cluster:2.4", "kafka-cluster:4.1"
TITLE = "a cluster of 3 brokers of Apache Kafka 2.7.2"
BOUND_S = 60


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary folders of clusters are in a folder of the test, which is empty after it."""
    folder = tmp_path / "folders"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    deadline = time.monotonic() + BOUND_S
    while list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(folder.iterdir()) == []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces Java by a script, in which `$JAVA` is the real one."""
    real = shutil.which("java") or "java"

    def put(script: str) -> None:
        path = tmp_path / "bin" / "java"
        path.parent.mkdir()
        version = 'openjdk version \\"17\\"'
        asked = f'[ "$1" = -version ] && echo "{version}" >&2 && exit'
        path.write_text(f"#!/bin/sh\n{asked}\nJAVA={real}\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    return put


@pytest.fixture
def no_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache in which the folder of the jars is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "groupcheck" / java._name("2.7.2")).mkdir(parents=True)


def _refusal(name: str = NAME) -> str:
    since = time.monotonic()
    with pytest.raises(PortUnavailableError) as refused:
        started(release_of(name), Event(), lambda _: None)
    assert time.monotonic() - since < BOUND_S
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_an_unknown_cluster_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PortUnavailableError) as refused:
        release_of("kafka-cluster:1.0")
    known = f"{NAME}, {OLDER}, {QUORUM}, kafka-cluster:4.4"
    assert str(refused.value) == f"unknown cluster 'kafka-cluster:1.0'; known: {known}"


def test_without_java_it_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert _refusal() == f"{TITLE} cannot run here: java is not on this machine"


@pytest.mark.usefixtures("no_jars")
def test_without_kazoo_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_package(*modules: str, extra: str) -> str | None:
        return f"no module kazoo, of {extra}" if "kazoo" in modules else None

    monkeypatch.setattr(processes, "no_package", no_package)
    assert _refusal() == f"{TITLE} cannot run here: no module kazoo, of cluster"


@pytest.mark.usefixtures("no_jars")
def test_with_too_little_memory_it_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: Callable[[str], None]
) -> None:
    machine("exit 1")
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal:  9000000 kB\nMemAvailable:   307200 kB\n")
    monkeypatch.setattr(processes, "MEMORY", memory)
    assert _refusal() == (
        f"{TITLE} cannot run here: it needs 1,200 MB of memory, and 300 MB are free"
    )


@pytest.mark.usefixtures("no_jars")
def test_a_zookeeper_that_ends_is_reported_with_the_line_that_says_why(
    machine: Callable[[str], None],
) -> None:
    machine("echo warm; echo 'Error: no heap'; echo cold; exit 3")
    assert _refusal() == f"{TITLE} does not start: zookeeper ended (status 3): Error: no heap"


@pytest.mark.usefixtures("no_jars")
def test_a_zookeeper_that_never_listens_is_given_up(
    machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("exec sleep 100")
    monkeypatch.setattr(processes, "START_S", 1.0)
    assert _refusal() == f"{TITLE} does not start: zookeeper is not ready after 1 s"


@needs_broker("kafka:2.7")
def test_a_broker_that_ends_is_reported_with_the_line_that_says_why(
    machine: Callable[[str], None],
) -> None:
    machine('case "$*" in *kafka.Kafka*) echo "ERROR: bad weather"; exit 4;; esac; exec $JAVA "$@"')
    assert _refusal() == f"{TITLE} does not start: broker-1-1 ended (status 4): ERROR: bad weather"


@needs_broker("kafka:2.7")
def test_a_broker_that_never_registers_is_given_up(
    machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine('case "$*" in *kafka.Kafka*) exec sleep 100;; esac; exec $JAVA "$@"')
    monkeypatch.setattr(processes, "START_S", 5.0)
    assert _refusal() == f"{TITLE} does not start: broker-1-1 is not ready after 5 s"


@needs_broker("kafka:2.7")
def test_too_little_memory_for_a_broker_is_reported(machine: Callable[[str], None]) -> None:
    limited = 'ulimit -v 400000; exec $JAVA "$@"'
    machine(f'case "$*" in *kafka.Kafka*) {limited};; esac; exec $JAVA "$@"')
    assert re.search("Could not reserve enough space|memory", _refusal())


@needs_broker("kafka:2.7")
def test_a_port_that_was_taken_meanwhile_is_replaced_by_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([free_port(), taken.getsockname()[1]])
        monkeypatch.setattr(processes, "stable_ports", lambda _: [next(ports, None) or free_port()])
        cluster = started(release_of(NAME), Event(), lambda _: None)
        try:
            assert sorted(cluster.zookeeper.read(()).registered) == [1, 2, 3]
        finally:
            cluster.stop()


@needs_broker("kafka:2.7")
def test_a_port_that_is_always_taken_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(processes, "stable_ports", lambda _: [taken.getsockname()[1]])
        assert "Address already in use" in _refusal()


OF_QUORUM = "a cluster of 3 brokers of Apache Kafka 4.1.2"
FORMATTED = 'case "$*" in *StorageTool*) exit 0;; esac'


@pytest.fixture
def no_jars_of_quorum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache in which the folder of the jars of 4.1 is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "groupcheck" / java._name("4.1.2")).mkdir(parents=True)


@pytest.mark.usefixtures("no_jars_of_quorum")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'ERROR: a full disk'; exit 3", "its folder is not formatted (status 3): ERROR: "),
        (f"{FORMATTED}; echo 'ERROR: bad weather'; exit 4", "broker-1-1 ended (status 4): ERROR: "),
        (f"{FORMATTED}; exec sleep 100", "broker-1-1 is not ready after 1 s"),
        ("exec sleep 100", "its folder is not formatted (status none after 1 s)"),
    ],
)
def test_a_node_of_a_quorum_that_does_not_start_is_one_line(
    machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    machine(script)
    monkeypatch.setattr(processes, "START_S", 1.0)
    assert _refusal(QUORUM).startswith(f"{OF_QUORUM} does not start: {why}")


@pytest.mark.usefixtures("no_jars_of_quorum")
def test_a_quorum_needs_no_kazoo_and_less_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: Callable[[str], None]
) -> None:
    machine("exit 1")
    memory = tmp_path / "meminfo"
    memory.write_text("MemAvailable:   921600 kB\n")
    monkeypatch.setattr(processes, "MEMORY", memory)
    monkeypatch.setattr(
        processes, "no_package", lambda *modules, extra: extra if "kazoo" in modules else None
    )
    assert _refusal(QUORUM) == (
        f"{OF_QUORUM} cannot run here: it needs 1,000 MB of memory, and 900 MB are free"
    )


@needs_broker("kafka:4.1")
def test_a_port_of_a_controller_that_was_taken_meanwhile_is_replaced_by_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = [taken.getsockname()[1], *quorum.stable_ports(2)]
        ports = iter([first])
        real = quorum.stable_ports
        monkeypatch.setattr(quorum, "stable_ports", lambda count: next(ports, None) or real(count))
        cluster = started(release_of(QUORUM), Event(), lambda _: None)
        try:
            assert sorted(cluster.nodes.read(()).registered) == [1, 2, 3]
        finally:
            cluster.stop()
