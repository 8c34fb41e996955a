"""Lines of a recording in the form in which they are written, read without a look into the body.

Nearly all are: JSON without spaces, of which the body is kept as the text that it is. Any other
line is None here, and read with `json`: what is said of it is said there alone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from groupcheck.pipeline.sources import Line


class Plain(msgspec.Struct, rename="camel"):
    """A message; what it has not is -1, or nothing. No number in one that is kept is negative."""

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


DECODER: Final = msgspec.json.Decoder(Plain)


def plain(line: Line) -> Plain | None:
    """The message of a line; None if it is of another form."""
    data = line.data
    if data is None or line.reason or not data.isascii() or b"\\" in data:
        return None
    try:
        found = DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if len(bytes(found.body).split(None, 1)) == 1 else None
