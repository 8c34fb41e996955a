"""The system calls that change files, in one place: tests make each of them fail or crash.

Reads do not go through it.
"""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """The real disk."""

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
