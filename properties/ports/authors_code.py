"""Running code of a port's author in this process: for how long, and where its prints go."""

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

AGAIN_S: Final = 1.0
SOON_S: Final = 0.01

# Where Hypothesis counts garbage: no exception comes out of a callback of the collector.
GC_CALLBACK: Final = "gc_callback"


class TooLongError(BaseException):
    """The code takes too long; no Exception, so that the author's own handlers let it through."""


@contextlib.contextmanager
def authors_code(limit_s: float) -> Iterator[None]:
    """The block runs code of a port's author, which prints to standard error.

    Raises:
        TooLongError: it took longer than `limit_s`, and this is where an alarm can be set.
    """
    with contextlib.redirect_stdout(sys.stderr), _alarm(limit_s):
        yield


def close_coroutine(value: object) -> bool:
    """Whether an async function was called, whose coroutine nobody will await; it is closed."""
    if inspect.iscoroutine(value):
        value.close()
        return True
    return inspect.isasyncgen(value)


@contextlib.contextmanager
def _alarm(limit_s: float) -> Iterator[None]:
    """Raise `TooLongError` in the block when it takes longer than `limit_s`, where one can.

    A timer that was set before (pytest-timeout's, say) goes on when the block is left.
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
            signal.setitimer(signal.ITIMER_REAL, SOON_S, AGAIN_S)
        elif inside:
            raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    started = monotonic()
    # Again and again, for a port that swallows the first one (a bare `except:`) and goes on.
    left_s, interval_s = signal.setitimer(signal.ITIMER_REAL, limit_s, AGAIN_S)
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
