"""What brokers are made of is fetched or built once, and kept outside of any checkout.

The programs that do it, and that run it, are asked for their versions here, too.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from groupcheck.properties.ports.port import PortUnavailableError

MAKE_S: Final = 900
ASK_S: Final = 20.0
SHOWN_CHARS: Final = 400


def cache_folder() -> Path:
    """Where it is kept: the user's cache, as the system has it (XDG_CACHE_HOME on Linux).

    Raises:
        PortUnavailableError: platformdirs is not installed.
    """
    try:
        from platformdirs import user_cache_path  # noqa: PLC0415 (an extra)
    except ImportError as error:
        msg = "a broker needs the package platformdirs: pip install 'groupcheck[wire]'"
        raise PortUnavailableError(msg) from error
    return user_cache_path("groupcheck", appauthor=False)


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the cache; if it is not there `make` fills it, one process at a time.

    It is there whole or not at all. `make` may raise what it will.

    Raises:
        PortUnavailableError: the cache cannot be written to.
    """
    kept = cache_folder() / name
    if kept.is_dir():
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with (kept.parent / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.is_dir():
                with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".making-") as made:
                    make(Path(made) / name)
                    (Path(made) / name).rename(kept)
    except OSError as error:
        msg = f"cannot keep what a broker is made of in {kept.parent}: {error.strerror}"
        raise PortUnavailableError(msg) from error
    return kept


def do(argv: list[str], what: str, folder: Path | None = None) -> None:
    """Run a program that fetches or builds something.

    Raises:
        PortUnavailableError: it failed; the message has its first complaint.
    """
    program = shutil.which(argv[0]) or argv[0]
    try:
        done = subprocess.run(  # noqa: S603 (of this package's own choice)
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
        said = next((line for line in lines if "ERROR" in line), "".join(lines[-1:]))
        msg = f"{what}: {argv[0]} failed: {said[:SHOWN_CHARS]}"
        raise PortUnavailableError(msg)


def answer(*argv: str) -> str | None:
    """What a program of this machine says, all of it; None if it cannot be run, or hangs."""
    try:
        done = subprocess.run(  # noqa: S603 (the machine's own)
            argv, capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr
