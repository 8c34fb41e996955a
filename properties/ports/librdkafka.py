"""librdkafka's mock broker as a port, in a child process; `wire` talks to it.

The C library never runs in this process, since its crash is a finding. The mock comes with the
package confluent-kafka.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import Final

from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.connection import WAKE_S, raise_if_interrupted
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.program import EndedError, Program
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.tolerances import USUAL, Tolerances

START_S: Final = 20.0
END_S: Final = 2.0
CRASH_S: Final = 0.5

# The child's program: a client whose only purpose is the mock cluster inside it. It ends with its
# standard input, so also when its parent is killed.
_CHILD: Final = """
import sys
from confluent_kafka import Producer, libversion
client = Producer({
    "bootstrap.servers": "none:0",
    "test.mock.num.brokers": 1,
    "log_level": 0,
})
(broker,) = client.list_topics(sys.argv[1], timeout=10).brokers.values()
print(broker.host, broker.port, libversion()[0], flush=True)
sys.stdin.read()
"""

# The mock advertises newer versions without supporting them (v2.15.0): the handlers of JoinGroup
# and SyncGroup read the arrays of flexible versions as those of older ones
# (rdkafka_mock_handlers.c:1602,1851), and that of LeaveGroup does not support batches (:1773).
NEWEST_VERSIONS: Final = {"JoinGroup": 5, "SyncGroup": 3, "LeaveGroup": 2}


class MockBroker:
    """A child process with a mock cluster of one broker.

    `address` is its host and port while it runs, `version` librdkafka's version, `stderr` the last
    lines of its standard error after it was stopped.

    Args:
        interrupted: when set, ends every wait for the broker.
    """

    def __init__(self, interrupted: Event | None = None) -> None:
        self._interrupted = interrupted or Event()
        self.address = ("", 0)
        self.version = ""
        self.stderr = ""
        self._program: Program | None = None

    def start(self) -> tuple[str, int]:
        """Start the broker unless it is running.

        Returns:
            Its host and port.

        Raises:
            PortUnavailableError: confluent-kafka is not installed or does not work, or the start
                was interrupted.
        """
        if self._program is not None and self.ended() is None:
            return self.address
        self.stop()
        if importlib.util.find_spec("confluent_kafka") is None:
            msg = (
                "librdkafka-mock needs the package confluent-kafka: pip install 'groupcheck[wire]'"
            )
            raise PortUnavailableError(msg)
        self._program = Program([sys.executable, "-c", _CHILD, TOPIC])
        try:
            host, port, self.version = self._first_line(self._program).decode().split()
            self.address = (host, int(port))
        except (PortFailedError, TimeoutError, ValueError) as error:
            self.stop()
            last = self.stderr.splitlines()[-1:]
            msg = ": ".join(["librdkafka's mock broker does not start", *last])
            raise PortUnavailableError(msg) from error
        return self.address

    def _first_line(self, program: Program) -> bytes:
        deadline = monotonic() + START_S
        while True:
            raise_if_interrupted(self._interrupted)
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
            self.address = ("", 0)
            self.stderr = program.end(0 if self._interrupted.is_set() else END_S)


class LibrdkafkaPort:
    """The coordinator in librdkafka's mock broker; implements `Port`.

    The first `open` starts its broker, and so does the next one after a crash.

    Args:
        tolerances: see `WirePort`.
        interrupted: see `WirePort`.
    """

    real_time = True

    def __init__(self, interrupted: Event | None = None, tolerances: Tolerances = USUAL) -> None:
        self._broker = MockBroker(interrupted)
        self._interrupted = interrupted
        self.tolerances = tolerances
        self._wire: WirePort | None = None

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that the mock supports, once open."""
        return None if self._wire is None else self._wire.max_versions

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test, and the broker unless it is running.

        Raises:
            PortUnavailableError: confluent-kafka or kafka-python is not installed or does not work.
        """
        self.close()
        self._wire = WirePort(
            *self._broker.start(),
            newest_versions=NEWEST_VERSIONS,
            null_as_empty=True,
            interrupted=self._interrupted,
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
        """End the test and the broker."""
        self.close()
        self._broker.stop()

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
