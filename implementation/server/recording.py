"""Records the requests and responses of the coordinator, as JSON Lines for `groupcheck replay`.

The lines are the messages of the port protocol, both ways: `open` with the profile and the
settings, then `request`, `response`, and `advance` with the time that has passed. Group and member
ids are the real ones. A body is the whole record of the vocabulary; fields that its version lacks
have their defaults. It appends to an existing file: another `open` starts another session.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from groupcheck.model.vocabulary import LeaveGroupRequest, Request, Response

Class = Any  # of records

FORMAT: Final = 1  # of traces


class Recording:
    """A file that is written line by line.

    If a line cannot be written (the disk is full), recording stops: a recording with a gap would be
    checked wrongly. `failed` is called once, and the file stays.

    Args:
        path: the file.
        profile: the version of Kafka.
        config: the settings of the coordinator, by Kafka's names.
        failed: called with the reason when recording stops.
        groups: groups that existed before, which cannot be checked.

    Raises:
        OSError: the file cannot be opened or written.

    """

    def __init__(
        self,
        path: Path,
        profile: str,
        config: Mapping[str, int],
        failed: Callable[[str], None],
        groups: Sequence[str] = (),
    ) -> None:
        self._failed = failed
        self._passed_ms = 0
        self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            end_torn_line(self._file)
            header: dict[str, Any] = {
                "type": "open",
                "trace": FORMAT,
                "profile": profile,
                "config": dict(config),
            }
            if groups:
                header["groups"] = list(groups)
            write_whole(self._file, _line(header))
        except OSError:
            self.close()
            raise

    def advance(self, ms: int) -> None:
        """Time passed; it is written before the next line of another kind."""
        self._passed_ms += ms

    def request(self, request: Request) -> None:
        """Record a request."""
        self._write(
            {
                "type": "request",
                "id": request.request_id,
                "api": request.api,
                "apiVersion": request.api_version,
                "clientId": request.client_id,
                "clientHost": request.client_host,
                "body": _request_body(request),
            }
        )

    def response(self, response: Response) -> None:
        """Record a response."""
        body = _encode(response.body)
        self._write({"type": "response", "id": response.request_id, "body": body})

    def fault(self, name: str) -> None:
        """Record a fault, by the port protocol's name."""
        self._write({"type": "fault", "fault": name})

    def stop(self, why: str) -> None:
        """Stop recording, and report why."""
        self.close()
        self._failed(why)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, message: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        lines = _line(message)
        if self._passed_ms:
            lines = _line({"type": "advance", "ms": self._passed_ms}) + lines
            self._passed_ms = 0
        try:
            write_whole(self._file, lines)
        except OSError as error:
            self.stop(error.strerror or "it cannot be written to")


def write_whole(file: int, data: bytes) -> None:
    """Write all of it, or nothing.

    Raises:
        OSError: it could not be written.
    """
    before = os.fstat(file).st_size
    written = 0
    try:
        while written < len(data):
            written += os.write(file, data[written:])
    except OSError:
        if written:
            os.ftruncate(file, before)
        raise


def end_torn_line(file: int) -> None:
    """Terminate an incomplete last line, as a crashed machine may leave it.

    Raises:
        OSError: it cannot be read or written.
    """
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        write_whole(file, b"\n")


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _request_body(request: Request) -> Any:  # noqa: ANN401 - JSON
    body = request.body
    if isinstance(body, LeaveGroupRequest) and request.api_version < 3:
        return {"groupId": body.group_id, "memberId": body.members[0].member_id}
    return _encode(body)


def _encode(value: Any) -> Any:  # noqa: ANN401 - any value of a record, as JSON
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "_fields"):
        record_type: Class = type(value)
        names = _camel_names(record_type)
        return {name: _encode(item) for name, item in zip(names, value, strict=True)}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


@cache
def _camel_names(record_type: Class) -> tuple[str, ...]:
    """A record's field names as Kafka's definitions spell them."""
    split = (name.split("_") for name in record_type._fields)
    return tuple(head + "".join(map(str.capitalize, rest)) for head, *rest in split)
