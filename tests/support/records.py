"""A Hypothesis strategy for any record of the vocabulary."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from groupcheck.model.vocabulary import ErrorCode

# Kafka's own codes, as kio has no other ones; integers of 16 bits fit every numeric field.
CODES = [code for code in ErrorCode if code is not ErrorCode.UNKNOWN_SERVER_ERROR]


def records(cls: Any, **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records of a class, fields as their types say."""
    hints = get_type_hints(cls).items()
    return st.builds(cls, **{name: fixed.get(name, values(hint)) for name, hint in hints})


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if isinstance(hint, UnionType):
        (kept,) = (arg for arg in get_args(hint) if arg is not NoneType)
        return st.none() | values(kept)
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=3).map(tuple)
    if hint is ErrorCode:
        return st.sampled_from(CODES)
    if hasattr(hint, "_fields"):
        return records(hint)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-1, 2**15 - 1),
        str: st.text(max_size=10),
        bytes: st.binary(max_size=10),
        bool: st.booleans(),
    }
    return simple[hint]
