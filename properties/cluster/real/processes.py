"""The processes of a real cluster: three brokers, and ZooKeeper if the release needs it.

The supervisor of `properties/brokers` runs them in a temporary folder: they end with this process,
and the folder is removed then. A broker that is started again listens on another network port, so
that no other process can have taken it meanwhile. All controllers know each other's ports, which
stay.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.apache import (
    RELEASES,
    Release,
    command,
    format_folder,
    new_cluster_id,
    properties,
    start_zookeeper,
    without_zookeeper,
)
from groupcheck.properties.brokers.catalogue import WIRE
from groupcheck.properties.brokers.definition import (
    TRIES,
    Address,
    NotStartedError,
    Report,
    answers,
    free_port,
    how_ended,
    no_package,
)
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.cluster.real.quorum import Quorum, stable_ports
from groupcheck.properties.cluster.real.views import BROKERS, IDS, MAJORITY, RawNodes
from groupcheck.properties.cluster.real.zookeeper import ZooKeeper, is_ready
from groupcheck.properties.ports.connection import pause
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

START_S: Final = 60.0  # of one process
# By whether there is ZooKeeper. With it and three brokers it takes about 900; three brokers of 4.1
# take about 700 after some minutes.
MEMORY_MB: Final = {True: 1_200, False: 1_000}
MEMORY: Final = Path("/proc/meminfo")
# The minor versions of Kafka that clusters are started of, and the versions of the specification's
# rules for them; there are none without ZooKeeper.
RULES_OF: Final = {"2.7": "2.7", "2.4": "2.4", "4.1": "", "4.4": ""}
# Longer than any pause: only the driver ends sessions, so that their ends can be counted.
SESSION_MS: Final = 120_000

# What the lines have that say why a program has ended; the most telling ones first.
TELLING: Final = (
    "already in use|[Cc]ould not reserve|insufficient memory|Cannot allocate",
    "FATAL|ERROR",
    "[Ee]rror",
)

# What a broker does by itself happens at once or not at all; only actions change leaders.
SHARED: Final = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
    "unclean.leader.election.enable": "false",
    "replica.lag.time.max.ms": 600_000,
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
# By whether the release has ZooKeeper.
SETTINGS: Final[dict[bool, dict[str, object]]] = {
    True: {
        **SHARED,
        "zookeeper.session.timeout.ms": SESSION_MS,
        "zookeeper.connection.timeout.ms": 30_000,
        # AlterIsr that a paused controller or one without a session does not answer is sent again,
        # to the next one: sooner than a wait for the cluster ends.
        "request.timeout.ms": 3_000,
        "controller.socket.timeout.ms": 6_000,
    },
    False: {
        **SHARED,
        # A killed broker is fenced within seconds, and a slow one is not: it has to be late with
        # eight heartbeats in a row, which pauses of the JVM and other processes seldom cause.
        "broker.session.timeout.ms": 4_000,
        "broker.heartbeat.interval.ms": 500,
        # What a broker has sent to a controller that is paused is sent again, to the next one:
        # before the session of the broker ends.
        "controller.socket.timeout.ms": 2_000,
        # A broker that starts while there is no majority waits for it, and does not end.
        "initial.broker.registration.timeout.ms": 3_600_000,
        # Two of three replicas have each committed offset: a dead one does not hold up commits.
        "min.insync.replicas": 2,
        "log.initial.task.delay.ms": 500,
    },
}


class Process:
    """A process of the cluster: its name, its process id once it runs, whether it is paused."""

    def __init__(self, name: str, address: Address) -> None:
        self.name = name
        self.address = address
        self.paused = False


class Nodes(Protocol):
    """The metadata of a cluster, in ZooKeeper or in a quorum of its controllers.

    Every call raises `PortFailedError` if ZooKeeper does not answer.
    """

    def read(self, topics: Sequence[str], /) -> RawNodes:
        """Read the metadata of the cluster, and those of the named topics."""
        ...

    def create_topic(self, name: str, replicas: Sequence[int], /) -> int:
        """Create a topic; returns Kafka's error."""
        ...

    def delete_topic(self, name: str, /) -> int:
        """Request the deletion of a topic; returns Kafka's error."""
        ...

    def forget_topic(self, name: str, /) -> None:
        """Remove what is left of a topic that was deleted."""
        ...

    def end_session(self, broker: int, /) -> bool:
        """End the session of a broker; returns whether that was possible."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def rack_of(broker: int) -> str:
    """The rack of a broker: each has its own."""
    return f"rack-{broker}"


class Processes:
    """The brokers of a cluster, by their real ids, and its metadata; starts ZooKeeper, if needed.

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
        self._cluster = new_cluster_id()
        self._quorum = None if release.has_zookeeper else Quorum(self._live, interrupted)
        self._zookeeper: ZooKeeper | None = None
        self.programs = Supervised(interrupted)
        try:
            if release.has_zookeeper:
                port = self._zookeeper_port
                start_zookeeper(release, self.programs, port, maxSessionTimeout=SESSION_MS)
                self._zookeeper = self._connected()
        except BaseException:
            self.stop()
            raise

    @property
    def nodes(self) -> Nodes:
        """The metadata of the cluster."""
        return self._quorum or self.zookeeper

    @property
    def zookeeper(self) -> ZooKeeper:
        """The connection to ZooKeeper."""
        if self._zookeeper is None:
            raise AssertionError
        return self._zookeeper

    def start(self, *brokers: int, tries: int = TRIES) -> None:
        """Start brokers, and wait until each is registered and answers.

        A broker that finds its network port in use is started again, up to `tries` times.

        A broker whose session with ZooKeeper ends before it answers would give up its start and
        end. While fewer than a majority of the controllers run, brokers cannot register; this
        does not wait for them then.

        Raises:
            NotStartedError: one ends, or is not ready in time.
        """
        for broker in brokers:
            self._launch(broker)
        if self._quorum is not None and len(self._live()) < MAJORITY:
            return
        for broker in brokers:
            for tries_left in reversed(range(tries)):
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
        own = ("zookeeper",) * self._release.has_zookeeper
        for name in (*own, *(process.name for process in self.running.values())):
            if how := how_ended(self.programs, name):
                kind, log = "port crashed", "\n".join(self.programs.log(name))
                raise PortFailedError(kind, how, log)

    def data(self, broker: int) -> Path:
        """The log directory of a broker."""
        return self.programs.folder / f"data-{broker}"

    def stop(self) -> None:
        """End all processes and remove the folder; safe to call twice."""
        zookeeper, self._zookeeper = self._zookeeper, None
        try:
            for nodes in (zookeeper, self._quorum):
                if nodes is not None:
                    nodes.close()
        finally:
            self.programs.close()

    def _connected(self) -> ZooKeeper:
        """Connect to ZooKeeper once it listens."""
        deadline = time.monotonic() + START_S
        while True:
            self._check_running("zookeeper", deadline)
            if is_ready(self._zookeeper_port):
                return ZooKeeper(self._zookeeper_port)
            pause(self.interrupted)

    def _launch(self, broker: int) -> None:
        self._starts += 1
        name = f"broker-{broker}-{self._starts}"
        address = ("127.0.0.1", stable_ports(1)[0])
        listener = f"PLAINTEXT://127.0.0.1:{address[1]}"
        values: dict[str, object] = {
            **SETTINGS[self._release.has_zookeeper],
            "listeners": listener,
            "advertised.listeners": listener,
            "log.dirs": self.data(broker),
            "broker.rack": rack_of(broker),
        }
        if self._quorum is None:
            values |= {
                "broker.id": broker,
                "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
            }
        else:
            values |= without_zookeeper(broker, listener, self._quorum.controllers)
        path = self.programs.write(f"{name}.properties", properties(values))
        if self._quorum is not None and not self.data(broker).is_dir():
            format_folder(self._release, self.programs, str(path), self._cluster, START_S)
        self.programs.start(name, command(self._release, "kafka.Kafka", str(path)))
        self.running[broker] = Process(name, address)

    def _wait_for(self, broker: int) -> None:
        deadline = time.monotonic() + START_S
        process = self.running[broker]
        while not (
            broker in self.nodes.read(()).registered and answers(process.address, self.interrupted)
        ):
            self._check_running(process.name, deadline)
            pause(self.interrupted)

    def _live(self) -> dict[int, Address]:
        """The addresses of the brokers that run and are not paused."""
        return {each: at.address for each, at in self.running.items() if not at.paused}

    def _check_running(self, name: str, deadline: float) -> None:
        if how := how_ended(self.programs, name):
            raise NotStartedError(how, self.programs.log(name))
        if time.monotonic() > deadline:
            msg = f"{name} is not ready after {START_S:.0f} s"
            raise NotStartedError(msg, self.programs.log(name))

    def _signal(self, process: Process, number: signal.Signals) -> None:
        deadline = time.monotonic() + START_S
        while process.name not in self.programs.pids and time.monotonic() < deadline:
            self.programs.ended(process.name)  # reads what the supervisor has reported
        if self.programs.ended(process.name) is None:
            os.kill(self.programs.pids[process.name], number)


