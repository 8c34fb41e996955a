"""The lines of a recording, and their messages.

A fast parser reads the lines as servers write them, and leaves their bodies as they are. `json`
reads lines of another form, and reports what is wrong with a line.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

import msgspec

from groupcheck.model.bodies import Json, shown
from groupcheck.properties.sequence import FAULTS

HAPPENED: Final = FAULTS.keys() - {"holdAppends", "releaseAppends"}  # that happen to brokers


class Line(NamedTuple):
    """A line and its number: its bytes, a message from a row of Parquet, or an error."""

    number: int
    data: bytes | None = None
    message: dict[str, object] | None = None
    reason: str = ""


class RejectedLineError(Exception):
    """The reader does not keep a line; `gap` says whether events may be missing because of it."""

    def __init__(self, reason: str, *, gap: bool = True) -> None:
        super().__init__(reason)
        self.gap = gap


class Message(msgspec.Struct, rename="camel"):
    """A message that is not the first line; the body of a fault is the whole message."""

    type: str
    id: int = -1
    api: str = ""
    api_version: int = -1
    client_id: str = ""
    client_host: str = ""
    ms: int = -1
    fault: str = ""
    body: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def text(self) -> str:
        """The body as JSON."""
        return bytes(self.body).decode()


DECODER: Final = msgspec.json.Decoder(Message)


def parse_fast(line: Line) -> Message | None:
    """The message of a line; None if it has another form."""
    data = line.data
    if data is None or line.reason or not data.isascii() or b"\\" in data:
        return None
    try:
        found = DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    match found.type:
        case "request":
            is_whole = found.id >= 0 and found.api_version >= 0
        case "response":
            is_whole = found.id >= 0
        case kind:
            is_whole = kind == "advance" and found.ms >= 0
    return found if is_whole and len(bytes(found.body).split(None, 1)) == 1 else None


def json_object(line: Line) -> Json:
    """The JSON object of a line.

    Raises:
        RejectedLineError: it has none.
    """
    if line.reason:
        raise RejectedLineError(line.reason)
    if line.message is not None:
        return line.message
    data = line.data or b""
    try:
        message = json.loads(data.decode())
        if b"\\ud" in data or b"\\uD" in data:
            json.dumps(message, ensure_ascii=False).encode()  # a lone surrogate is not a character
    except UnicodeError as error:
        reason = "not text in UTF-8"
        raise RejectedLineError(reason) from error
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        reason = "not a JSON object"
        raise RejectedLineError(reason)
    return message


def message_of(fields: Json) -> Message:
    """The message of a line that is not the first.

    Raises:
        RejectedLineError: it is not a message of a recording.
    """
    match fields:
        case {"type": "advance", "ms": int(ms)} if ms >= 0:
            return Message("advance", ms=ms)
        case {"type": "fault", "fault": str(name)} if name in {*FAULTS, "append"}:
            return Message("fault", fault=name, body=msgspec.Raw(json.dumps(fields)))
        case {"type": "request", "id": int(n), "api": str(api), "apiVersion": int(version)}:
            client_id, client_host = (str(fields.get(f, "")) for f in ("clientId", "clientHost"))
            return Message("request", n, api, version, client_id, client_host, body=_body(fields))
        case {"type": "response", "id": int(n)}:
            return Message("response", n, body=_body(fields))
    reason = f"not a message of a recording: {shown(fields)}"
    raise RejectedLineError(reason)


def _body(fields: Json) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(fields.get("body"), separators=(",", ":")))
