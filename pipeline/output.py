"""Output folders that are complete or absent: each is written under a temporary name, then renamed.

An existing folder is an error, unless groupcheck has written it and --overwrite is given.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from groupcheck.pipeline.errors import PipelineError, naming_errors
from groupcheck.pipeline.schemas import columns_of
from groupcheck.pipeline.sources import place, scheme_of

MARKER: Final = "_groupcheck.json"
FORMAT: Final = 1


class Output:
    """An output folder."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._system, self._path = place(path.rstrip("/") or path)
        parent, _, name = self._path.rpartition("/")
        self._temporary = f"{parent}/.{name}.{os.getpid()}"
        self.uri = f"{scheme_of(path)}{self._temporary}"  # before it is renamed

    def check(self, *, overwrite: bool) -> None:
        """Check that the folder can be written.

        Raises:
            PipelineError: it exists, or cannot be created.
        """
        info = self._system.get_file_info(self._path)
        if info.type == fs.FileType.Directory and overwrite:
            if marker(self.name) is None and self._system.get_file_info(
                fs.FileSelector(self._path)
            ):
                msg = f"{self.name} is not overwritten, because groupcheck has not written it"
                raise PipelineError(msg)
        elif info.type != fs.FileType.NotFound:
            msg = f"{self.name} exists already; --overwrite replaces it"
            raise PipelineError(msg)
        with naming_errors(f"write to {self.name}"):
            self._system.create_dir(self._temporary, recursive=True)

    @contextlib.contextmanager
    def written(self, kind: str) -> Iterator[dict[str, Any]]:
        """Write to `uri` inside the context; its marker gets the entries of the mapping.

        Raises:
            PipelineError: the folder cannot be renamed.
        """
        marked: dict[str, Any] = {"format": FORMAT, "kind": kind}
        try:
            yield marked
            with naming_errors(f"write to {self.name}"):
                with self._system.open_output_stream(f"{self._temporary}/{MARKER}") as file:
                    file.write(json.dumps(marked, indent=1).encode() + b"\n")
                self._replace()
        finally:
            with contextlib.suppress(OSError, pa.ArrowException):
                if self._system.get_file_info(self._temporary).type != fs.FileType.NotFound:
                    self._system.delete_dir(self._temporary)

    def write(self, table: str, rows: Sequence[Any], schema: pa.Schema) -> None:
        """Write a table, a folder with one file, inside the context of `written`.

        Raises:
            PipelineError: the file system has raised an error.
        """
        columns = pa.table(columns_of(rows, schema), schema)
        folder = f"{self._temporary}/{table}"
        with naming_errors(f"write to {self.name}"):
            self._system.create_dir(folder, recursive=True)
            with self._system.open_output_stream(f"{folder}/part-0.parquet") as file:
                pq.write_table(columns, file, compression="zstd")

    def replace(self, table: str, by: str) -> None:
        """Replace a table by another one, inside the context of `written`."""
        with naming_errors(f"write to {self.name}"):
            self._system.delete_dir(f"{self._temporary}/{table}")
            self._system.move(f"{self._temporary}/{by}", f"{self._temporary}/{table}")

    def _replace(self) -> None:
        if self._system.get_file_info(self._path).type == fs.FileType.Directory:
            self._system.delete_dir(self._path)
        self._system.move(self._temporary, self._path)


def marker(path: str) -> dict[str, Any] | None:
    """The marker of a complete folder; None without a valid marker.

    Raises:
        PipelineError: it has a format that this version does not read.
    """
    system, inside = place(path.rstrip("/") or path)
    try:
        with system.open_input_stream(f"{inside}/{MARKER}") as file:
            found: dict[str, Any] = dict(json.loads(file.read(1024 * 1024)))
    except (OSError, ValueError, TypeError):
        return None
    if found.get("format") != FORMAT:
        msg = f"{path}: {MARKER} has a format that this version does not read"
        raise PipelineError(msg)
    return found


def put_marker(path: str, entries: dict[str, Any]) -> None:
    """Mark a folder as complete, atomically.

    Raises:
        PipelineError: the marker cannot be written.
    """
    system, inside = place(path.rstrip("/") or path)
    with naming_errors(f"write to {path}"):
        with system.open_output_stream(f"{inside}/.{MARKER}") as file:
            file.write(json.dumps({"format": FORMAT, **entries}, indent=1).encode() + b"\n")
        system.move(f"{inside}/.{MARKER}", f"{inside}/{MARKER}")
