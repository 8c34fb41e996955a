"""A fast parser for the lines of a recording as servers write them; it does not parse the body.

A line of another form gives None, and `json` parses it: only the slow parser reports errors.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec


class Line(NamedTuple):
    """A line by its number: its bytes, or a message from a row of Parquet, or why neither."""

    number: int
    data: bytes | None = None
    message: dict[str, object] | None = None
    reason: str = ""


class Fast(msgspec.Struct, rename="camel"):
    """A message; missing numbers are -1. A valid message has no negative number."""

    type: str
    id: int = -1
    api: str = ""
    api_version: int = -1
    client_id: str = ""
    client_host: str = ""
    ms: int = -1
    body: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def text(self) -> str:
        """The body."""
        return bytes(self.body).decode()


DECODER: Final = msgspec.json.Decoder(Fast)


def parse_fast(line: Line) -> Fast | None:
    """The message of a line; None if it has another form."""
    data = line.data
    if data is None or line.reason or not data.isascii() or b"\\" in data:
        return None
    try:
        found = DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if len(bytes(found.body).split(None, 1)) == 1 else None
