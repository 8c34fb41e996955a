"""The files of sources, and their lines, in bounded memory.

A line that cannot be read has the reason instead of data.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from groupcheck.pipeline.errors import PipelineError, first_line, naming_errors
from groupcheck.properties.histories.lines import Line

Row = dict[str, Any]
# Rows of `READ`, each with the name of its table: an `Event`, or the columns of another table.
Read = Iterator[tuple[str, Any]]
# By the ending of the name, as in Spark.
COMPRESSIONS: Final = (".gz", ".zst", ".bz2")
TRACES: Final = (".jsonl", ".json", ".ndjson", ".log", ".txt", "")
# The ending of the name of a rotated log.
ROTATED: Final = re.compile(r"\.(?:(?P<number>\d{1,4})|(?P<day>\d{4}-\d\d-\d\d(?:-\d\d)?))$")
LOCAL: Final = "file://"
TOPIC_SCHEME: Final = "kafka://"
SEGMENT: Final = re.compile(r"\d{20}\.log")
PARTITION: Final = re.compile(r"__consumer_offsets-\d+")
MOST_BYTES: Final = 16 * 1024 * 1024  # of a line
CHUNK: Final = 64 * 1024
MOST_ROWS: Final = 10_000  # of Parquet, that are in memory
MOST_TEXT: Final = 200  # characters of a line in quarantine


def place(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path in it.

    Raises:
        PipelineError: there is no such file system.
    """
    if "://" not in path:
        return fs.LocalFileSystem(), Path(path).absolute().as_posix()
    if path.startswith(LOCAL):  # unchanged: Arrow reads no URI with a space
        return fs.LocalFileSystem(), path.removeprefix(LOCAL)
    try:
        scheme, _, rest = path.partition("://")
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(
            f"{ {'s3a': 's3', 's3n': 's3'}.get(scheme, scheme) }://{rest}"
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        msg = f"{path}: {first_line(error)}"
        raise PipelineError(msg) from error
    return found


def files(sources: list[str]) -> list[str]:
    """The files of the sources; of a folder, those with the endings of recordings and logs.

    The segments of a partition count as one file: their folder, or without it their names in
    braces.

    Raises:
        PipelineError: a source is missing, or has nothing to read.
    """
    found: dict[str, None] = {}
    for source in sources:
        system, path = place(source)
        with naming_errors(f"read {source}"):
            found.update(
                dict.fromkeys(f"{scheme_of(source)}{p}" for p in _files(system, path, source))
            )
    return sorted(_joined(list(found)))


def _joined(found: list[str]) -> Iterator[str]:
    """Each source; segments without their folder are joined."""
    segments_in: dict[str, list[str]] = {}
    for each in found:
        folder, _, name = each.rpartition("/")
        if SEGMENT.fullmatch(name) is None:
            yield each
        elif folder not in found:
            segments_in.setdefault(folder, []).append(name)
    for folder, names in segments_in.items():
        yield f"{folder}/{names[0] if len(names) == 1 else '{' + ','.join(sorted(names)) + '}'}"


def segments(source: str) -> list[str]:
    """The segments in one of `files`, in the order of their offsets; none if it is another file."""
    system, path = place(source)
    folder, _, name = path.rpartition("/")
    if name.startswith("{") and name.endswith("}"):
        return [f"{folder}/{each}" for each in name[1:-1].split(",")]
    if SEGMENT.fullmatch(name) is not None:
        return [path]
    if system.get_file_info(path).type != fs.FileType.Directory:
        return []
    inside = system.get_file_info(fs.FileSelector(path))
    return sorted(each.path for each in inside if SEGMENT.fullmatch(each.base_name) is not None)


def file_row(
    source: str, kept: int, quarantined: int, events: int, *, sessions: int = 1, **other: int
) -> tuple[str, Row]:
    """The row of `FILES` for a file, with the name of its table."""
    counts = {"read": kept + quarantined, "kept": kept, "quarantined": quarantined}
    return "file", {"source": source, **counts, "sessions": sessions, "events": events, **other}


def quarantined(source: str, line: Line, reason: str) -> Row:
    """A row of `quarantine`."""
    text = json.dumps(line.message)[:MOST_TEXT] if line.message is not None else None
    if line.data is not None:
        text = line.data[: 4 * MOST_TEXT].decode(errors="replace").rstrip("\n")[:MOST_TEXT]
    return {"source": source, "line": line.number, "reason": reason, "text": text}


def by_age(found: list[str]) -> list[str]:
    """Files in the order of rotation, log by log."""
    return sorted(found, key=_age)


def _age(path: str) -> tuple[str, int, int, str]:
    for ending in COMPRESSIONS:
        path = path.removesuffix(ending)
    rotated = ROTATED.search(path)
    if rotated is None:
        return path, 2, 0, ""
    stem = path[: rotated.start()]
    return (stem, 0, -int(rotated[1]), "") if rotated[1] else (stem, 1, 0, rotated[2])


def folder_of(found: list[str]) -> str:
    """The common folder of the files; of one file, the file."""
    if len(found) == 1:
        return found[0]
    folders = [path.split("/")[:-1] for path in found]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*folders, strict=False))
    return "/".join(names[0] for names in shared) or folders[0][0]


