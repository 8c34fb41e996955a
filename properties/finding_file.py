"""Files that a command writes for its findings, to be given to it again."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

Content = TypeVar("Content", bound=msgspec.Struct)


class MalformedFileError(ValueError):
    """A file that has not what it should have."""

    def __init__(self, path: Path, what: str, why: object) -> None:
        super().__init__(f"{path} has no {what}: {why}")


def write(path: Path, content: object) -> None:
    """Write a file; raises OSError."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def read(path: Path, of: type[Content], what: str) -> Content:
    """Read a file.

    Raises:
        MalformedFileError: its content is not of this type; `what` says in words what is missing.
        OSError: it cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=of)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedFileError(path, what, error) from error
