"""Records that note which of their fields are read.

A field that is only copied is not read. To read a record in a way that cannot be noted, such as
comparing two by `<`, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NoReturn


class UnfitError(Exception):
    """The states of a specification cannot be columns; the message says why."""


class Unread:
    """A field before it is read; `read` returns its value."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self.read = read

    def _refuse(self, *_: object) -> NoReturn:
        msg = "a record is read in a way that cannot be noted"
        raise UnfitError(msg)

    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse
    __bool__ = __hash__ = __repr__ = _refuse


class _Noting(tuple[Any, ...]):
    """A tuple of unread fields, of values, and of such tuples."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return map(value, tuple.__iter__(self))

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - an index or a slice
        found = tuple.__getitem__(self, at)
        return tuple(map(value, found)) if isinstance(at, slice) else value(found)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))


def value(part: Any) -> Any:  # noqa: ANN401 - of any field
    """The value of a field, which is read if it is unread."""
    return part.read() if isinstance(part, Unread) else part


def noting(kind: type, parts: Iterable[Any]) -> Any:  # noqa: ANN401 - of this class
    """A `tuple`, or a named tuple of a class, that notes what is read."""
    return tuple.__new__(_class(kind), parts)


@cache
def _class(kind: Any) -> Any:  # noqa: ANN401 - a class derived from it
    names: tuple[str, ...] = getattr(kind, "_fields", ())

    def replace(self: _Noting, **fields: object) -> Any:  # noqa: ANN401 - of the same class
        parts = zip(names, tuple.__iter__(self), strict=True)
        return noting(kind, (fields.get(name, part) for name, part in parts))

    def field(at: int) -> property:
        return property(lambda self: self[at])

    fields = {name: field(at) for at, name in enumerate(names)}
    return type(kind.__name__, (_Noting, kind), {"_replace": replace, **fields})
