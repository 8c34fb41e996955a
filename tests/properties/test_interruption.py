"""Every kind of interruption ends the block, and handlers are restored after it."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from groupcheck.properties.interruption import SIGNALS, interruptible
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification

Check = Callable[[], None]


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_interrupts_and_its_handler_is_restored(number: signal.Signals) -> None:
    before = signal.getsignal(number), sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(number)
    assert (signal.getsignal(number), sys.unraisablehook) == before


def test_caught_interruption_is_raised_again() -> None:
    with interruptible() as check:
        check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check()


def test_interruption_lost_in_an_interpreter_callback_is_raised_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def callback(_phase: str, _info: object) -> None:
        gc.callbacks.remove(callback)
        signal.raise_signal(signal.SIGINT)

    with interruptible() as check:
        gc.callbacks.append(callback)
        gc.collect()
        assert callback not in gc.callbacks
        with pytest.raises(KeyboardInterrupt):
            check()
    assert capsys.readouterr().err == ""


def test_other_unraisable_exceptions_are_reported_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: reported.append(lost.exc_type))

    def callback(_phase: str, _info: object) -> None:
        gc.callbacks.remove(callback)
        raise LookupError

    with interruptible():
        gc.callbacks.append(callback)
        gc.collect()
    assert reported == [LookupError]


def test_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible() as check:
            signal.raise_signal(signal.SIGHUP)
            check()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signal_handlers_are_unchanged_in_another_thread() -> None:
    seen: list[object] = []

    def run() -> None:
        with interruptible() as check:
            check()
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


def test_no_thread_of_a_pool_outlives_its_block_if_its_start_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        started.append(thread)
        if len(started) == 2:
            signal.raise_signal(signal.SIGINT)

    over = threading.Event()

    def work(number: int) -> None:  # the second thread ends last
        over.wait()
        time.sleep(0.3 * number)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    source = PortSource("builtin", BuiltinPort, interrupt=over.set)
    with pytest.raises(KeyboardInterrupt), Verification(source, Settings()).pool(4) as pool:
        list(pool.map(work, range(4)))
    assert [thread.is_alive() for thread in started] == [False, False]


def test_an_interruption_ends_the_wait_for_other_threads_after_an_error() -> None:
    over = threading.Event()
    source = PortSource("builtin", BuiltinPort, interrupt=over.set)
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
    waiting: list[Future[bool]] = []

    def fail() -> None:
        with Verification(source, Settings()).pool(2) as pool:
            waiting.append(pool.submit(over.wait))
            raise LookupError

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert waiting[0].done()
