"""librdkafka's mock broker as a port, in a child process; `wire` talks to it.

The C library never runs in this process, since its crash is a finding. The mock comes with the
package confluent-kafka.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from time import monotonic
from typing import Final

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.instances.inputs import OTHER_TOPIC, TOPIC
from groupcheck.model.classic.instances.instance import DELAY
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.connection import WAKE_S, raise_if_interrupted
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
    check_installed,
)
from groupcheck.properties.ports.program import EndedError, Program
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.tolerances import USUAL, Tolerances

PROGRAM: Final = Path(__file__).with_name("librdkafka_program.py")
START_S: Final = 20.0
END_S: Final = 2.0
CRASH_S: Final = 0.5
FAILURES: Final = (PortFailedError, TimeoutError, ValueError)  # of a process that has to answer
# The settings of a verification. Other requests fit into the initial delay, on a busy machine too;
# Kafka's default is 3 s. Members have the longest session timeout: a rebalance that is not the
# first takes that time less 1 s (rdkafka_mock_cgrp.c:422 of v2.15.0).
SESSION_MS: Final = 2_000
SETTINGS: Final[Mapping[str, int]] = {
    DELAY: 500,
    "group.min.session.timeout.ms": SESSION_MS,
    "group.max.session.timeout.ms": SESSION_MS,
}

# The mock advertises newer versions without supporting them (v2.15.0): the handlers of JoinGroup
# and SyncGroup read the arrays of flexible versions as those of older ones
# (rdkafka_mock_handlers.c:1602,1851), and that of LeaveGroup does not support batches (:1773).
NEWEST_VERSIONS: Final = {"JoinGroup": 5, "SyncGroup": 3, "LeaveGroup": 2}


class MockBroker:
    """A child process with a mock cluster of one broker.

    `version` is librdkafka's version while it runs, `stderr` the last lines of its standard error
    after it was stopped.

    Args:
        interrupted: when set, ends every wait for the broker.
    """

    def __init__(self, interrupted: Event | None = None) -> None:
        self.version = ""
        self.stderr = ""
        self.interrupted = interrupted or Event()
        self._program: Program | None = None

    def renew(self, delay_ms: int = SETTINGS[DELAY]) -> tuple[str, int]:
        """Start the process unless it is running, and in it a cluster in place of the last one.

        Args:
            delay_ms: the initial rebalance delay.

        Returns:
            The host and port of the new cluster.

        Raises:
            PortUnavailableError: confluent-kafka is not installed or does not work, or the start
                was interrupted.
        """
        if self._program is not None:
            # A cluster may crash or hang when it ends.
            with suppress(*FAILURES):
                return self._cluster(self._program, delay_ms)
            self.stop()
        self._program = self._started()
        try:
            return self._cluster(self._program, delay_ms)
        except FAILURES as error:
            self.stop()
            last = self.stderr.splitlines()[-1:]
            msg = ": ".join(["librdkafka's mock broker does not start", *last])
            raise PortUnavailableError(msg) from error

    def _cluster(self, program: Program, delay_ms: int) -> tuple[str, int]:
        program.send(f"{delay_ms}\n".encode(), monotonic() + START_S)
        host, port, self.version = self._first_line(program).decode().split()
        return host, int(port)

    def _started(self) -> Program:
        check_installed("confluent_kafka", "confluent-kafka", "wire", "librdkafka-mock")
        return Program([sys.executable, str(PROGRAM), TOPIC, OTHER_TOPIC])

    def _first_line(self, program: Program) -> bytes:
        deadline = monotonic() + START_S
        while True:
            raise_if_interrupted(self.interrupted)
            try:
                return program.line(min(deadline, monotonic() + WAKE_S))
            except TimeoutError:
                if monotonic() >= deadline:
                    raise

    def ended(self, within_s: float = 0.0) -> EndedError | None:
        """Return how the broker ended, or None if it still runs after `within_s` seconds."""
        if self._program is None:
            return None
        try:
            self._program.line(monotonic() + within_s)
        except EndedError as ended:
            return ended
        except TimeoutError:
            pass
        return None

    def stop(self) -> None:
        """End the broker; safe to call twice."""
        program, self._program = self._program, None
        if program is not None:
            self.stderr = program.end(0 if self.interrupted.is_set() else END_S)


class MockBrokers:
    """The processes of a source: one for each port, and afterwards for another port."""

    def __init__(self) -> None:
        self.interrupted = Event()
        self._idle: SimpleQueue[MockBroker] = SimpleQueue()

    def port(self, tolerances: Tolerances) -> LibrdkafkaPort:
        """Return a port; its shutdown gives its process to the next one."""
        try:
            broker = self._idle.get_nowait()
        except Empty:
            broker = MockBroker(self.interrupted)
        return LibrdkafkaPort(broker, tolerances, self._idle.put)

    def stop(self) -> None:
        """End the processes that no port uses."""
        while not self._idle.empty():
            self._idle.get().stop()


class LibrdkafkaPort:
    """The coordinator in librdkafka's mock broker; implements `Port`.

    Each test has a new cluster. The first `open` starts the process, and so does the next one after
    a crash.

    Args:
        broker: the process.
        tolerances: see `WirePort`.
        released: called with the process at shutdown, when the port no longer needs it.
    """

    real_time = True

    def __init__(
        self,
        broker: MockBroker,
        tolerances: Tolerances = USUAL,
        released: Callable[[MockBroker], None] = MockBroker.stop,
    ) -> None:
        self.tolerances = tolerances
        self._broker = broker
        self._released = released
        self._wire: WirePort | None = None

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that the mock supports, once open."""
        return None if self._wire is None else self._wire.max_versions

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with a new cluster, which has the initial delay of the test.

        Raises:
            PortUnavailableError: confluent-kafka or kafka-python is not installed or does not work.
        """
        self.close()
        delay_ms = Config.of(config).group_initial_rebalance_delay_ms
        self._wire = WirePort(
            *self._broker.renew(delay_ms),
            newest_versions=NEWEST_VERSIONS,
            null_as_empty=True,
            settings=config,
            interrupted=self._broker.interrupted,
            tolerances=self.tolerances,
        )
        self._wire.open(profile, config)
        return PortInfo("librdkafka's mock broker", self._broker.version)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request; see `WirePort.request`."""
        with self._reporting_crashes() as wire:
            return wire.request(request, expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Sleep; see `WirePort.advance`."""
        with self._reporting_crashes() as wire:
            return wire.advance(ms, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Report every fault as unsupported."""
        with self._reporting_crashes() as wire:
            return wire.fault(fault, expected)

    def close(self) -> None:
        """End the test."""
        if self._wire is not None:
            self._wire.close()

    def shutdown(self) -> None:
        """End the test; safe to call twice."""
        self.close()
        released, self._released = self._released, lambda _broker: None
        released(self._broker)

    @contextmanager
    def _reporting_crashes(self) -> Iterator[WirePort]:
        """Add to a failure how the broker's process ended, if it did, and its standard error."""
        if self._wire is None:
            msg = "the port is not open"
            raise ValueError(msg)
        try:
            yield self._wire
        except PortFailedError as failure:
            ended = self._broker.ended(CRASH_S)
            if ended is None:
                raise
            reason = f"{failure.reason}; its process {ended.status}"
            self._broker.stop()
            raise PortFailedError(failure.kind, reason, self._broker.stderr) from failure
