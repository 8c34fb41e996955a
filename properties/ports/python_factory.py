"""Finding and checking the factory of an in-process port; what its calls mean is not here."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn

from groupcheck.properties.ports.authors_code import TooLongError, authors_code, close_coroutine
from groupcheck.properties.ports.port import PortUnavailableError

Factory = Callable[[], object]

LIMIT_S: Final = 10.0

METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "open": ("profile", "config"),
    "request": ("request_id", "api", "api_version", "client_id", "client_host", "body"),
    "advance": ("ms",),
    "fault": ("fault",),
    "close": (),
}


def load_factory(spec: str, *, limit_s: float = LIMIT_S) -> Factory:
    """The factory that `package.module:factory` names, with or without `python:` before it.

    It is looked for as `python -m` would, the current directory first, and is called once to see
    that what it makes is a port. Importing has `limit_s` seconds, and so has the call.

    Raises:
        PortUnavailableError: there is no such factory, or what it makes is no port.
    """
    name = spec.removeprefix("python:")
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        _unavailable(name, "must have the form package.module:factory")
    with _guard(name, f"cannot import {module_name!r}", limit_s):
        factory = _found(_imported(module_name), path, name)
    if not callable(factory):
        _unavailable(name, f"{path!r} is a {type(factory).__name__}, which cannot be called")
    made(factory, name, limit_s=limit_s)
    checked: Factory = factory
    return checked


@contextlib.contextmanager
def _guard(name: str, what: str, limit_s: float) -> Iterator[None]:
    """Whatever the author's code does here, an exit too, is why there is no port."""
    try:
        with authors_code(limit_s):
            yield
    except TooLongError as alarm:
        _unavailable(name, f"{what}: it took more than {limit_s:g} s", alarm)
    except (KeyboardInterrupt, PortUnavailableError):
        raise
    except BaseException as error:  # noqa: BLE001 (see above)
        _unavailable(name, f"{what}: {said(error)}", error)


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


def made(factory: Factory, name: str | None = None, *, limit_s: float = LIMIT_S) -> object:
    """A new object of the factory's; `name` is what the factory is called in errors.

    Raises:
        PortUnavailableError: it made none, or one that is no port.
    """
    name = name or name_of(factory)
    with _guard(name, "the factory failed", limit_s):
        port = factory()
        if close_coroutine(port):
            _unavailable(name, "the factory is async: it has to be a plain function")
        _check(port, name)
    return port


def _check(port: object, name: str) -> None:
    """Make sure that the methods are there and can be called as they will be."""
    missing = [method for method in METHODS if not callable(getattr(port, method, None))]
    if missing:
        methods = ", ".join(f"{method}()" for method in missing)
        _unavailable(name, f"the factory's {type(port).__name__} lacks {methods}")
    for method, parameters in METHODS.items():
        # Of a method in native code Python may not know the parameters.
        with contextlib.suppress(ValueError):
            signature = inspect.signature(getattr(port, method))
            try:
                signature.bind(*parameters)
            except TypeError:
                wanted = f"({', '.join(parameters)})"
                _unavailable(name, f"{method}{signature} cannot be called with {wanted}")


def said(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001 (of an author's own not even this is sure)
        text = ""
    first = (text.splitlines() or [""])[0].encode(errors="backslashreplace").decode()
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def name_of(factory: Factory) -> str:
    """What a factory is called: where it can be imported from."""
    names = (getattr(factory, "__module__", "?"), getattr(factory, "__qualname__", repr(factory)))
    return ":".join(names)


def _unavailable(name: str, reason: str, cause: BaseException | None = None) -> NoReturn:
    msg = f"python:{name}: {reason}"
    raise PortUnavailableError(msg) from cause
