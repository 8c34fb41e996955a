"""A port in a program of its own, spoken to in lines of JSON; what they mean is not here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping
from time import monotonic
from typing import Any, Final, NoReturn

from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.messages import Conversation, plain, protocol_error, shorten
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.program import EndedError, Program

GRACE_S: Final = 1.0

# ASCII with escapes, so that every string of Python's is sayable in UTF-8.
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class ExecPort:
    """The coordinator that a program wraps; implements `Port`.

    The program is started by the first `open`, and afresh by the next one after a failure.

    Args:
        command: the program and its arguments, quoted as for a shell; no shell is started.
        limit_s: how many seconds of real time the program has for each message.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, command: str, *, limit_s: float = 10.0) -> None:
        self._command = command
        self._limit_s = limit_s
        self._conversation = Conversation()
        self._program: Program | None = None
        self._has_spoken = False

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test, and the program if it does not run.

        Raises:
            PortUnavailableError: there is no such program, it ended before it ever answered, or it
                does not support the profile.
            PortFailedError: the program failed.
        """
        if self._program is None:
            self._program = _start(self._command)
        try:
            self._exchange(self._conversation.open(profile, config))
        except EndedError as failure:
            if self._has_spoken:
                raise
            last = failure.detail.splitlines()[-1:]
            msg = ": ".join(
                [f"{self._command!r} {failure.status} before it answered 'open'", *last]
            )
            raise PortUnavailableError(msg) from failure
        try:
            info = self._conversation.port_info()
        except PortFailedError as failure:
            self._fail(failure)
        self._has_spoken = True
        return info

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request.

        Raises:
            PortFailedError: the program failed.
        """
        del expected
        self._exchange(self._conversation.request(request))
        return self._conversation.observation()

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let `ms` milliseconds of virtual time pass.

        Raises:
            PortFailedError: the program failed.
        """
        del expected
        self._exchange(self._conversation.advance(ms))
        return self._conversation.observation()

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Let something happen to the coordinator.

        Raises:
            PortFailedError: the program failed.
        """
        del expected
        self._exchange(self._conversation.fault(fault))
        return self._conversation.observation()

    def close(self) -> None:
        """End the test; does nothing when the program has already failed.

        Raises:
            PortFailedError: the program failed.
        """
        if self._program is not None:
            self._exchange(self._conversation.close())

    def shutdown(self) -> None:
        """End the program, by force if it does not end by itself; safe to call twice."""
        program, self._program = self._program, None
        if program is not None:
            program.end(GRACE_S)

    def _exchange(self, message: dict[str, Any]) -> None:
        """Send a message and take in what comes back until `done`."""
        program = self._program
        if program is None:
            msg = "the port is not open"
            raise RuntimeError(msg)
        deadline = monotonic() + self._limit_s
        try:
            program.refuse_leftovers()
            program.send(_encode(message).encode() + b"\n", deadline)
            while not self._conversation.take(_parsed(program.line(deadline))):
                pass
        except TimeoutError:
            reason = f"no 'done' to {message['type']!r} within {self._limit_s:g} s"
            self._fail(PortFailedError("port hung", reason))
        except PortFailedError as failure:
            self._fail(failure)
        except BaseException:
            # Ctrl-C, or a fault of our own: the conversation has lost its place for good.
            self._kill()
            raise

    def _fail(self, failure: PortFailedError) -> NoReturn:
        failure.detail = self._kill()
        raise failure from None

    def _kill(self) -> str:
        program, self._program = self._program, None
        return "" if program is None else program.end(0)


def _parsed(line: bytes) -> object:
    try:
        return plain(_decode(line.decode()))
    except UnicodeDecodeError:
        protocol_error(f"a line that is not UTF-8: {shorten(line)}")
    except (ValueError, RecursionError):
        protocol_error(f"a line that is not JSON: {shorten(line.decode())}")


def _start(command: str) -> Program:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        msg = f"cannot start {command!r}: {error}"
        raise PortUnavailableError(msg) from error
    if not argv:
        msg = "cannot start a port: the command is empty"
        raise PortUnavailableError(msg)
    try:
        return Program(argv)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"cannot start {argv[0]!r}: {reason}"
        raise PortUnavailableError(msg) from error
