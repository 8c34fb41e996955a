"""The port protocol's messages to and from typed records; ports transport them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from groupcheck.model.bodies import (
    MalformedBodyError,
    decode,
    decode_response,
    encode,
)
from groupcheck.model.vocabulary import GroupView, Request, Response
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)

Json = dict[str, Any]

PROTOCOL_VERSION = 1
SHOWN_CHARS = 120
MAX_DEPTH = 20
INTEGERS = range(-(2**63), 2**63)  # Kafka has no wider field


def shorten(value: object) -> str:
    """Return the repr of what a port sent, short enough for one line of a report."""
    shown = repr(value)
    return shown if len(shown) <= SHOWN_CHARS else f"{shown[: SHOWN_CHARS - 3]}..."


def plain(value: object, depth: int = 0) -> object:
    """Convert a value to JSON values of Python's built-in types, tuples to lists.

    Raises:
        PortFailedError: it is not JSON, is nested too deep, or has an integer of more than 64 bits
            or a string that cannot be encoded in UTF-8.
    """
    if depth > MAX_DEPTH:
        protocol_error(f"a message nested deeper than {MAX_DEPTH}")
    if isinstance(value, Mapping):
        return {_key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return _scalar(value)


def _scalar(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        number = int.__index__(value)
        if number not in INTEGERS:
            protocol_error("an integer of more than 64 bits")
        return number
    return protocol_error(f"not a JSON value: an object of type {type(value).__name__}")


def _text(value: str) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        protocol_error(f"a string that cannot be encoded in UTF-8: {text[:SHOWN_CHARS]!a}")
    return text


def _key(key: object) -> str:
    if not isinstance(key, str):
        protocol_error(f"an object with a key of type {type(key).__name__}")
    return _text(key)


def protocol_error(reason: str) -> NoReturn:
    """Report that the port violates the port protocol.

    Raises:
        PortFailedError: always.
    """
    kind = "protocol error"
    raise PortFailedError(kind, reason)


def request_message(request: Request) -> Json:
    """Return the message that carries a request."""
    return {
        "type": "request",
        "id": request.request_id,
        "api": request.api,
        "apiVersion": request.api_version,
        "clientId": request.client_id,
        "clientHost": request.client_host,
        "body": encode(request.body, request.api_version),
    }


def fault_message(fault: Fault) -> Json:
    """Return the message that injects a fault; values that the fault does not have are left out."""
    config = None if fault.max_size is None else {"group.max.size": fault.max_size}
    rest = {"count": fault.number, "error": fault.error, "config": config}
    given = {name: value for name, value in rest.items() if value is not None}
    return {"type": "fault", "fault": fault.name, **given}


class Conversation:
    """The driver's side of the port protocol: builds messages and reads what comes back.

    It tracks the unanswered requests. Build a message, send it, `take` each message that comes back
    until that returns True, then call `observation`.
    """

    def __init__(self) -> None:
        self._unanswered: dict[int, tuple[str, int]] = {}
        self._answered: dict[int, tuple[str, int]] = {}
        self._begin("open")

    def open(self, profile: str, config: Mapping[str, int]) -> Json:
        """Build the message that starts a test; forgets the requests of the last one."""
        self._unanswered.clear()
        self._answered.clear()
        self._begin("open")
        return {
            "type": "open",
            "protocol": PROTOCOL_VERSION,
            "profile": profile,
            "config": dict(config),
        }

    def request(self, request: Request) -> Json:
        """Build the message that carries a request."""
        self._begin("request", request.request_id)
        self._unanswered[request.request_id] = (request.api, request.api_version)
        return request_message(request)

    def advance(self, ms: int) -> Json:
        """Build the message that advances the clock by `ms` milliseconds."""
        self._begin("advance")
        return {"type": "advance", "ms": ms}

    def fault(self, fault: Fault, expected: Collection[int] = ()) -> Json:
        """Build the message that injects a fault.

        Requests that are `expected` to be answered may have been answered before: a group that is
        stuck does so when it is unloaded (KAFKA-6005).
        """
        self._begin("fault")
        for request_id in expected:
            if request_id in self._answered:
                self._unanswered[request_id] = self._answered.pop(request_id)
        return fault_message(fault)

    def close(self) -> Json:
        """Build the message that ends a test."""
        self._begin("close")
        return {"type": "close"}

    def _begin(self, sent: str, request_id: int | None = None) -> None:
        self._sent = sent
        self._request_id = request_id
        self._responses: list[Response] = []
        self._groups: tuple[GroupView, ...] | None = None
        self._unsupported: str | None = None
        self._port: object = None
        self._done = False

    def take(self, message: object) -> bool:
        """Process one `plain` message of the port; returns True when it was `done`.

        Raises:
            PortFailedError: the message violates the protocol.
        """
        if self._done:
            protocol_error(f"a message after 'done': {shorten(message)}")
        if not isinstance(message, dict):
            protocol_error(f"not a JSON object: {shorten(message)}")
        match message.get("type"):
            case "response":
                self._take_response(message)
            case "done":
                self._done = True
                self._port = message.get("port")
            case "state":
                self._take_state(message)
            case "unsupported":
                self._take_unsupported(message)
            case None:
                protocol_error(f"a message without 'type': {shorten(message)}")
            case other:
                protocol_error(f"a message of unknown type {shorten(other)}")
        return self._done

    def _take_response(self, message: Json) -> None:
        request_id = message.get("id")
        # In Python True and 1.0 are equal to 1; neither is the id that was sent.
        if type(request_id) is not int:
            protocol_error(f"a response whose 'id' is not an integer: {shorten(message)}")
        if request_id in self._answered:
            protocol_error(f"a second response to request {request_id}")
        if request_id not in self._unanswered:
            protocol_error(f"a response to request {request_id}, which was never sent")
        if "body" not in message:
            protocol_error(f"the response to request {request_id} has no 'body'")
        api, version = self._answered[request_id] = self._unanswered.pop(request_id)
        try:
            body = decode_response(api, version, message["body"])
        except MalformedBodyError as error:
            where = f"the response to request {request_id} does not fit {api} version {version}"
            protocol_error(f"{where}: {error}")
        self._responses.append(Response(request_id, body))

    def _take_state(self, message: Json) -> None:
        groups = message.get("groups")
        if not isinstance(groups, list | tuple):
            protocol_error(f"a state without a list of 'groups': {shorten(message)}")
        if self._groups is not None:
            protocol_error("a second state before 'done'")
        try:
            self._groups = tuple(
                decode(GroupView, group, f"state.groups[{i}]") for i, group in enumerate(groups)
            )
        except MalformedBodyError as error:
            protocol_error(str(error))

    def _take_unsupported(self, message: Json) -> None:
        what = message.get("what")
        if not isinstance(what, str):
            protocol_error(f"an unsupported without 'what': {shorten(message)}")
        if self._unsupported is not None:
            protocol_error(f"a second unsupported before 'done': {shorten(message)}")
        if self._request_id is not None:
            if self._request_id in self._answered:
                protocol_error(f"request {self._request_id} is both answered and unsupported")
            # It replaces the response, so none may follow.
            self._answered[self._request_id] = self._unanswered.pop(self._request_id)
        elif self._sent not in {"open", "fault"}:
            protocol_error(f"an unsupported in answer to {self._sent!r}: {shorten(what)}")
        self._unsupported = what

    def observation(self) -> Observation:
        """Return what the port sent between the last message and its `done`."""
        return Observation(tuple(self._responses), self._groups, self._unsupported)

    def port_info(self) -> PortInfo:
        """Return the name and version in the port's answer to `open`.

        Raises:
            PortUnavailableError: the port does not support this profile or protocol.
            PortFailedError: the name is missing, or one of them is not a string.
        """
        if self._unsupported is not None:
            msg = f"the port does not support {self._unsupported}"
            raise PortUnavailableError(msg)
        port = self._port
        if not isinstance(port, dict) or not isinstance(port.get("name"), str):
            protocol_error(f"the answer to 'open' does not name the port: {shorten(port)}")
        version = port.get("version", "")
        if not isinstance(version, str):
            protocol_error(f"the port's version is not a string: {shorten(version)}")
        return PortInfo(port["name"], version)


class VirtualTimePort(ABC):
    """A port in virtual time: each call is one message of the port protocol.

    It implements all of `Port` but `open` and `shutdown`; only a fault needs `expected`.

    Every call raises `PortFailedError` when the port fails.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self) -> None:
        self._conversation = Conversation()

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        del expected
        return self._observe(self._conversation.request(request))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Advance virtual time by `ms` milliseconds."""
        del expected
        return self._observe(self._conversation.advance(ms))

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Inject a fault."""
        return self._observe(self._conversation.fault(fault, expected))

    def close(self) -> None:
        """End the test; does nothing after a failure."""
        if self._is_running:
            self._exchange(self._conversation.close())

    def _observe(self, message: dict[str, Any]) -> Observation:
        self._exchange(message)
        return self._conversation.observation()

    @property
    @abstractmethod
    def _is_running(self) -> bool:
        """Whether there is a port to talk to."""

    @abstractmethod
    def _exchange(self, message: dict[str, Any]) -> None:
        """Send a message and pass everything that comes back to the conversation."""
