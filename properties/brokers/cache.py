"""Downloaded and built brokers in the user's cache.

This module also runs the programs that download, build and run them, and reads their versions.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from groupcheck.cache import cache_folder
from groupcheck.properties.ports.port import PortUnavailableError

MAKE_S: Final = 900
ASK_S: Final = 20.0
SHOWN_CHARS: Final = 400


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of the cache; `make` creates it if it is missing, one process at a time.

    The folder is complete or missing. Errors of `make` pass through.

    Raises:
        PortUnavailableError: the cache is not writable.
    """
    folder = cache_folder() / name
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (folder.parent / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as made:
                    make(Path(made) / name)
                    (Path(made) / name).rename(folder)
    except OSError as error:
        msg = f"cannot store a broker's files in {folder.parent}: {error.strerror}"
        raise PortUnavailableError(msg) from error
    return folder


def do(argv: list[str], what: str, folder: Path | None = None) -> None:
    """Run a program that downloads or builds something.

    Raises:
        PortUnavailableError: it failed; the message has its first error line.
    """
    program = shutil.which(argv[0]) or argv[0]
    try:
        done = subprocess.run(  # noqa: S603 (this package chooses it)
            [program, *argv[1:]],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=MAKE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        msg = f"{what}: {argv[0]} took longer than {MAKE_S} s"
        raise PortUnavailableError(msg) from error
    if done.returncode:
        lines = [line.strip() for line in done.stdout.decode(errors="replace").splitlines()]
        error_line = next((line for line in lines if "ERROR" in line), "".join(lines[-1:]))
        msg = f"{what}: {argv[0]} failed: {error_line[:SHOWN_CHARS]}"
        raise PortUnavailableError(msg)


def unusable(
    program: str | None, name: str, version_option: str, pattern: str, oldest: tuple[int, ...]
) -> str | None:
    """Return why a program cannot be used: missing, without a version, or too old; else None."""
    if program is None:
        return f"{name.lower()} is not on this machine"
    found = re.search(pattern, output(program, version_option))
    if found is None:
        return f"{program} does not print its version"
    version = tuple(map(int, found.groups()))
    return f"{program} is {name} {'.'.join(map(str, version))}" if version < oldest else None


@cache
def output(*argv: str) -> str:
    """Return the output and standard error of a program; empty if it cannot be run, or hangs."""
    try:
        done = subprocess.run(  # noqa: S603 (a program of this machine)
            argv, capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
