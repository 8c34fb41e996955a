"""A port that is a separate program and exchanges lines of JSON; `messages` interprets them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, NoReturn

from groupcheck.properties.ports.messages import VirtualTimePort, plain, protocol_error, shorten
from groupcheck.properties.ports.port import PortFailedError, PortInfo, PortUnavailableError
from groupcheck.properties.ports.program import EndedError, Program, argv_of

GRACE_S: Final = 1.0

# ASCII with escapes, so that UTF-8 can represent every Python string.
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class ExecPort(VirtualTimePort):
    """The coordinator behind a program; implements `Port`.

    The first `open` starts the program, and so does the next one after a failure.

    Args:
        command: the program and its arguments, quoted as for a shell; no shell is started.
        limit_s: seconds of real time that the program has for each message.
    """

    def __init__(self, command: str, *, limit_s: float = 10.0) -> None:
        super().__init__()
        self._command = command
        self._limit_s = limit_s
        self._program: Program | None = None
        self._has_answered = False

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test, and the program unless it is running.

        Raises:
            PortUnavailableError: the program cannot be started, ended before it ever answered, or
                does not support the profile.
            PortFailedError: the program failed.
        """
        if self._program is None:
            self._program = _start(self._command)
        try:
            self._exchange(self._conversation.open(profile, config))
        except EndedError as failure:
            if self._has_answered:
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
        self._has_answered = True
        return info

    def shutdown(self) -> None:
        """End the program, by force if it does not end by itself; safe to call twice."""
        program, self._program = self._program, None
        if program is not None:
            program.end(GRACE_S)

    @property
    def _is_running(self) -> bool:
        return self._program is not None

    def _exchange(self, message: dict[str, Any]) -> None:
        """Send a message and read lines until `done`."""
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
            # Ctrl-C, or a bug here: the program and this process cannot be synchronised again.
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
    argv = argv_of(command)
    try:
        return Program(argv)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"cannot start {argv[0]!r}: {reason}"
        raise PortUnavailableError(msg) from error
