"""A health check of a broker: a heartbeat of an unknown member, and whether it is answered.

What a failed check means for running tests does not belong here.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final
from uuid import uuid4

from groupcheck.model.instances.inputs import NOBODY
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import (
    CLIENT_ID,
    WAKE_S,
    Connection,
    Question,
    raise_if_interrupted,
)
from groupcheck.properties.ports.port import PortFailedError

HEARTBEAT: Final = Question("Heartbeat", 0)
# The errors of a broker that has just started and has not loaded its groups yet.
NOT_READY: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class HealthCheckError(Exception):
    """The broker did not answer as a testable broker does; the message says what it did.

    `gone` says that the broker may have ended, and is not only slow or not ready.
    """

    def __init__(self, what: str, *, gone: bool = False) -> None:
        super().__init__(what)
        self.gone = gone


class HealthCheck:
    """Sends the same request to a broker repeatedly; looks up its address for each connection."""

    def __init__(self, address: Callable[[], tuple[str, int]], interrupted: Event) -> None:
        self._address = address
        self._interrupted = interrupted
        self._connection: Connection[Question] | None = None
        self._was_ready = False
        self._group = f"groupcheck-{uuid4().hex}-health-check"

    def run(self, within_s: float) -> None:
        """Check once; a late response to the request before counts too.

        Raises:
            HealthCheckError: there was no response within `within_s` seconds, or one that says that
                the broker is not ready. A stopped broker may still answer later.
            PortUnavailableError: the check was interrupted.
        """
        try:
            answer = self._ask(within_s)
        except (PortFailedError, OSError) as error:
            self.close()
            reason = error.reason if isinstance(error, PortFailedError) else "cannot be reached"
            gone = not isinstance(error, TimeoutError)
            raise HealthCheckError(reason.removeprefix("the broker "), gone=gone) from error
        message = codec.parse(HEARTBEAT.api, HEARTBEAT.api_version, answer)
        ready = message.error_code not in NOT_READY
        self._was_ready |= ready
        if not ready and self._was_ready:  # in a cluster, another broker may coordinate this group
            msg = f"answers {ErrorCode(message.error_code).name}"
            raise HealthCheckError(msg)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, within_s: float) -> bytes:
        deadline = monotonic() + within_s
        if self._connection is None:
            self._connection = Connection[Question](*self._address(), within_s)
            self._connection.socket.settimeout(WAKE_S)
        connection = self._connection
        if not connection.in_flight:
            body = HeartbeatRequest(self._group, 0, NOBODY)
            connection.send(HEARTBEAT, codec.to_message(body, 0), CLIENT_ID)
        while True:
            raise_if_interrupted(self._interrupted)
            try:
                for _, answer in connection.receive():
                    return answer
            except TimeoutError:
                if monotonic() > deadline:
                    msg = f"did not answer within {within_s:g} s"
                    raise HealthCheckError(msg) from None
