"""Programs with limited memory, each in its own process.

A thread that gets no memory may abort its process, and pytest's workers have threads.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from groupcheck.cli import memory_limit as memory

Result = TypeVar("Result")


class Limits(NamedTuple):
    """What `memory.limited` changes in a process."""

    data: tuple[int, int]
    handler: str
    timer: tuple[float, float]


def in_another_process(run: Callable[[], Result]) -> Result:
    """Call a function of a module in a new process; return what it returns, or raise its error."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(run).result()


def in_use() -> int:
    """The memory of this process that Linux counts for the limit, in bytes."""
    fields = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    return int(fields[5]) * resource.getpagesize()


def nothing(_what: str, _total: int | None) -> memory.Counter:
    """Display no progress."""
    return lambda _count: None


def limits() -> Limits:
    """The limits of this process now."""
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    return Limits(resource.getrlimit(resource.RLIMIT_DATA), str(handler), timer)


def one_large_allocation() -> tuple[str, int, list[Limits]]:
    """The error of one that is too large, the size of one that is not, and the limits meanwhile."""
    found, progress = [limits()], memory.Progress(nothing)
    progress("exploring all", None)(7)
    with pytest.raises(memory.OutOfMemoryError) as raised:
        memory.limited(lambda: bytearray(2**30), in_use() + 2**26, progress)
    found.append(limits())
    size = len(memory.limited(lambda: bytearray(2**26), in_use() + 2**30, progress))
    return str(raised.value), size, [*found, limits()]


def many_small_allocations() -> tuple[int, int]:
    """The limit, and the memory that is left at the error; both in bytes."""
    most = in_use() + 2**27
    left: list[int] = []

    def fill() -> None:
        kept: list[bytearray] = []
        try:
            while True:
                kept.append(bytearray(1_000))
        except MemoryError:
            while not left:  # on a slow machine, the error is raised again before this ends
                with contextlib.suppress(MemoryError):
                    left.append(most - in_use())
            raise

    with pytest.raises(memory.OutOfMemoryError):
        memory.limited(fill, most, memory.Progress(nothing))
    return most, left[0]


def errors_at_the_end() -> tuple[int, list[Limits]]:
    """The number of errors, and the limits before and after each of many commands.

    Some of the commands end at the moment when the error is raised.
    """
    errors, found = 0, [limits()]
    for microseconds in range(600, 1_400, 2):  # the first check is after SHORTEST_INTERVAL_S
        end = time.perf_counter() + microseconds * 1e-6

        def run(end: float = end) -> None:
            while time.perf_counter() < end:
                pass

        try:
            memory.limited(run, memory.LEAST_RESERVE + in_use() // 2, memory.Progress(nothing))
        except memory.OutOfMemoryError:  # else the command was the first to end
            errors += 1
        found.append(limits())
    return errors, found
