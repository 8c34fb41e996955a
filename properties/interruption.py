"""Interruption by Ctrl-C, or by a signal that would orphan child processes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """In the block SIGTERM and SIGHUP raise KeyboardInterrupt, as SIGINT does.

    The interpreter drops an exception that is raised in one of its own callbacks (of the garbage
    collector, say), and a port may catch any exception. The yielded function raises the interrupt
    again, if there was one. Ignored signals stay ignored. In other threads than the main one,
    which receive no signals, the block changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    with _handled_by(interrupt), _nothing_said_of_lost_ones():
        yield check


class InterruptedWait(threading.Event):
    """An event that nothing sets: what waits for it is interrupted, also by a dropped exception.

    Args:
        check: yielded by `interruptible`.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        super().__init__()
        self._check = check

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for so many seconds.

        Raises:
            KeyboardInterrupt: there was one.
        """
        found = super().wait(timeout)
        self._check()
        return found


@contextmanager
def held_back() -> Iterator[None]:
    """Defer interruptions to the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    with _handled_by(lambda number, _frame: came.append(number)):
        yield
    if came:
        raise KeyboardInterrupt


class Map(Protocol):
    """Calls a function for each value, as `map` does, or in several threads."""

    def __call__(self, do: Callable[[T], R], values: Iterable[T], /) -> Iterator[R]:
        """The results in the order of the values."""
        ...


class Pool(ThreadPoolExecutor):
    """Threads that can be joined even after an interruption.

    A block that is interrupted ends without waiting for them: `finish` does.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._unfinished: set[Future[Any]] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a thread."""
        with held_back():  # otherwise an interrupt may lose a started thread
            future = super().submit(fn, *args, **kwargs)
            self._unfinished.add(future)
            future.add_done_callback(self._unfinished.discard)
        return future

    def finish(self) -> None:
        """Start no more calls, and wait for the running ones."""
        # Python 3.11 counts a thread as ended if an interruption comes while it is joined.
        self.shutdown(wait=False, cancel_futures=True)
        wait(list(self._unfinished))
        self.shutdown()

    def __exit__(self, *error: object) -> None:
        if not isinstance(error[1], KeyboardInterrupt):
            self.finish()


@contextmanager
def _handled_by(interrupt: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    # A handler that was not set from Python is None, and could not be set again.
    found = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in found.items() if handler is not None}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _nothing_said_of_lost_ones() -> Iterator[None]:
    before = sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            before(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
