"""A port in this Python process, for coordinators in Python; `exec` runs programs.

The contract for authors of such a port. `python:package.module:factory` names a callable without
parameters that returns an object with five methods, which are called with positional arguments:

    open(profile: str, config: dict[str, int]) -> {"name": ..., "version": ...}
    request(request_id: int, api: str, api_version: int, client_id: str, client_host: str,
            body: dict) -> messages
    advance(ms: int) -> messages
    fault(fault: str, **fields) -> messages
    close() -> messages

They are the messages of the port protocol. `open` starts a test with an empty coordinator at time 0
and returns the port's name and version. Bodies are the protocol's JSON objects (camelCase, bytes in
base64, error codes as numbers). `messages` is any iterable, a generator too, of the messages that a
program would write before `done`:

    {"type": "response", "id": 7, "body": {...}}     the response to request 7, whenever it is due
    {"type": "state", "groups": [...]}               optional: the inner state, compared when given
    {"type": "unsupported", "what": "OffsetDelete"}  in place of a response

Returning means `done`; None means no messages. A port that does not support the profile returns an
`unsupported` from `open`. The factory is called once to check the object, again for the first test,
and again after each failure: it should be cheap, and its objects should share nothing.

All calls come from one thread. An alarm signal (SIGALRM) interrupts a call that exceeds the limit
and raises an exception in the port's code. Python allows that only in the main thread of a POSIX
process, and only between two steps of the interpreter: in another thread, or in native code that
never returns, there is no limit. Run a port that may block there as a program. Do the same for a
port that may end the process, with `os._exit` or in native code: groupcheck would end with it, with
an arbitrary exit status. The port's standard output goes to standard error.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn

from groupcheck.properties.ports.messages import VirtualTimePort, plain, protocol_error, shorten
from groupcheck.properties.ports.port import PortFailedError, PortInfo
from groupcheck.properties.ports.user_code import (
    METHODS,
    Factory,
    TooLongError,
    close_coroutine,
    load_factory,
    make_port,
    name_of,
    one_line,
    user_code_guard,
)

__all__ = ["PythonPort", "load_factory", "name_of"]

MAX_MESSAGES: Final = 100_000


class PythonPort(VirtualTimePort):
    """The coordinator behind a Python object; implements `Port`.

    Args:
        factory: makes the object; see this module's contract.
        limit_s: seconds of real time that a call may take.
    """

    def __init__(self, factory: Factory, *, limit_s: float = 10.0) -> None:
        super().__init__()
        self._factory = factory
        self._limit_s = limit_s
        self._port: object = None

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test; after a failure with a new object from the factory.

        Raises:
            PortUnavailableError: there is no such object, or it does not support the profile.
            PortFailedError: the object failed.
        """
        if self._port is None:
            self._port = make_port(self._factory, limit_s=self._limit_s)
        self._exchange(self._conversation.open(profile, config))
        try:
            return self._conversation.port_info()
        except PortFailedError:
            self._port = None
            raise

    def shutdown(self) -> None:
        """Drop the object; safe to call twice."""
        self._port = None

    @property
    def _is_running(self) -> bool:
        return self._port is not None

    def _exchange(self, message: dict[str, Any]) -> None:
        """Call the method of a message and take the messages that it returns."""
        method = message["type"]
        answer = self._call(method, message)
        try:
            if method == "open":
                done = {"type": "done", "port": answer}
                is_message = isinstance(answer, dict) and "type" in answer
                self._conversation.take(answer if is_message else done)
                return
            if answer is None:
                answer = []
            if not isinstance(answer, list):
                protocol_error(f"{method}() returned {shorten(answer)}, not a list of messages")
            for each in answer:
                if self._conversation.take(each):
                    protocol_error(f"{method}() returned a 'done': returning means that")
        except PortFailedError:
            self._port = None
            raise

    def _call(self, method: str, message: Mapping[str, Any]) -> object:
        """Call the object; returns plain JSON, any iterable as a list."""
        arguments = [message[field] for field in METHODS[method].values()]
        fields = {}
        if method == "fault":
            fields = {k: v for k, v in message.items() if k not in {"type", "fault"}}
        try:
            with user_code_guard(self._limit_s):
                return _returned(method, getattr(self._port, method)(*arguments, **fields))
        except TooLongError as alarm:
            reason = f"{method}() did not return within {self._limit_s:g} s"
            self._fail("port hung", reason, alarm.__traceback__)
        except (KeyboardInterrupt, PortFailedError):
            self._port = None
            raise
        # SystemExit too: a coordinator that calls sys.exit() must not end groupcheck.
        except BaseException as error:  # noqa: BLE001 (whatever it is, it ended the call)
            self._fail("port crashed", one_line(error), error.__traceback__)

    def _fail(self, kind: str, reason: str, where: TracebackType | None) -> NoReturn:
        self._port = None
        raise PortFailedError(kind, reason, _own_frames(where)) from None


def _returned(method: str, answer: object) -> object:
    """Convert what a call returned to plain JSON; runs the author's code for lazy values."""
    if close_coroutine(answer):
        protocol_error(f"{method}() is async: the methods of a port are plain functions")
    if not isinstance(answer, Iterable) or isinstance(answer, Mapping | str | bytes):
        return plain(answer)
    messages = [plain(message) for message in islice(answer, MAX_MESSAGES + 1)]
    if len(messages) > MAX_MESSAGES:
        kind = "port hung"
        raise PortFailedError(kind, f"{method}() returned more than {MAX_MESSAGES} messages")
    return messages


def _own_frames(where: TracebackType | None) -> str:
    """Return a traceback without the frames of this folder."""
    here = Path(__file__).parent
    frames = [f for f in traceback.extract_tb(where) if Path(f.filename).parent != here]
    return "".join(traceback.format_list(frames)).rstrip()
