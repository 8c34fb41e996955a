"""The processes of a real cluster: ZooKeeper and three brokers, in a temporary folder.

The supervisor of `properties/brokers` runs them: they end with this process, and the folder is
removed then. A broker that is started again listens on another network port, so that no other
process can have taken it meanwhile.
"""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.apache import (
    RELEASES,
    ZOOKEEPER,
    Release,
    command,
    properties,
)
from groupcheck.properties.brokers.catalogue import WIRE
from groupcheck.properties.brokers.definition import (
    RETRY_S,
    TRIES,
    Address,
    NotStartedError,
    Report,
    answers,
    free_port,
    no_package,
)
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.cluster.real.views import BROKERS, IDS
from groupcheck.properties.cluster.real.zookeeper import ZooKeeper, is_ready
from groupcheck.properties.ports.connection import raise_if_interrupted
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

START_S: Final = 60.0  # of one process
MEMORY_MB: Final = 1_200  # three brokers and ZooKeeper take about 900
MEMORY: Final = Path("/proc/meminfo")
# Longer than any pause: only the driver ends sessions, so that their ends can be counted.
SESSION_MS: Final = 120_000

# What the lines have that say why a program has ended; the most telling ones first.
TELLING: Final = (
    "already in use|[Cc]ould not reserve|insufficient memory|Cannot allocate",
    "FATAL|ERROR",
    "[Ee]rror",
)

# What a broker does by itself happens at once or not at all; only actions change leaders.
SETTINGS: Final = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
    "unclean.leader.election.enable": "false",
    "zookeeper.session.timeout.ms": SESSION_MS,
    "zookeeper.connection.timeout.ms": 30_000,
    "replica.lag.time.max.ms": 600_000,
    # AlterIsr that a paused controller or one without a session does not answer is sent again, to
    # the next one: sooner than a wait for the cluster ends.
    "request.timeout.ms": 3_000,
    "controller.socket.timeout.ms": 6_000,
    "replica.fetch.wait.max.ms": 100,
    "replica.fetch.backoff.ms": 50,
    "log.segment.delete.delay.ms": 100,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": BROKERS,
    "offsets.commit.timeout.ms": 2_000,
    "transaction.state.log.num.partitions": 1,
    "num.network.threads": 1,
    "num.io.threads": 2,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
}


class Process:
    """A process of the cluster: its name, its process id once it runs, whether it is paused."""

    def __init__(self, name: str, address: Address) -> None:
        self.name = name
        self.address = address
        self.paused = False


class Processes:
    """ZooKeeper and the brokers of a cluster, by their real ids; starts ZooKeeper.

    `running` has the brokers that were started and not killed.

    Args:
        release: of Kafka.
        interrupted: when set, ends every wait.

    Raises:
        NotStartedError: ZooKeeper does not start.
        PortFailedError: there is no folder for the cluster.
    """

    def __init__(self, release: Release, interrupted: Event) -> None:
        self.interrupted = interrupted
        self.running: dict[int, Process] = {}
        self._release = release
        self._starts = 0
        self._zookeeper_port = free_port()
        self._connection: ZooKeeper | None = None
        self.programs = Supervised(interrupted)
        try:
            self._start_zookeeper()
            self._connection = self._connected()
        except BaseException:
            self.stop()
            raise

    @property
    def zookeeper(self) -> ZooKeeper:
        """The connection to ZooKeeper."""
        if self._connection is None:
            raise AssertionError
        return self._connection

    def start(self, *brokers: int) -> None:
        """Start brokers, and wait until each is registered in ZooKeeper and answers.

        A broker whose session ends before it answers would give up its start and end.

        Raises:
            NotStartedError: one ends, or is not ready in time.
        """
        for broker in brokers:
            self._launch(broker)
        for broker in brokers:
            for tries_left in reversed(range(TRIES)):
                try:
                    self._wait_for(broker)
                    break
                except NotStartedError as failure:
                    self.kill(broker)
                    if not tries_left or not failure.in_use:
                        raise
                    self._launch(broker)

    def kill(self, broker: int) -> None:
        """Kill a broker, paused or not, and wait until it has ended."""
        process = self.running.pop(broker)
        self._signal(process, signal.SIGKILL)
        with suppress(TimeoutError):
            self.programs.wait(process.name, time.monotonic() + START_S)

    def pause(self, broker: int) -> None:
        """Pause a broker with SIGSTOP."""
        self._signal(self.running[broker], signal.SIGSTOP)
        self.running[broker].paused = True

    def resume(self, broker: int) -> None:
        """Let a paused broker go on."""
        self._signal(self.running[broker], signal.SIGCONT)
        self.running[broker].paused = False

    def check(self) -> None:
        """Check that no process has ended by itself.

        Raises:
            PortFailedError: one has; the detail has the last lines of its log.
        """
        for name in ("zookeeper", *(process.name for process in self.running.values())):
            if (status := self.programs.ended(name)) is not None:
                kind, log = "port crashed", "\n".join(self.programs.log(name))
                raise PortFailedError(kind, f"{name} ended (status {status})", log)

    def data(self, broker: int) -> Path:
        """The log directory of a broker."""
        return self.programs.folder / f"data-{broker}"

    def stop(self) -> None:
        """End all processes and remove the folder; safe to call twice."""
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.close()
        finally:
            self.programs.close()

    def _start_zookeeper(self) -> None:
        values = {
            **ZOOKEEPER,
            "dataDir": self.programs.folder / "zookeeper",
            "clientPort": self._zookeeper_port,
            "maxSessionTimeout": SESSION_MS,
        }
        path = self.programs.write("zookeeper.properties", properties(values))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self.programs.start("zookeeper", command(self._release, main, str(path)))

    def _connected(self) -> ZooKeeper:
        """Connect to ZooKeeper once it listens."""
        deadline = time.monotonic() + START_S
        while True:
            self._check_running("zookeeper", deadline)
            if is_ready(self._zookeeper_port):
                return ZooKeeper(self._zookeeper_port)
            self._pause()

    def _launch(self, broker: int) -> None:
        self._starts += 1
        name = f"broker-{broker}-{self._starts}"
        address = ("127.0.0.1", free_port())
        listener = f"PLAINTEXT://127.0.0.1:{address[1]}"
        values = {
            **SETTINGS,
            "broker.id": broker,
            "listeners": listener,
            "advertised.listeners": listener,
            "log.dirs": self.data(broker),
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
        }
        path = self.programs.write(f"{name}.properties", properties(values))
        self.programs.start(name, command(self._release, "kafka.Kafka", str(path)))
        self.running[broker] = Process(name, address)

    def _wait_for(self, broker: int) -> None:
        deadline = time.monotonic() + START_S
        process = self.running[broker]
        while not (
            broker in self.zookeeper.read(()).registered
            and answers(process.address, self.interrupted)
        ):
            self._check_running(process.name, deadline)
            self._pause()

    def _check_running(self, name: str, deadline: float) -> None:
        status = self.programs.ended(name)
        if status is not None:
            msg = f"{name} ended (status {status})"
            raise NotStartedError(msg, self.programs.log(name))
        if time.monotonic() > deadline:
            msg = f"{name} is not ready after {START_S:.0f} s"
            raise NotStartedError(msg, self.programs.log(name))

    def _signal(self, process: Process, number: signal.Signals) -> None:
        deadline = time.monotonic() + START_S
        while process.name not in self.programs.pids and time.monotonic() < deadline:
            self.programs.ended(process.name)  # reads what the supervisor has reported
        if self.programs.ended(process.name) is None:
            os.kill(self.programs.pids[process.name], number)

    def _pause(self) -> None:
        self.interrupted.wait(RETRY_S)
        raise_if_interrupted(self.interrupted)


