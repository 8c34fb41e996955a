"""Segment files: their names, the system calls on them, and the check when they are opened."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from groupcheck.implementation.log.batches import (
    InvalidBatchError,
    UnparsedBatch,
    next_batch_position,
    spans,
)
from groupcheck.implementation.log.errors import LogCorruptError

logger: Final = logging.getLogger(__name__)

SUFFIX: Final = ".log"


class Segment(NamedTuple):
    """A segment file whose bytes up to `size` are batches, and the offset after them."""

    path: Path
    base_offset: int
    size: int
    next_offset: int


class Disk:
    """The system calls that change files; tests make each of them fail or crash."""

    def make_folder(self, path: Path) -> None:
        """Make a folder."""
        path.mkdir()

    def create(self, path: Path) -> int:
        """Create a new file, open for writing."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)

    def write(self, file: int, data: bytes | bytearray, at: int) -> None:
        """Write all of the data at a position."""
        view = memoryview(data)
        while view:
            written = os.pwrite(file, view, at)
            view, at = view[written:], at + written

    def truncate(self, file: int, size: int) -> None:
        """Truncate a file."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Return once all writes to a file survive a power failure."""
        os.fsync(file)

    def rename(self, path: Path, to: Path) -> None:
        """Rename a file; an existing one is replaced."""
        path.rename(to)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def sync_folder(self, path: Path) -> None:
        """Return once the names in a folder survive a power failure."""
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class Stored(NamedTuple):
    """A batch and its position."""

    path: Path
    position: int
    batch: UnparsedBatch


def batches_of(segment: Segment, file: BinaryIO) -> Iterator[Stored]:
    """All batches of a checked segment, read from its file.

    Raises:
        LogCorruptError: The file has changed since.

    """
    with file:
        data = file.read(segment.size)
    try:
        for start, _, _, batch in spans(data, segment.base_offset):
            yield Stored(segment.path, start, batch)
    except InvalidBatchError as error:
        message = f"{segment.path} is corrupt at byte {error.position}: {error}"
        raise LogCorruptError(message) from error


def segment_path(folder: Path, base_offset: int) -> Path:
    """The file of a segment, named as Kafka names it."""
    return folder / f"{base_offset:020}{SUFFIX}"


def check_segments(folder: Path) -> list[Segment]:
    """The segments of a folder in their order.

    The last file may be longer than its `size`: its writer may have stopped in an append.

    Raises:
        LogCorruptError: Bytes in the middle are not a batch.

    """
    segments: list[Segment] = []
    paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    next_offset = 0
    for path in paths:
        segment = _check_segment(path, next_offset, is_last=path is paths[-1])
        segments.append(segment)
        next_offset = segment.next_offset
    return segments


def _check_segment(path: Path, min_offset: int, *, is_last: bool) -> Segment:
    """A segment up to its last valid batch."""
    try:
        base_offset = int(path.stem)
    except ValueError:
        message = f"the name of {path} is not an offset"
        raise LogCorruptError(message) from None
    if base_offset < min_offset:
        message = f"{path} begins at offset {base_offset}, where {min_offset} is expected"
        raise LogCorruptError(message)
    data = path.read_bytes()
    size, next_offset = 0, base_offset
    try:
        for span in spans(data, base_offset):
            size, next_offset = span.end, span.next_offset
    except InvalidBatchError as error:
        _check_is_torn(path, data, error, is_last=is_last)
        logger.warning(
            "%s: the last %d bytes are an incomplete append and are truncated, at byte %d (%s)",
            path,
            len(data) - size,
            size,
            error,
        )
    return Segment(path, base_offset, size, next_offset)


def _check_is_torn(path: Path, data: bytes, error: InvalidBatchError, *, is_last: bool) -> None:
    """Accept invalid bytes only at the end of the log, where an interrupted append leaves them.

    Raises:
        LogCorruptError: A batch or a segment follows.

    """
    message = f"{path} is corrupt at byte {error.position}: {error}"
    if not is_last:
        message += "; there are later segments"
        raise LogCorruptError(message)
    position = next_batch_position(data, error.position)
    if position is not None:
        message += f"; there is a complete batch at byte {position}"
        raise LogCorruptError(message)
