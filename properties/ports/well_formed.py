"""The check that a record has the fields of the vocabulary, each with a value that JSON can write.

Ports that send messages or bytes are checked by decoding; the built-in port returns records.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from groupcheck.model.bodies import camel
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.ports.messages import INTEGERS, shorten

# Returns the error of a value: the path of a field and the expected type; None if it is valid.
Check = Callable[[Any], str | None]


@cache
def check_of(hint: Any) -> Check:  # noqa: ANN401 - a type, or an annotation such as `int | None`
    """Return the check of values of a type of the vocabulary: a record, a tuple or a scalar."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, UnionType):
        (kept,) = (arg for arg in get_args(hint) if arg is not NoneType)
        inner = check_of(kept)
        return lambda value: None if value is None else inner(value)
    if get_origin(hint) is tuple:
        return _tuple(check_of(get_args(hint)[0]))
    return _record(hint)


def _exactly(cls: type, what: str) -> Check:
    return lambda value: None if type(value) is cls else _expected(what, value)


def _number(cls: type[int], what: str) -> Check:
    least, most = INTEGERS[0], INTEGERS[-1]

    def check(value: Any) -> str | None:  # noqa: ANN401 - anything
        if type(value) is cls and least <= value <= most:
            return None
        return _expected(what, value)

    return check


def _tuple(inner: Check) -> Check:
    def check(value: Any) -> str | None:  # noqa: ANN401 - anything
        if type(value) is not tuple:
            return _expected("a tuple", value)
        for i, item in enumerate(value):
            wrong = inner(item)
            if wrong is not None:
                return f"[{i}]{wrong}"
        return None

    return check


def _record(cls: Any) -> Check:  # noqa: ANN401 - a class of records
    fields = [(f".{camel(name)}", check_of(hint)) for name, hint in get_type_hints(cls).items()]

    def check(value: Any) -> str | None:  # noqa: ANN401 - anything
        if type(value) is not cls:
            return _expected(f"a {cls.__name__}", value)
        for (path, inner), item in zip(fields, value, strict=True):
            wrong = inner(item)
            if wrong is not None:
                return path + wrong
        return None

    return check


def _expected(what: str, value: object) -> str:
    return f": expected {what}, got {shorten(value)}"


def _string(value: Any) -> str | None:  # noqa: ANN401 - anything
    if isinstance(value, str):
        if value.isascii():
            return None
        with suppress(UnicodeEncodeError):
            value.encode()
            return None
    return _expected("a string that can be encoded in UTF-8", value)


_SCALARS: Final[dict[Any, Check]] = {
    str: _string,
    int: _number(int, "an integer of 64 bits"),
    bool: _exactly(bool, "true or false"),
    bytes: _exactly(bytes, "bytes"),
    ErrorCode: _number(ErrorCode, "an error code"),
}
