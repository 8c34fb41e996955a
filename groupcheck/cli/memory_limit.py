"""A limit on the memory of a command: --max-memory, or most of the memory that is free.

On Linux the limit holds for the whole process. Elsewhere there may be none: macOS does not count
the memory that Python allocates.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

SHARE: Final = 0.8  # of the free memory of the machine; other processes need some, too
RESERVE: Final = 16  # a command stops when this fraction of its limit is left
LEAST_RESERVE: Final = 4 * 2**20  # bytes
FASTEST: Final = 4 * 2**30  # bytes per second: no Python program allocates faster
SHORTEST_INTERVAL_S: Final = 0.001
INTERVAL_AFTER_ERROR_S: Final = 0.1

# Limit and use of a container, in version 2 and version 1 of Linux's control groups.
CGROUPS: Final = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)

Counter = Callable[[int], None]
Result = TypeVar("Result")


class OutOfMemoryError(Exception):
    """The memory is not enough; the message has the progress of the command."""


class Progress:
    """A progress display that stores the phase and the number of states."""

    def __init__(self, display: Callable[[str, int | None], Counter]) -> None:
        self.phase, self.states = "beginning", 0
        self._display = display

    def __call__(self, phase: str, total: int | None) -> Counter:
        """Begin a phase; a phase without a count keeps the states of the phase before."""
        self.phase = phase
        count_display, states = self._display(phase, total), 0

        def count(number: int) -> None:
            nonlocal states
            states = self.states = states + number
            count_display(number)

        return count


def limited(run: Callable[[], Result], most: int | None, progress: Progress) -> Result:
    """Call `run` with the memory of the process limited to `most` bytes; None is `default_limit`.

    Raises:
        OutOfMemoryError: the process needs more.
    """
    most = default_limit() if most is None else most
    if most is None:
        return run()
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = most if before[1] == resource.RLIM_INFINITY else min(most, before[1])
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
        return _with_early_error(run, limit)
    except MemoryError:
        resource.setrlimit(resource.RLIMIT_DATA, before)  # the message needs memory
        states = f"{progress.states:,} states"
        msg = f"{size_text(limit)} of memory ran out {progress.phase}, at {states}"
        # Without its cause: the frames of the traceback hold the states in memory.
        raise OutOfMemoryError(msg) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _with_early_error(run: Callable[[], Result], most: int) -> Result:
    """Call `run`, and raise a MemoryError a little before `most` bytes are allocated.

    When no memory is left, Python may abort without a message. A single allocation that is too
    large is different: Linux rejects it, and memory for the message is left.

    This is no context manager: the signal could arrive when Python enters its `__exit__`, and the
    error would leave the block with the timer running.
    """
    if threading.current_thread() is not threading.main_thread():
        return run()

    ended = False

    def check(*_: object) -> None:
        if ended:
            return
        left = most - max(most // RESERVE, LEAST_RESERVE) - _in_use()
        # The error may be lost, as in a `__del__`: raise it again then.
        again_s = max(left / FASTEST, SHORTEST_INTERVAL_S) if left >= 0 else INTERVAL_AFTER_ERROR_S
        signal.setitimer(signal.ITIMER_REAL, again_s)
        if left < 0:
            raise MemoryError

    before = signal.signal(signal.SIGALRM, check)
    try:
        signal.setitimer(signal.ITIMER_REAL, SHORTEST_INTERVAL_S)
        return run()
    finally:
        ended = True  # without a call before it: Python handles signals only at calls and loops
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def default_limit() -> int | None:
    """The limit without --max-memory, in bytes: the memory in use plus SHARE of the free memory.

    None on systems other than Linux.
    """
    try:
        free = min([_free_on_the_machine(), *_free_in_the_container()])
    except OSError:  # this is not Linux
        return None
    return _in_use() + int(SHARE * free)


def _in_use() -> int:
    """The memory in use, in bytes, as Linux counts it for the limit; 0 on other systems."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[5])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _free_on_the_machine() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    sizes = dict(line.split(":") for line in lines)
    return int(sizes["MemAvailable"].split()[0]) * 1024


def _free_in_the_container() -> Iterator[int]:
    for limit_file, use_file in CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or no number in it
            limit = int(Path(limit_file).read_text(encoding="utf-8"))
            used = int(Path(use_file).read_text(encoding="utf-8"))
            yield limit - used


def size_text(size: int) -> str:
    """A size in bytes, in GiB or MiB."""
    gib = size / 2**30
    return f"{gib:.1f} GiB" if gib >= 1 else f"{size / 2**20:.0f} MiB"
