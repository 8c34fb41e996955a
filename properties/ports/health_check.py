"""Connections besides those of a test's requests: a health check, and a barrier between requests.

What a failed check means for running tests does not belong here.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final
from uuid import uuid4

from groupcheck.model.classic.instances.inputs import NOBODY
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import (
    CLIENT_ID,
    WAKE_S,
    BootstrapClient,
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
    """The broker did not answer the health check correctly; the message has the reason.

    `gone`: the broker may have ended, not only be slow or not ready.
    """

    def __init__(self, what: str, *, gone: bool = False) -> None:
        super().__init__(what)
        self.gone = gone


class HealthCheck:
    """Sends a heartbeat of an unknown member repeatedly, and checks that it is answered.

    The broker's address is looked up for each connection.
    """

    def __init__(self, address: Callable[[], tuple[str, int]], interrupted: Event) -> None:
        self._address = address
        self._interrupted = interrupted
        self._connection: Connection[Question] | None = None
        self._was_ready = False
        self._group = f"groupcheck-{uuid4().hex}-health-check"

    def run(self, within_s: float) -> None:
        """Check once; a late response to the previous request counts too.

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


class Barrier:
    """A barrier between requests: the broker has received the first before the second is sent.

    A request that waits for other requests gets no response, so nothing confirms that it has
    arrived, and requests on different connections may overtake each other. A broker that handles
    one request at a time has received it when it answers a later request on an established
    connection. The barrier is such a connection, with a request without side effects.

    It reports no failures: after an error or a timeout it does nothing until `close`, and the
    requests of the test show what is wrong with the broker.

    Args:
        connect: opens the connection, when it is first needed; may raise `OSError`.
    """

    def __init__(self, connect: Callable[[], BootstrapClient]) -> None:
        self._connect = connect
        self._client: BootstrapClient | None = None
        self._failed = False

    def wait(self) -> None:
        """Wait for a response.

        Raises:
            PortUnavailableError: the wait was interrupted.
        """
        if self._failed:
            return
        try:
            self._client = self._client or self._connect()
            self._client.versions({})
        except (OSError, PortFailedError, codec.MalformedAnswerError):
            self.close()
            self._failed = True

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
        self._client = None
        self._failed = False