def uri_of(path: str) -> str:
    """The URI of a path; a URI is unchanged."""
    return path if "://" in path else f"{LOCAL}{place(path)[1]}"


def scheme_of(source: str) -> str:
    """The scheme of a path or URI, with `://`."""
    return source.partition("://")[0] + "://" if "://" in source else LOCAL


def _files(system: fs.FileSystem, path: str, source: str) -> list[str]:
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        msg = f"cannot read {source}: No such file or directory"
        raise PipelineError(msg)
    if info.type != fs.FileType.Directory:
        return [path]
    inside = system.get_file_info(fs.FileSelector(path, recursive=True))
    paths = [each.path for each in inside if each.type == fs.FileType.File]
    readable = list(dict.fromkeys(filter(None, (_readable(each, path) for each in paths))))
    if not readable:
        msg = f"cannot read {source}: it has no recordings or logs (*.jsonl, *.log, ...)"
        raise PipelineError(msg)
    return readable


def _readable(path: str, among: str) -> str | None:
    """A file to read, or the folder of a segment; segments of other topics are ignored."""
    folder, _, name = path.rpartition("/")
    if SEGMENT.fullmatch(name) is None:
        return path if _is_trace(path) else None
    is_offsets = folder == among or PARTITION.fullmatch(folder.rpartition("/")[2]) is not None
    return folder if is_offsets else None


def _is_trace(path: str) -> bool:
    name = path.rpartition("/")[2]
    if name.startswith((".", "_")):  # as in Spark and Hadoop
        return False
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    name = ROTATED.sub("", name)
    stem, dot, ending = name.rpartition(".")
    return (dot + ending if stem else "") in (*TRACES, ".parquet")


def lines(source: str) -> Iterator[Line]:
    """The lines of a file; the last may have the reason why the rest cannot be read."""
    system, path = place(source)
    number = 0
    try:
        read = _rows(system, path) if path.endswith(".parquet") else _text(system, path)
        for line in read:
            number = line.number
            yield line
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        yield Line(number + 1, reason=f"cannot be read from here on: {first_line(error)}")


def _text(system: fs.FileSystem, path: str) -> Iterator[Line]:
    with system.open_input_stream(path, compression=None) as stream, _plain(stream, path) as file:
        number = 0
        while data := file.readline(MOST_BYTES + 1):
            number += 1
            if len(data) <= MOST_BYTES:
                yield Line(number, data)
                continue
            yield Line(number, data[:200], reason=f"longer than {MOST_BYTES} bytes")
            while data and not data.endswith(b"\n"):
                data = file.readline(CHUNK)


def _plain(stream: Any, path: str) -> Any:  # noqa: ANN401 - files of several kinds
    """A decompressed stream; data before a corrupt position is read, except for a CHUNK of zstd."""
    if path.endswith(".gz"):
        return gzip.GzipFile(fileobj=stream)
    if path.endswith(".bz2"):
        return bz2.BZ2File(stream)
    if path.endswith(".zst"):
        return io.BufferedReader(pa.CompressedInputStream(stream, "zstd"), CHUNK)
    return io.BufferedReader(stream, CHUNK)


def _rows(system: fs.FileSystem, path: str) -> Iterator[Line]:
    """The rows of Parquet: lines in the column `value`, or the fields of messages as columns."""
    with system.open_input_file(path) as file:
        parquet = pq.ParquetFile(file)
        names = parquet.schema_arrow.names
        if "value" not in names and "type" not in names:
            found = ", ".join(names[:8])
            msg = f"neither a column 'value' nor 'type', but {found}"
            raise OSError(msg)
        number = 0
        columns = ["value"] if "value" in names else None
        for batch in parquet.iter_batches(MOST_ROWS, columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield _line_of(number, row) if columns else Line(number, message=_message(row))


def _line_of(number: int, row: dict[str, Any]) -> Line:
    value = row["value"]
    if isinstance(value, str | bytes):
        return Line(number, value.encode() if isinstance(value, str) else value)
    return Line(number, reason="no text in the column 'value'")


def _message(row: dict[str, Any]) -> dict[str, Any]:
    """A message of the fields that are not null; objects may be JSON text."""
    message = {name: _without_nulls(value) for name, value in row.items() if value is not None}
    for name in ("body", "config", "groups"):
        if isinstance(message.get(name), str):
            try:
                message[name] = json.loads(message[name])
            except (ValueError, RecursionError):
                message[name] = None
    return message


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - any value of a column
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