def release_of(name: str) -> Release:
    """The release of a cluster that is named `kafka-cluster:VERSION`.

    Raises:
        PortUnavailableError: there is no such cluster.
    """
    known = {f"kafka-cluster:{each.minor}": each for each in RELEASES if each.minor == "2.7"}
    if name not in known:
        msg = f"unknown cluster {name!r}; known: {', '.join(known)}"
        raise PortUnavailableError(msg)
    return known[name]


def missing(release: Release) -> str | None:
    """Why the cluster cannot run on this machine; None if it can."""
    return (
        no_package(*WIRE, extra="wire")
        or no_package("kazoo", extra="cluster")
        or java.missing(release.kafka, release.java)
        or _too_little_memory()
    )


def started(release: Release, interrupted: Event, report: Report) -> Processes:
    """Start a cluster.

    Raises:
        PortUnavailableError: it cannot run here, or does not start; the message is one line.
    """
    title = f"a cluster of {BROKERS} brokers of {release.title}"
    if why_not := missing(release):
        msg = f"{title} cannot run here: {why_not}"
        raise PortUnavailableError(msg)
    java.jars(release.kafka, release.scala, report)
    for tries_left in reversed(range(TRIES)):
        try:
            return _started(release, interrupted)
        except NotStartedError as failure:
            if tries_left and failure.in_use:
                continue
            msg = f"{title} does not start: {failure}{_cause(failure.lines)}"
            raise PortUnavailableError(msg) from failure
        except PortFailedError as failure:
            msg = f"{title} does not start: {failure.reason}"
            raise PortUnavailableError(msg) from failure
    raise AssertionError  # the last attempt has returned or raised


def _started(release: Release, interrupted: Event) -> Processes:
    processes = Processes(release, interrupted)
    try:
        processes.start(*IDS)
    except BaseException:
        processes.stop()
        raise
    return processes


def _cause(lines: list[str]) -> str:
    """The line of a log that says why a program has ended: the first of the most telling ones."""
    for words in TELLING:
        for line in lines:
            if re.search(words, line):
                return f": {line.strip()[:200]}"
    return "".join(f": {line.strip()[:200]}" for line in lines[-1:])


def _too_little_memory() -> str | None:
    """Whether the machine has too little free memory; None where that is not known."""
    try:
        found = re.search(r"MemAvailable: +(\d+) kB", MEMORY.read_text())
    except OSError:
        return None
    free_mb = int(found[1]) // 1024 if found else MEMORY_MB
    if free_mb >= MEMORY_MB:
        return None
    return f"it needs {MEMORY_MB:,} MB of memory, and {free_mb:,} MB are free"
