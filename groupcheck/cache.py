"""The user's cache: downloaded brokers, and values that take long to derive from the model.

It is `groupcheck` in the user's cache folder (XDG_CACHE_HOME on Linux), and may be deleted at any
time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Final, TypeVar

from platformdirs import user_cache_path

from groupcheck import model
from groupcheck.model.engine.exploration import without_collector

T = TypeVar("T")

MOST_BYTES: Final = 500_000_000  # of derived values; the least recently read are deleted
WAIT_S: Final = 60.0  # for another process that derives the same value


def cache_folder() -> Path:
    """The folder of groupcheck in the user's cache."""
    return user_cache_path("groupcheck", appauthor=False)


@cache
def source_digest(*packages: ModuleType) -> str:
    """A digest of the source code of some packages; empty if it is not in files, but in a zip."""
    return _digest(packages)


def derived(name: str, derive: Callable[[], T], *packages: ModuleType) -> T:
    """The result of `derive`, in this or an earlier process.

    It depends on the name and on the source code of the model and of `packages` alone, and can be
    pickled. If the cache cannot be used, it is derived each time.
    """
    packages = (model, *packages)
    source = source_digest(*packages)
    text = f"{name}\0{source}\0{sys.version}"
    file = cache_folder() / "derived" / hashlib.sha256(text.encode()).hexdigest()
    with _entry(file) as entry:
        if entry is None or not source:
            return derive()
        found: list[T] = _read(entry)
        if found:
            return found[0]
        value = derive()
        # Source code that was changed meanwhile may differ from the code that this process runs.
        if _digest(packages) == source:
            _write(entry, value)
            _limit(file.parent)
    return value


def _digest(packages: tuple[ModuleType, ...]) -> str:
    sources = sorted(
        Path(folder, file)
        for package in packages
        for folder, _, files in os.walk(package.__path__[0])
        for file in files
        if file.endswith(".py")
    )
    if not sources:
        return ""
    return hashlib.sha256(b"\0".join(each.read_bytes() for each in sources)).hexdigest()


@contextmanager
def _entry(file: Path) -> Iterator[IO[bytes] | None]:
    """Open the file of a value for this process alone; None if that is impossible."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        entry = file.open("a+b")
    except OSError:
        yield None
        return
    with entry:  # closing it unlocks it
        yield entry if _lock(entry) else None


def _lock(entry: IO[bytes]) -> bool:
    end = time.monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(entry, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        except OSError:  # a file system without locks
            return False
        else:
            return True


def _read(entry: IO[bytes]) -> list[T]:
    """The value of an entry; nothing if it is empty or incomplete."""
    entry.seek(0)
    try:
        with without_collector():  # collecting would take ten times as long as loading
            value: T = pickle.load(entry)  # noqa: S301 - written by this user's own processes
    except Exception:  # noqa: BLE001 - a damaged pickle may raise anything
        return []
    with suppress(OSError):
        os.utime(entry.fileno())
    return [value]


def _write(entry: IO[bytes], value: object) -> None:
    with suppress(OSError):  # a full disk: the incomplete file is no valid pickle
        entry.truncate(0)
        pickle.dump(value, entry, pickle.HIGHEST_PROTOCOL)
        entry.flush()


def _limit(folder: Path) -> None:
    """Delete the least recently read values."""
    with suppress(OSError):  # another process does the same
        values = sorted(((each.stat(), each) for each in folder.iterdir()), key=_last_read)
        size = sum(stat.st_size for stat, _ in values)
        for stat, each in values:
            if size <= MOST_BYTES:
                break
            each.unlink()
            size -= stat.st_size


def _last_read(value: tuple[os.stat_result, Path]) -> float:
    return value[0].st_mtime
