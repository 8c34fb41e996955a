"""Random edits of records and of JSON: other values, fewer fields, items twice, items swapped.

A value is a tree of records, tuples, lists and dicts. An edit returns another tree, and leaves the
given one as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from groupcheck.model.vocabulary import ErrorCode, HeartbeatResponse, SyncGroupResponse

Path = tuple[Any, ...]

# JSON can write these, or Python's `json` does: NaN and lone surrogates too.
JSON_JUNK: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    999,
    -(2**31),
    2**31,
    2**63 - 1,
    -(2**63),
    2**63,
    10**30,
    0.0,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "0",
    "Stable",
    "stable",
    "consumer",
    "range",
    "nobody",
    "group",
    "#1",
    "m1",
    "\0",
    "\n",
    "\r\n\t",
    "\x1b[31mred",
    "\x85\u2028\u2029\ufeff\u202e",
    "\ud800",
    "\U0001f600" * 3,
    "a" * 40_000,
    "<script>alert(1)</script>]]>&amp;",
    "|`*_[x](y)\"\\'",
    "AAAAAA==",
    "=",
    [],
    [None],
    [[]],
    ["a", "a"],
    {},
    {"": None},
    [{}],
)

# Only a coordinator in Python can return these.
PYTHON_JUNK: Final[tuple[Any, ...]] = (
    *JSON_JUNK,
    b"",
    b"\xff\x00",
    b"x" * 70_000,
    (),
    (None,),
    ((),),
    ErrorCode.NONE,
    ErrorCode(-99),
    ErrorCode(10**30),
    HeartbeatResponse(ErrorCode.NONE),
    SyncGroupResponse(ErrorCode.ILLEGAL_GENERATION),
    object(),
    object,
    ValueError("x"),
    {1, 2},
    1j,
    len,
)


def nodes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every node of a tree with its path, the root first."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from nodes(item, (*path, key))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from nodes(item, (*path, i))


def replaced(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """A tree with the node at a path changed."""
    if not path:
        return change(value)
    key, *rest = path
    items: Any = dict(value) if isinstance(value, dict) else list(value)
    items[key] = replaced(items[key], tuple(rest), change)
    return items if isinstance(value, dict) else _like(value, items)


def _like(value: Any, items: list[Any]) -> Any:
    """The items as the same record, tuple or list; a tuple if the record has other fields."""
    if isinstance(value, list):
        return items
    if hasattr(value, "_fields") and len(items) == len(value._fields):
        return type(value)(*items)
    return tuple(items)


def spoilt(value: Any, pick: Random, junk: tuple[Any, ...]) -> Any:
    """A tree with one random edit."""
    found = list(nodes(value))
    path, node = pick.choice(found)
    if isinstance(node, dict | list | tuple) and node and pick.random() < 0.4:
        return replaced(value, path, lambda inner: _container(inner, pick))
    other = pick.choice(found)[1] if pick.random() < 0.25 else pick.choice(junk)
    if type(node) is int and pick.random() < 0.3:
        other = node + pick.choice((1, -1, 2**31, -(2**40)))
    return replaced(value, path, lambda _old: other)


def _container(value: Any, pick: Random) -> Any:
    """A dict or a list with an item less, an item twice, two items swapped, or one too many."""
    if isinstance(value, dict):
        items = list(value.items())
        del items[pick.randrange(len(items))]
        return dict([*items, ("unknown", 1)] if pick.random() < 0.3 else items)
    listed = list(value)
    at, other = pick.randrange(len(listed)), pick.randrange(len(listed))
    how = pick.randrange(4)
    if how == 0:
        del listed[at]
    elif how == 1:
        listed.insert(at, listed[other])
    elif how == 2:
        listed[at], listed[other] = listed[other], listed[at]
    else:
        listed = listed * pick.choice((2, 50))
    return _like(value, listed)
