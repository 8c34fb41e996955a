"""A port author's code in this process: finds, checks and calls its factory.

The code runs with a time limit, and its standard output goes to standard error. `python` calls what
the factory makes.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from types import CodeType, FrameType
from typing import Final, NoReturn

from groupcheck.properties.ports.port import PortUnavailableError

Factory = Callable[[], object]

LIMIT_S: Final = 10.0
REPEAT_S: Final = 1.0
RETRY_S: Final = 0.01

# Hypothesis's garbage-collection callback: exceptions raised inside it are lost.
GC_CALLBACK: Final = "gc_callback"

# For each method its parameters, and the fields of the port protocol's message that they get.
Methods = Mapping[str, Mapping[str, str]]
METHODS: Final[Methods] = {
    "open": {"profile": "profile", "config": "config"},
    "request": {
        "request_id": "id",
        "api": "api",
        "api_version": "apiVersion",
        "client_id": "clientId",
        "client_host": "clientHost",
        "body": "body",
    },
    "advance": {"ms": "ms"},
    "fault": {"fault": "fault"},
    "close": {},
}


def load_factory(spec: str, *, limit_s: float = LIMIT_S, methods: Methods = METHODS) -> Factory:
    """Return the factory that `package.module:factory` names, with or without `python:` before it.

    The search path is that of `python -m`, the current directory first. The factory is called once
    to check that the object it returns has the methods. The import may take `limit_s` seconds, and
    so may the call.

    Raises:
        PortUnavailableError: there is no such factory, or the object is not a port.
    """
    name = spec.removeprefix("python:")
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        _unavailable(name, "must have the form package.module:factory")
    with _guard(name, f"cannot import {module_name!r}", limit_s):
        factory = _found(_imported(module_name), path, name)
    if not callable(factory):
        _unavailable(name, f"{path!r} is not callable: it is of type {type(factory).__name__}")
    make_port(factory, name, limit_s=limit_s, methods=methods)
    checked: Factory = factory
    return checked


@contextlib.contextmanager
def _guard(name: str, what: str, limit_s: float) -> Iterator[None]:
    """Turn every failure of the author's code in the block, an exit too, into one error."""
    try:
        with user_code_guard(limit_s):
            yield
    except TooLongError as alarm:
        _unavailable(name, f"{what}: it took more than {limit_s:g} s", alarm)
    except (KeyboardInterrupt, PortUnavailableError):
        raise
    except BaseException as error:  # noqa: BLE001 (see above)
        _unavailable(name, f"{what}: {one_line(error)}", error)


def _imported(module_name: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    return importlib.import_module(module_name)


def _found(module: object, path: str, name: str) -> object:
    found = module
    for attribute in path.split("."):
        if not hasattr(found, attribute):
            where = getattr(module, "__name__", name)
            _unavailable(name, f"the module {where!r} has no {path!r}")
        found = getattr(found, attribute)
    return found


def make_port(
    factory: Factory,
    name: str | None = None,
    *,
    limit_s: float = LIMIT_S,
    methods: Methods = METHODS,
) -> object:
    """Return a new object of the factory; errors contain its `name`.

    Raises:
        PortUnavailableError: the factory failed, or the object is not a port.
    """
    name = name or name_of(factory)
    with _guard(name, "the factory failed", limit_s):
        port = factory()
        if close_coroutine(port):
            _unavailable(name, "the factory is async; it must be a plain function")
        _check(port, name, methods)
    return port


def _check(port: object, name: str, methods: Methods) -> None:
    """Check that every method exists and accepts its arguments."""
    missing = [method for method in methods if not callable(getattr(port, method, None))]
    if missing:
        names = ", ".join(f"{method}()" for method in missing)
        _unavailable(name, f"the object of type {type(port).__name__} has no {names}")
    for method, parameters in methods.items():
        # Python may not know the parameters of a method in native code.
        with contextlib.suppress(ValueError):
            signature = inspect.signature(getattr(port, method))
            try:
                signature.bind(*parameters)
            except TypeError:
                wanted = f"({', '.join(parameters)})"
                _unavailable(name, f"{method}{signature} cannot be called with {wanted}")


def one_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its message."""
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001 (an author's exception may fail here too)
        text = ""
    first = (text.splitlines() or [""])[0].encode(errors="backslashreplace").decode()
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def name_of(factory: Factory) -> str:
    """Return the factory's `module:qualified_name`."""
    names = (getattr(factory, "__module__", "?"), getattr(factory, "__qualname__", repr(factory)))
    return ":".join(names)


def _unavailable(name: str, reason: str, cause: BaseException | None = None) -> NoReturn:
    msg = f"python:{name}: {reason}"
    raise PortUnavailableError(msg) from cause


# The guard


class TooLongError(BaseException):
    """The code exceeds its time limit; no Exception, so the author's handlers do not catch it."""


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
    rang = inside = False

    def ring(_number: int, frame: FrameType | None) -> None:
        nonlocal rang
        rang = True
        if inside and frame is not None and _is_too_early(frame.f_code):
            signal.setitimer(signal.ITIMER_REAL, RETRY_S, REPEAT_S)
        elif inside:
            raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    started = monotonic()
    # The alarm repeats, for a port that catches the first one (a bare `except:`) and continues.
    left_s, interval_s = signal.setitimer(signal.ITIMER_REAL, limit_s, REPEAT_S)
    try:
        inside = True
        yield
    finally:
        inside = False
        if left_s:
            left_s = max(left_s - (monotonic() - started), 1e-6)
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, left_s, interval_s)
    if rang:
        raise TooLongError


def _is_too_early(code: CodeType) -> bool:
    """Whether an exception in this code would be lost, or would keep the alarm from being reset."""
    return code.co_name == GC_CALLBACK or code.co_filename == contextlib.__file__
