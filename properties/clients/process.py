"""A client in a child process that runs many consumers; implements `ClientPort`.

The process writes its version, reads a line for each consumer that it has to make, and ends with
its standard input.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final

from groupcheck.model.client import ASSIGNED, COMMIT, NONE, SUBSCRIBE, ClientEvent, ClientInput
from groupcheck.model.member.state import Settings
from groupcheck.properties.clients.consumer import Consumer
from groupcheck.properties.clients.coordinator import PARTITIONS
from groupcheck.properties.clients.port import ClientFailedError, ClientInfo
from groupcheck.properties.clients.settings import ClientSettings
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.program import EndedError, Program

START_S: Final = 30.0
SEND_S: Final = 10.0
WARM_UP_S: Final = 5.0  # for each step
_WARMING_UP: Final = (
    (ClientInput(SUBSCRIBE), [ClientEvent("FindCoordinator")]),
    (ClientInput("FindCoordinator", NONE), [ClientEvent("JoinGroup")]),
    (
        ClientInput("JoinGroup", NONE, "m", 1, leader=True),
        [ClientEvent("SyncGroup", "m", 1, leader=True)],
    ),
    (
        ClientInput("SyncGroup", NONE, partitions=PARTITIONS),
        [ClientEvent(ASSIGNED, partitions=PARTITIONS)],
    ),
    (ClientInput(COMMIT), [ClientEvent("OffsetCommit", "m", 1)]),
)

_NUMBERS: Final = itertools.count(1)


class ProcessPort:
    """A client in a child process, which starts again after a failure.

    Args:
        name: of the client.
        command: returns the command that runs the program.
        settings: of its consumers.
    """

    def __init__(
        self, name: str, command: Callable[[], list[str]], settings: ClientSettings
    ) -> None:
        self._name = name
        self._command = command
        self._settings = settings
        self._lock = threading.Lock()
        self._program: Program | None = None
        self._version = ""
        self._last_failure = "its process has ended"
        self._consumers: list[Consumer] = []

    def open(self) -> ClientInfo:
        """Start the process.

        Raises:
            PortUnavailableError: it does not start, or kafka-python is not installed.
        """
        codec.message_class("JoinGroupRequest")
        try:
            with self._lock:
                self._running()
            self._warm_up()
        except (ClientFailedError, OSError) as error:
            msg = f"{self._name} does not start: {error}"
            raise PortUnavailableError(msg) from error
        return ClientInfo(self._name, self._version, self._settings.patience_s)

    def start(self, settings: Settings) -> Consumer:
        """Make a consumer.

        Raises:
            UnsupportedSettingsError: the client has none with these settings.
            ClientFailedError: the client exited or hangs.
        """
        with self._lock:
            program = self._running()
        check = partial(self._check, program)
        group = f"groupcheck-{os.getpid()}-{next(_NUMBERS)}"
        consumer = Consumer(self._settings, group, check, returns=settings.returns)
        try:
            port = consumer.coordinator.broker.port
            chosen = self._settings.of(settings, port, group)
            line = json.dumps({"control": consumer.control.port, "settings": chosen}) + "\n"
            with self._lock:
                self._tell(program, line)
                self._consumers = [each for each in self._consumers if not each.is_ended]
                self._consumers.append(consumer)
            consumer.wait_for_start()
        except BaseException:
            consumer.end()
            raise
        return consumer

    def shutdown(self) -> None:
        """End the process; safe to call twice."""
        with self._lock:
            self._end()
            consumers, self._consumers = self._consumers, []
        for consumer in consumers:
            consumer.end()

    def _warm_up(self) -> None:
        """Lead one consumer, so that the code that the others need is loaded."""
        consumer = self.start(Settings())
        for given, expected in _WARMING_UP:
            consumer.do(given, expected, patience_s=WARM_UP_S)
        consumer.end()

    def _running(self) -> Program:
        """The process, which is started if it does not run."""
        if self._program is None:
            self._program = Program(self._command())
            try:
                version = self._program.line(monotonic() + START_S)
            except PortFailedError as failure:
                self._raise(failure)
            except TimeoutError:
                self._end()
                msg = f"no answer within {START_S:g} s"
                raise ClientFailedError(msg) from None
            self._version = version.decode(errors="replace")
        return self._program

    def _tell(self, program: Program, line: str) -> None:
        if self._program is not program:
            raise ClientFailedError(self._last_failure)
        try:
            program.send(line.encode(), monotonic() + SEND_S)
        except PortFailedError as failure:
            self._raise(failure)
        except TimeoutError:
            self._end()
            msg = f"its process hangs: it reads nothing within {SEND_S:g} s"
            raise ClientFailedError(msg) from None

    def _check(self, program: Program) -> None:
        """Read what the process of a consumer prints, and check that it runs."""
        with self._lock:
            if self._program is not program:
                raise ClientFailedError(self._last_failure)
            try:
                program.refuse_leftovers("its version")
            except PortFailedError as failure:
                self._raise(failure)

    def _raise(self, failure: PortFailedError) -> None:
        if isinstance(failure, EndedError):
            reason = f"its process {failure.status}"
        else:
            reason = failure.reason
        lines = self._end().splitlines()[-1:]
        self._last_failure = ": ".join([reason, *lines])
        raise ClientFailedError(self._last_failure) from failure

    def _end(self) -> str:
        program, self._program = self._program, None
        return "" if program is None else program.end(0)