def release_of(name: str) -> Release:
    """The release of a cluster that is named `kafka-cluster:VERSION`.

    Raises:
        PortUnavailableError: there is no such cluster.
    """
    releases = {each.minor: each for each in RELEASES}
    known = {f"kafka-cluster:{minor}": releases[minor] for minor in RULES_OF}
    if name not in known:
        msg = f"unknown cluster {name!r}; known: {', '.join(known)}"
        raise PortUnavailableError(msg)
    return known[name]


def missing(release: Release) -> str | None:
    """Why the cluster cannot run on this machine; None if it can."""
    return (
        no_package(*WIRE, extra="wire")
        or (no_package("kazoo", extra="cluster") if release.has_zookeeper else None)
        or java.missing(release.kafka, release.java)
        or _too_little_memory(MEMORY_MB[release.has_zookeeper])
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
        processes.start(*IDS, tries=1)  # a port of a controller may be in use, too
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


def _too_little_memory(needed_mb: int) -> str | None:
    """Whether the machine has too little free memory; None where that is not known."""
    try:
        found = re.search(r"MemAvailable: +(\d+) kB", MEMORY.read_text())
    except OSError:
        return None
    free_mb = int(found[1]) // 1024 if found else needed_mb
    if free_mb >= needed_mb:
        return None
    return f"it needs {needed_mb:,} MB of memory, and {free_mb:,} MB are free"
