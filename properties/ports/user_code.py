"""A guard around a port author's code in this process: a time limit, and no output to stdout."""

from __future__ import annotations

import contextlib
import inspect
import signal
import sys
import threading
from collections.abc import Iterator
from time import monotonic
from types import FrameType
from typing import Final

REPEAT_S: Final = 1.0
RETRY_S: Final = 0.01

# Hypothesis' garbage-collection callback: an exception that is raised inside it is lost.
GC_CALLBACK: Final = "gc_callback"


class TooLongError(BaseException):
    """The code exceeds its time limit; no Exception, so the author's own handlers let it pass."""


@contextlib.contextmanager
def user_code_guard(limit_s: float) -> Iterator[None]:
    """Run a port author's code in the block; its standard output goes to standard error.

    Raises:
        TooLongError: it took longer than `limit_s` seconds, on a platform that has alarms.
    """
    with contextlib.redirect_stdout(sys.stderr), _alarm(limit_s):
        yield


def close_coroutine(value: object) -> bool:
    """Return whether `value` is the result of an async function; closes the coroutine."""
    if inspect.iscoroutine(value):
        value.close()
        return True
    return inspect.isasyncgen(value)


@contextlib.contextmanager
def _alarm(limit_s: float) -> Iterator[None]:
    """Raise `TooLongError` in the block after `limit_s` seconds, where the platform allows.

    A timer that was set before (by pytest-timeout, say) resumes when the block ends.
    """
    if not hasattr(signal, "setitimer") or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    rang = False
    inside = True

    def ring(_number: int, frame: FrameType | None) -> None:
        nonlocal rang
        rang = True
        if inside and frame is not None and frame.f_code.co_name == GC_CALLBACK:
            signal.setitimer(signal.ITIMER_REAL, RETRY_S, REPEAT_S)
        elif inside:
            raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    started = monotonic()
    # The alarm repeats, for a port that swallows the first one (a bare `except:`) and goes on.
    left_s, interval_s = signal.setitimer(signal.ITIMER_REAL, limit_s, REPEAT_S)
    try:
        yield
    finally:
        inside = False
        if left_s:
            left_s = max(left_s - (monotonic() - started), 1e-6)
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, left_s, interval_s)
    if rang:
        raise TooLongError
