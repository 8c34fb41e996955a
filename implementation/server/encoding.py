"""Conversion of records to kio's messages, which kio then encodes.

kio has a frozen class for each version of each message; the records have no versions. A message's
field without a record field gets its own default, or null, zero or empty. Conversions are cached
for each pair of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import timedelta
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from kio.schema.errors import ErrorCode as WireErrorCode

from groupcheck.implementation.server.decoding import Class, entity_in, record_in, wire_names

Record = Any  # of the vocabulary or of `messages`
Entity = Any  # kio's instance of a message, or of a part of one
Take = Callable[[Any], Any]

_ERRORS: Final = {int(code): code for code in WireErrorCode}


@cache
def to_entity(record_type: Class, entity_type: Class) -> Take:
    """The conversion from a record type to a message class."""
    hints = get_type_hints(entity_type)
    sources = {
        wire: name for name in reversed(record_type._fields) for wire in reversed(wire_names(name))
    }
    given: list[tuple[str, Take]] = []
    empty: dict[str, Any] = {}
    for field in fields(entity_type):
        hint = hints[field.name]
        if field.name in sources:
            given.append((field.name, _getter(sources[field.name], hint, record_type)))
        elif field.default is MISSING:
            empty[field.name] = _empty_value(hint)

    def make(record: Record) -> Entity:
        values = {name: get(record) for name, get in given}
        return entity_type(**values, **empty)

    return make


def _getter(name: str, wire_hint: object, record_type: Class) -> Take:
    get = attrgetter(name)
    if _is(wire_hint, WireErrorCode):
        unknown = WireErrorCode.unknown_server_error
        return lambda record: _ERRORS.get(get(record), unknown)
    if wire_hint is str:
        # Older versions have an empty string instead of null.
        return lambda record: get(record) or ""
    inner, inner_wire = record_in(get_type_hints(record_type)[name]), entity_in(wire_hint)
    if inner is None or inner_wire is None:
        return get
    convert = to_entity(inner, inner_wire)

    def items(record: Record) -> tuple[Entity, ...] | None:
        found = get(record)
        return None if found is None else tuple(map(convert, found))

    return items


def _empty_value(hint: object) -> object:
    """The empty value of a field type without a default."""
    if isinstance(hint, UnionType) and NoneType in get_args(hint):
        return None
    if get_origin(hint) is tuple:
        return ()
    if _is(hint, WireErrorCode):
        return WireErrorCode.none
    return next(
        nothing for nothing in (timedelta(0), False, 0, "", b"") if _is(hint, type(nothing))
    )


def _is(hint: object, cls: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, cls)
