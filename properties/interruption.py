"""Being told to stop: by Ctrl-C, or by a signal that would leave programs behind."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """In the block SIGTERM and SIGHUP raise KeyboardInterrupt, as SIGINT does.

    An exception that is raised while the interpreter runs a callback of its own (of the garbage
    collector, say) is lost; and a port may catch anything. The function that is given raises it
    again, if there was one. Signals that are ignored stay so, and in another thread than the main
    one, which never gets any, nothing is changed.
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


@contextmanager
def held_back() -> Iterator[None]:
    """In the block nothing is interrupted: what was to be is when it has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    with _handled_by(lambda number, _frame: came.append(number)):
        yield
    if came:
        raise KeyboardInterrupt


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
