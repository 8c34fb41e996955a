"""A disk whose calls fail, or on which the machine stops, at a point that the test chooses."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from groupcheck.implementation.log.segments import Disk


class Stop(BaseException):
    """The machine has stopped: nothing in the program survives it."""


class HastyDisk(Disk):
    """Never syncs, for tests of other things."""

    def sync(self, file: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


class FaultyDisk(Disk):
    """Counts its calls and makes some of them fail; it never syncs.

    Args:
        before: Called with each call's number and name; raises the fault that replaces the call.

    """

    def __init__(self, before: Callable[[int, str], None]) -> None:
        self.calls = 0
        self._before = before
        # Files by inode: how much of them was synced.
        self._synced: dict[int, int] = {}
        # By folder: how to undo what was done to its names since it was synced.
        self._undo: dict[Path, list[Callable[[], object]]] = {}

    def _call(self, name: str) -> None:
        self.calls += 1
        self._before(self.calls, name)

    def make_folder(self, path: Path) -> None:
        self._call("make_folder")
        super().make_folder(path)

    def create(self, path: Path) -> int:
        self._call("create")
        file = super().create(path)
        self._synced[os.fstat(file).st_ino] = 0
        self._undoable(path, path.unlink)
        return file

    def write(self, file: int, data: bytes | bytearray, at: int) -> None:
        self._synced.setdefault(os.fstat(file).st_ino, at)
        try:
            self._call("write")
        except BaseException:
            # A failed write may have written a part.
            super().write(file, data[: len(data) // 2], at)
            raise
        super().write(file, data, at)

    def truncate(self, file: int, size: int) -> None:
        self._call("truncate")
        super().truncate(file, size)

    def sync(self, file: int) -> None:
        self._call("sync")
        status = os.fstat(file)
        self._synced[status.st_ino] = status.st_size

    def rename(self, path: Path, to: Path) -> None:
        self._call("rename")
        replaced = to.read_bytes() if to.exists() else None
        super().rename(path, to)

        def undo() -> None:
            to.rename(path)
            if replaced is not None:
                to.write_bytes(replaced)

        self._undoable(path, undo)

    def remove(self, path: Path) -> None:
        self._call("remove")
        if path.exists():
            data = path.read_bytes()
            super().remove(path)
            self._undoable(path, lambda: path.write_bytes(data))

    def sync_folder(self, path: Path) -> None:
        self._call("sync_folder")
        self._undo.pop(path, None)

    def _undoable(self, path: Path, undo: Callable[[], object]) -> None:
        self._undo.setdefault(path.parent, []).append(undo)

    def lose_power(self, folder: Path, names: slice) -> None:
        """Remove data that was not synced, and undo these changes of each folder's names."""
        for undos in self._undo.values():
            for undo in reversed(undos[names]):
                # A later change may have removed the file.
                with suppress(FileNotFoundError):
                    undo()
        for path in folder.rglob("*"):
            status = path.stat()
            synced = self._synced.get(status.st_ino, status.st_size)
            if path.is_file() and synced < status.st_size:
                os.truncate(path, synced)


def at(number: int, error: BaseException) -> Callable[[int, str], None]:
    """Fail at one call; after a stop, at all later ones."""

    def before(call: int, _: str) -> None:
        if call == number or (call > number and isinstance(error, Stop)):
            raise error

    return before


def whenever(name: str, error: BaseException) -> Callable[[int, str], None]:
    """Fail at every call of a name."""

    def before(_: int, called: str) -> None:
        if called == name:
            raise error

    return before


def never(_: int, __: str) -> None:
    """Fail at no call."""
