"""Messages of kio's classes from typed records; kio writes them as bytes.

kio has a frozen class for each version of each message, and the records are independent of
versions. Nothing is written here for a version: a message's field that no record has says nothing
(its own default, else null, zero or empty). What was found out about two classes is kept.
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

from groupcheck.implementation.server.fields import Class, entity_in, record_in, wire_names

Record = Any  # of the vocabulary or of `messages`
Entity = Any  # kio's instance of a message, or of a part of it
Take = Callable[[Any], Any]

_ERRORS: Final = {int(code): code for code in WireErrorCode}


@cache
def to_entity(record_type: Class, entity_type: Class) -> Take:
    """What makes a message of that class from a record of that type."""
    hints = get_type_hints(entity_type)
    sources = {
        wire: name for name in reversed(record_type._fields) for wire in reversed(wire_names(name))
    }
    said: list[tuple[str, Take]] = []
    unsaid: dict[str, Any] = {}
    for field in fields(entity_type):
        hint = hints[field.name]
        if field.name in sources:
            said.append((field.name, _giving(sources[field.name], hint, record_type)))
        elif field.default is MISSING:
            unsaid[field.name] = _nothing(hint)

    def make(record: Record) -> Entity:
        values = {name: give(record) for name, give in said}
        return entity_type(**values, **unsaid)

    return make


def _giving(name: str, wire_hint: object, record_type: Class) -> Take:
    give = attrgetter(name)
    if _is(wire_hint, WireErrorCode):
        unknown = WireErrorCode.unknown_server_error
        return lambda record: _ERRORS.get(give(record), unknown)
    if wire_hint is str:
        # What older versions have no null for is empty there.
        return lambda record: give(record) or ""
    inner, inner_wire = record_in(get_type_hints(record_type)[name]), entity_in(wire_hint)
    if inner is None or inner_wire is None:
        return give
    convert = to_entity(inner, inner_wire)

    def items(record: Record) -> tuple[Entity, ...] | None:
        found = give(record)
        return None if found is None else tuple(map(convert, found))

    return items


def _nothing(hint: object) -> object:
    """What says nothing in a field of that type, which has no default of its own."""
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
