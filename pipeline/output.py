"""Folders that are written whole or not at all: beside their place first, then renamed.

What stands in the place is never half of something. A folder that is there is left alone, unless it
is one of these, and is to be overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from groupcheck.pipeline.errors import PipelineError
from groupcheck.pipeline.sources import place

MARKER: Final = "_groupcheck.json"
FORMAT: Final = 1


class Output:
    """A folder that is to be written."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._system, self._path = place(path.rstrip("/") or path)
        parent, _, name = self._path.rpartition("/")
        self._beside = f"{parent}/.{name}.{os.getpid()}"
        scheme = path.partition("://")[0] + "://" if "://" in path else "file://"
        self.uri = f"{scheme}{self._beside}"  # where it is written meanwhile

    def check(self, *, overwrite: bool) -> None:
        """See that it can be written.

        Raises:
            PipelineError: it is there, or cannot be made.
        """
        info = self._system.get_file_info(self._path)
        if info.type == fs.FileType.Directory and overwrite:
            if marker(self.name) is None and self._system.get_file_info(
                fs.FileSelector(self._path)
            ):
                msg = f"{self.name} is not overwritten: groupcheck has not written it"
                raise PipelineError(msg)
        elif info.type != fs.FileType.NotFound:
            msg = f"{self.name} is there already; --overwrite writes it anew"
            raise PipelineError(msg)
        with writes(self.name):
            self._system.create_dir(self._beside, recursive=True)

    @contextlib.contextmanager
    def written(self, kind: str) -> Iterator[dict[str, Any]]:
        """Write at `uri` meanwhile; what is put into the mapping is told of it in its marker.

        Raises:
            PipelineError: it cannot be put into its place.
        """
        told: dict[str, Any] = {"format": FORMAT, "kind": kind}
        try:
            yield told
            with writes(self.name):
                with self._system.open_output_stream(f"{self._beside}/{MARKER}") as file:
                    file.write(json.dumps(told, indent=1).encode() + b"\n")
                self._replace()
        finally:
            with contextlib.suppress(OSError, pa.ArrowException):
                if self._system.get_file_info(self._beside).type != fs.FileType.NotFound:
                    self._system.delete_dir(self._beside)

    def _replace(self) -> None:
        if self._system.get_file_info(self._path).type == fs.FileType.Directory:
            self._system.delete_dir(self._path)
        self._system.move(self._beside, self._path)


def marker(path: str) -> dict[str, Any] | None:
    """What is told of a folder that was written whole; None if it was not, or is something else.

    Raises:
        PipelineError: it is of a form that this version does not read.
    """
    system, inside = place(path.rstrip("/") or path)
    try:
        with system.open_input_stream(f"{inside}/{MARKER}") as file:
            told: dict[str, Any] = dict(json.loads(file.read(1024 * 1024)))
    except (OSError, ValueError, TypeError):
        return None
    if told.get("format") != FORMAT:
        msg = f"{path}: {MARKER} is of a form that this version does not read"
        raise PipelineError(msg)
    return told


def put_marker(path: str, told: dict[str, Any]) -> None:
    """Tell something of a folder that is whole now: all at once, whatever happens meanwhile.

    Raises:
        PipelineError: it cannot be written.
    """
    system, inside = place(path.rstrip("/") or path)
    with writes(path):
        with system.open_output_stream(f"{inside}/.{MARKER}") as file:
            file.write(json.dumps({"format": FORMAT, **told}, indent=1).encode() + b"\n")
        system.move(f"{inside}/.{MARKER}", f"{inside}/{MARKER}")


@contextlib.contextmanager
def writes(name: str) -> Iterator[None]:
    """What goes wrong while a place is written to is said in a line.

    Raises:
        PipelineError: something went wrong.
    """
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        msg = f"cannot write to {name}: {why}"
        raise PipelineError(msg) from error
