"""librdkafka's mock broker as a port: an independent coordinator to test, in a child process.

The C library never runs in this process: when it crashes, that is a finding and not our end. How
it is spoken to is `wire`'s affair. The mock comes with the package confluent-kafka.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import Any, Final, Self

from groupcheck.model.spaces.clients import TOPIC
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.connection import WAKE_S, check
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.program import EndedError, Program
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.windows import USUAL, Windows

START_S: Final = 20.0
END_S: Final = 2.0
CRASH_S: Final = 0.5

# What the child runs: a client whose only purpose is the mock cluster inside it. It ends when
# its standard input does, and so also when its parent is killed.
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

# Newer versions are advertised and not spoken (v2.15.0): the handlers of JoinGroup and SyncGroup
# read the arrays of flexible versions as those of older ones (rdkafka_mock_handlers.c:1602,1851),
# that of LeaveGroup knows no batches (:1773).
NEWEST_VERSIONS: Final = {"JoinGroup": 5, "SyncGroup": 3, "LeaveGroup": 2}


class MockBroker:
    """A child process with a mock cluster of one broker; also a context manager.

    `address` is its host and port while it runs, `version` librdkafka's, `last_words` the end of
    what it had written on standard error when it was stopped.

    Args:
        interrupted: once it is set, nothing that the broker does is waited for.
    """

    def __init__(self, interrupted: Event | None = None) -> None:
        self._interrupted = interrupted or Event()
        self.address = ("", 0)
        self.version = ""
        self.last_words = ""
        self._program: Program | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> tuple[str, int]:
        """Start the broker if it does not run.

        Returns:
            Its host and port.

        Raises:
            PortUnavailableError: confluent-kafka is not installed, or does not work; or the start
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
            last = self.last_words.splitlines()[-1:]
            msg = ": ".join(["librdkafka's mock broker does not start", *last])
            raise PortUnavailableError(msg) from error
        return self.address

    def _first_line(self, program: Program) -> bytes:
        deadline = monotonic() + START_S
        while True:
            check(self._interrupted)
            try:
                return program.line(min(deadline, monotonic() + WAKE_S))
            except TimeoutError:
                if monotonic() >= deadline:
                    raise

    def ended(self, within_s: float = 0.0) -> EndedError | None:
        """How the broker ended, if it has, or does `within_s` seconds."""
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
            self.last_words = program.end(0 if self._interrupted.is_set() else END_S)


class LibrdkafkaPort:
    """The coordinator in librdkafka's mock broker; implements `Port`.

    The broker is started by the first `open`, and afresh by the next one after a crash.

    Args:
        broker: one to share with other ports, whose owner stops it. A crash under one of them is
            a crash under all: without it, the port has a broker of its own.
        windows: see `WirePort`.
        interrupted: see `WirePort`.
        wire: other keyword arguments of `WirePort`.
    """

    real_time = True

    def __init__(
        self,
        broker: MockBroker | None = None,
        interrupted: Event | None = None,
        windows: Windows = USUAL,
        **wire: Any,  # noqa: ANN401 (they are WirePort's to check)
    ) -> None:
        self._is_owner = broker is None
        self._broker = broker or MockBroker(interrupted)
        self.windows = windows
        self._options = {
            "newest_versions": NEWEST_VERSIONS,
            "interrupted": interrupted,
            "windows": windows,
            **wire,
        }
        self._wire: WirePort | None = None

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that the mock really speaks, once open."""
        return None if self._wire is None else self._wire.max_versions

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test, and the broker if it does not run.

        Raises:
            PortUnavailableError: confluent-kafka or kafka-python is not installed or not usable.
        """
        self.close()
        self._wire = WirePort(*self._broker.start(), **self._options)
        self._wire.open(profile, config)
        return PortInfo("librdkafka's mock broker", self._broker.version)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request; see `WirePort.request`."""
        with self._telling_crashes() as wire:
            return wire.request(request, expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass; see `WirePort.advance`."""
        with self._telling_crashes() as wire:
            return wire.advance(ms, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Say that nothing can be made to happen to the mock."""
        with self._telling_crashes() as wire:
            return wire.fault(fault, expected)

    def close(self) -> None:
        """End the test."""
        if self._wire is not None:
            self._wire.close()

    def shutdown(self) -> None:
        """End the test, and the broker if it is the port's own."""
        self.close()
        if self._is_owner:
            self._broker.stop()

    @contextmanager
    def _telling_crashes(self) -> Iterator[WirePort]:
        """Where the broker's process ended, say that and its last words."""
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
            if self._is_owner:
                self._broker.stop()
            raise PortFailedError(failure.kind, reason, self._broker.last_words) from failure
