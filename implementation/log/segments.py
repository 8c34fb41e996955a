"""Segment files: their names, their changes, and the check of their content at the start."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from groupcheck.implementation.log.batches import Found, UnsoundError, spans, whole_from
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
    """The system calls that change files, not reads: tests make each of them fail or crash."""

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
        """Return when all that was written to a file would survive a power failure."""
        os.fsync(file)

    def rename(self, path: Path, to: Path) -> None:
        """Rename a file; an existing one is replaced."""
        path.rename(to)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def sync_folder(self, path: Path) -> None:
        """Return when the names in a folder would survive a power failure."""
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class Stored(NamedTuple):
    """A batch and its position."""

    path: Path
    position: int
    batch: Found


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
    except UnsoundError as error:
        message = f"{segment.path} is corrupt at byte {error.position}: {error}"
        raise LogCorruptError(message) from error


def segment_path(folder: Path, base_offset: int) -> Path:
    """The file of a segment, named as Kafka names it."""
    return folder / f"{base_offset:020}{SUFFIX}"


def examine(folder: Path) -> list[Segment]:
    """The segments of a folder in their order.

    The last file may be longer than its `size`: its writer may have stopped in an append.

    Raises:
        LogCorruptError: Bytes in the middle are not a batch.

    """
    segments: list[Segment] = []
    paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    next_offset = 0
    for path in paths:
        segment = _examine_segment(path, next_offset, is_last=path is paths[-1])
        segments.append(segment)
        next_offset = segment.next_offset
    return segments


def _examine_segment(path: Path, least_offset: int, *, is_last: bool) -> Segment:
    """A segment up to its last sound batch."""
    try:
        base_offset = int(path.stem)
    except ValueError:
        message = f"{path} has no offset for a name"
        raise LogCorruptError(message) from None
    if base_offset < least_offset:
        message = f"{path} begins at offset {base_offset}, where {least_offset} comes next"
        raise LogCorruptError(message)
    data = path.read_bytes()
    size, next_offset = 0, base_offset
    try:
        for span in spans(data, base_offset):
            size, next_offset = span.end, span.next_offset
    except UnsoundError as error:
        _refuse_unless_torn(path, data, error, is_last=is_last)
        logger.warning(
            "%s: the last %d bytes were not written whole and are cut off, at byte %d (%s)",
            path,
            len(data) - size,
            size,
            error,
        )
    return Segment(path, base_offset, size, next_offset)


def _refuse_unless_torn(path: Path, data: bytes, error: UnsoundError, *, is_last: bool) -> None:
    """Accept only what an interrupted append leaves: unsound bytes with nothing after them.

    Raises:
        LogCorruptError: A batch or a segment follows.

    """
    found = f"{path} is corrupt at byte {error.position}: {error}"
    if not is_last:
        message = f"{found}; there are later segments"
        raise LogCorruptError(message)
    whole = whole_from(data, error.position)
    if whole is not None:
        message = f"{found}; there is a whole batch at byte {whole}"
        raise LogCorruptError(message)
