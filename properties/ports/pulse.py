"""Whether a broker is there, and answers in time: a heartbeat of a member that nobody is.

What that means for tests under way is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final
from uuid import uuid4

from groupcheck.model.spaces.clients import NOBODY
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import CLIENT_ID, WAKE_S, Connection, Question, check
from groupcheck.properties.ports.port import PortFailedError

HEARTBEAT: Final = Question("Heartbeat", 0)
# What a broker answers that has just begun, and has not loaded its groups yet.
NOT_YET: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class MissedBeatError(Exception):
    """The broker did not answer as one that can be tested; the message says what it did.

    It may have ended if it is `gone`, and not only be slow, or not ready.
    """

    def __init__(self, what: str, *, gone: bool = False) -> None:
        super().__init__(what)
        self.gone = gone


class Pulse:
    """A connection to a broker, wherever it is by then, that is asked the same again and again."""

    def __init__(self, address: Callable[[], tuple[str, int]], interrupted: Event) -> None:
        self._address = address
        self._interrupted = interrupted
        self._connection: Connection[Question] | None = None
        self._was_ready = False
        self._group = f"groupcheck-{uuid4().hex}-pulse"

    def beat(self, within_s: float) -> None:
        """Ask once; an answer to what was asked before counts too.

        Raises:
            MissedBeatError: there was no answer `within_s` seconds, or one that it is not ready;
                what was asked may be answered yet, if the broker has only stopped.
            PortUnavailableError: it was interrupted.
        """
        try:
            answer = self._ask(within_s)
        except (PortFailedError, OSError) as error:
            self.close()
            reason = error.reason if isinstance(error, PortFailedError) else "cannot be reached"
            gone = not isinstance(error, TimeoutError)
            raise MissedBeatError(reason.removeprefix("the broker "), gone=gone) from error
        message = codec.parse(HEARTBEAT.api, HEARTBEAT.api_version, answer)
        ready = message.error_code not in NOT_YET
        self._was_ready |= ready
        if not ready and self._was_ready:  # of several brokers another may coordinate this group
            msg = f"answers {ErrorCode(message.error_code).name}"
            raise MissedBeatError(msg)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, within_s: float) -> bytes:
        deadline = monotonic() + within_s
        if self._connection is None:
            self._connection = Connection[Question](*self._address(), within_s)
            self._connection.socket.settimeout(WAKE_S)
        connection = self._connection
        if not connection.owed:
            body = HeartbeatRequest(self._group, 0, NOBODY)
            connection.send(HEARTBEAT, codec.to_message(body, 0), CLIENT_ID)
        while True:
            check(self._interrupted)
            try:
                for _, answer in connection.receive():
                    return answer
            except TimeoutError:
                if monotonic() > deadline:
                    msg = f"did not answer within {within_s:g} s"
                    raise MissedBeatError(msg) from None
