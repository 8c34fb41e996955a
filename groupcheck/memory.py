"""How much memory a command may take: as much as it is told, or most of what there is.

Linux holds the process to it, whatever it does just then. Elsewhere nothing may: macOS does not
count what Python takes.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

SHARE: Final = 0.8  # of what is left on the machine; others need some, too
SPARE: Final = 16  # one part of so many is left when a command is given up
LEAST_SPARE: Final = 4 * 2**20  # bytes
QUICKEST: Final = 4 * 2**30  # bytes a second: no program of Python's takes more
SOONEST_S: Final = 0.001
RAISED_S: Final = 0.1

# What a container may have and has, by version 2 of Linux's control groups and by version 1.
CGROUPS: Final = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


Told = Callable[[int], None]


class OutOfMemoryError(Exception):
    """There is no room for what was to be done; the message says how far it came."""


class Course:
    """A progress of states that also remembers how far it came."""

    def __init__(self, progress: Callable[[str, int | None], Told]) -> None:
        self.doing, self.states = "beginning", 0
        self._progress = progress

    def __call__(self, what: str, total: int | None) -> Told:
        """Begin a phase; one that tells no number is about the states of the one before."""
        self.doing = what
        tell, states = self._progress(what, total), 0

        def told(count: int) -> None:
            nonlocal states
            states = self.states = states + count
            tell(count)

        return told


@contextlib.contextmanager
def held_to(most: int | None, course: Course) -> Iterator[None]:
    """Let the process have so many bytes of memory meanwhile, if none are said what is `usual`.

    Raises:
        OutOfMemoryError: it needs more.
    """
    most = usual() if most is None else most
    if most is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    here = most if before[1] == resource.RLIM_INFINITY else min(most, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (here, before[1]))
    try:
        with _watched(here):
            yield
    except MemoryError:
        resource.setrlimit(resource.RLIMIT_DATA, before)  # there has to be room to say so
        msg = f"{in_words(here)} of memory ran out {course.doing}, at {course.states:,} states"
        # Without its cause, whose frames hold all that there was no room for.
        raise OutOfMemoryError(msg) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@contextlib.contextmanager
def _watched(most: int) -> Iterator[None]:
    """Raise a MemoryError a little before so many bytes are taken.

    Where the last of them are gone Python may end at once, and cannot even say why. What is wanted
    in one piece, and there is no room for, Linux refuses: there is enough then for all the rest.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def look(*_: object) -> None:
        left = most - max(most // SPARE, LEAST_SPARE) - _own()
        # Where the error is lost, as in a `__del__`, it is raised once more.
        again_s = max(left / QUICKEST, SOONEST_S) if left >= 0 else RAISED_S
        signal.setitimer(signal.ITIMER_REAL, again_s)
        if left < 0:
            raise MemoryError

    before = signal.signal(signal.SIGALRM, look)
    try:
        signal.setitimer(signal.ITIMER_REAL, SOONEST_S)
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # first, so that none comes in between
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def usual() -> int | None:
    """What the process may have if nothing is said, in bytes: its own, and most of what is left.

    None where that is not known.
    """
    try:
        left = min([_left_on_the_machine(), *_left_in_the_container()])
    except OSError:  # this is not Linux
        return None
    return _own() + int(SHARE * left)


def _own() -> int:
    """What the process has taken, as Linux counts it for the limit; 0 elsewhere."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[5])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _left_on_the_machine() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    told = dict(line.split(":") for line in lines)
    return int(told["MemAvailable"].split()[0]) * 1024


def _left_in_the_container() -> Iterator[int]:
    for most, now in CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # it is not there, or has no number
            limit, taken = (int(Path(each).read_text(encoding="utf-8")) for each in (most, now))
            yield limit - taken


def in_words(size: int) -> str:
    """Bytes, as people say them."""
    gib = size / 2**30
    return f"{gib:.1f} GiB" if gib >= 1 else f"{size / 2**20:.0f} MiB"
