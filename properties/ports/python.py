"""A port in this Python process, for coordinators in Python; how programs are run is not here.

The contract, for authors of such a port. `python:package.module:factory` names a callable without
parameters that returns an object with five methods, which are called by position:

    open(profile: str, config: dict[str, int]) -> {"name": ..., "version": ...}
    request(request_id: int, api: str, api_version: int, client_id: str, client_host: str,
            body: dict) -> messages
    advance(ms: int) -> messages
    fault(fault: str, **fields) -> messages
    close() -> messages

They are the messages of the port protocol: `open` starts a test with an empty coordinator at time 0
and tells who the port is; the bodies are the protocol's JSON objects (camelCase, bytes in base64,
error codes as numbers). `messages` is any iterable, a generator too, of what the port says before
it is `done`:

    {"type": "response", "id": 7, "body": {...}}     the answer to request 7, whenever it is due
    {"type": "state", "groups": [...]}               optional: the inner view, compared when given
    {"type": "unsupported", "what": "OffsetDelete"}  in the place of a response

Returning is `done`, and returning None is having nothing to say. A port that does not know the
profile returns an `unsupported` from `open`. The factory is called once to see that the object
fits, again for the first test, and again after each failure: it should be cheap and share nothing
between the objects that it returns.

All calls come from one thread. A call that takes longer than the limit is interrupted by an alarm
signal (SIGALRM), which raises in the port's code. Python allows that in the main thread of a POSIX
process only, and only between two steps of the interpreter: in another thread, or in native code
that never returns, there is no limit. A port that may block there is better run as a program. So is
one that may end the whole process, with `os._exit` or in native code: groupcheck ends with it, and
its exit status says nothing. What the port prints goes to standard error.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn

from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.authors_code import TooLongError, authors_code, close_coroutine
from groupcheck.properties.ports.messages import (
    Conversation,
    fault_fields,
    plain,
    protocol_error,
    shorten,
)
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
)
from groupcheck.properties.ports.python_factory import Factory, load_factory, made, name_of, said

__all__ = ["PythonPort", "load_factory", "name_of"]

MAX_MESSAGES: Final = 100_000


class PythonPort:
    """The coordinator that a Python object wraps; implements `Port`.

    Args:
        factory: makes the object; see this module's contract.
        limit_s: how many seconds of real time a call may take.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, factory: Factory, *, limit_s: float = 10.0) -> None:
        self._factory = factory
        self._limit_s = limit_s
        self._conversation = Conversation()
        self._port: object = None

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test; after a failure with a new object from the factory.

        Raises:
            PortUnavailableError: there is no such object, or it does not support the profile.
            PortFailedError: the object failed.
        """
        if self._port is None:
            self._port = made(self._factory, limit_s=self._limit_s)
        message = self._conversation.open(profile, config)
        answer = self._call("open", message["profile"], message["config"])
        try:
            if isinstance(answer, dict) and "type" in answer:
                self._conversation.take(answer)
            else:
                self._conversation.take({"type": "done", "port": answer})
            return self._conversation.port_info()
        except PortFailedError:
            self._port = None
            raise

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Hand over one request.

        Raises:
            PortFailedError: the object failed.
        """
        del expected
        sent = self._conversation.request(request)
        keys = ("id", "api", "apiVersion", "clientId", "clientHost", "body")
        return self._observe("request", *(sent[key] for key in keys))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let `ms` milliseconds of virtual time pass.

        Raises:
            PortFailedError: the object failed.
        """
        del expected
        self._conversation.advance(ms)
        return self._observe("advance", ms)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Let something happen to the coordinator.

        Raises:
            PortFailedError: the object failed.
        """
        del expected
        self._conversation.fault(fault)
        return self._observe("fault", fault.name, **fault_fields(fault))

    def close(self) -> None:
        """End the test; does nothing when the object has already failed.

        Raises:
            PortFailedError: the object failed.
        """
        if self._port is not None:
            self._conversation.close()
            self._observe("close")

    def shutdown(self) -> None:
        """Let go of the object; safe to call twice."""
        self._port = None

    def _observe(self, method: str, *args: object, **fields: object) -> Observation:
        messages = self._call(method, *args, **fields)
        if messages is None:
            messages = []  # a method without a return has nothing to say
        try:
            if not isinstance(messages, list):
                protocol_error(f"{method}() returned {shorten(messages)}, no iterable of messages")
            for message in messages:
                if self._conversation.take(message):
                    protocol_error(f"{method}() gave a 'done': returning is that")
        except PortFailedError:
            self._port = None
            raise
        return self._conversation.observation()

    def _call(self, method: str, *args: object, **fields: object) -> object:
        """Call the object; what it returns as plain JSON, an iterable as a list of messages."""
        try:
            with authors_code(self._limit_s):
                return _said(method, getattr(self._port, method)(*args, **fields))
        except TooLongError as alarm:
            reason = f"{method}() did not return within {self._limit_s:g} s"
            self._fail("port hung", reason, alarm.__traceback__)
        except (KeyboardInterrupt, PortFailedError):
            self._port = None
            raise
        # SystemExit too: a coordinator that calls sys.exit() must not end groupcheck.
        except BaseException as error:  # noqa: BLE001 (whatever it is, it ended the call)
            self._fail("port crashed", said(error), error.__traceback__)

    def _fail(self, kind: str, reason: str, where: TracebackType | None) -> NoReturn:
        self._port = None
        raise PortFailedError(kind, reason, _own_frames(where)) from None


def _said(method: str, answer: object) -> object:
    """What a call returned, as plain JSON; all of it is code and data of the port's author."""
    if close_coroutine(answer):
        protocol_error(f"{method}() is async: the methods of a port are plain functions")
    if not isinstance(answer, Iterable) or isinstance(answer, Mapping | str | bytes):
        return plain(answer)
    messages = [plain(message) for message in islice(answer, MAX_MESSAGES + 1)]
    if len(messages) > MAX_MESSAGES:
        kind = "port hung"
        raise PortFailedError(kind, f"{method}() gave more than {MAX_MESSAGES} messages")
    return messages


def _own_frames(where: TracebackType | None) -> str:
    """A traceback without the frames of this folder."""
    here = Path(__file__).parent
    frames = [f for f in traceback.extract_tb(where) if Path(f.filename).parent != here]
    return "".join(traceback.format_list(frames)).rstrip()
