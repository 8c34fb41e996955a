"""Encoding of records, driven by kio's message definitions, for all versions.

kio defines the fields of each version. Its writers are not used: they need an object of kio for
each part of a message, and to make and write these takes three to six times as long.

A message's field without a record field gets its own default, or null, zero or empty. Tagged fields
are not written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from operator import methodcaller
from struct import Struct
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from kio.schema.errors import ErrorCode as WireErrorCode

from groupcheck.implementation.server.decoding import (
    NO_TAGS,
    Class,
    entity_in,
    record_in,
    wire_names,
)

Write = Callable[[bytearray, Any], None]
Length = Callable[[int], bytes]  # of a string or an array; -1 is null

# By the type in Kafka's definitions. Durations are milliseconds, as in the records.
NUMBERS: Final = {
    "bool": ">?",
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "timedelta_i32": ">i",
    "datetime_i64": ">q",
}
_INT16: Final[Length] = methodcaller("to_bytes", 2, "big", signed=True)
_INT32: Final[Length] = methodcaller("to_bytes", 4, "big", signed=True)
STRINGS: Final[dict[str, tuple[Length, Callable[[Any], bytes]]]] = {
    "string": (_INT16, str.encode),
    "bytes": (_INT32, bytes),
    "records": (_INT32, bytes),
}
_ERRORS: Final = {int(code): _INT16(int(code)) for code in WireErrorCode}
_UNKNOWN: Final = _ERRORS[-1]


@cache
def writer(record_type: Class, entity_type: Class) -> Write:
    """The writer of a record as a message class, or as a part of one."""
    hints, record_hints = get_type_hints(entity_type), get_type_hints(record_type)
    indexes = {
        wire: index
        for index, name in reversed(list(enumerate(record_type._fields)))
        for wire in reversed(wire_names(name))
    }
    flexible = entity_type.__flexible__
    steps: list[tuple[bytes, int, Write]] = []
    fixed = bytearray()  # of the fields that the record lacks, since the last one that it has
    for field in fields(entity_type):
        if "tag" in field.metadata:
            continue
        index = indexes.get(field.name)
        record_hint = None if index is None else record_hints[record_type._fields[index]]
        write_field = _field_writer(field, hints[field.name], record_hint, flexible=flexible)
        if index is None:
            write_field(fixed, _absent(field))
        else:
            steps.append((bytes(fixed), index, write_field))
            fixed.clear()
    last = bytes(fixed) + (NO_TAGS if flexible else b"")

    def write(out: bytearray, record: Any) -> None:  # noqa: ANN401 - a record of any kind
        for before, index, write_field in steps:
            out += before
            write_field(out, record[index])
        out += last

    return write


def _absent(field: Field[Any]) -> int | None:
    """The value of a field that the record lacks; None is null, or empty."""
    kafka_type = field.metadata.get("kafka_type")
    if kafka_type not in NUMBERS:
        return None
    empty = -1 if kafka_type == "datetime_i64" else 0
    return field.default if isinstance(field.default, int) else empty


def _field_writer(field: Field[Any], hint: object, record_hint: object, *, flexible: bool) -> Write:
    kafka_type = field.metadata.get("kafka_type") or ""
    nullable = NoneType in get_args(hint)
    if "tuple" in str(hint):
        entity, record = entity_in(hint), record_in(record_hint)
        item = writer(record, entity) if entity and record else _number(kafka_type)
        return _array(item, _compact if flexible else _INT32, nullable=nullable)
    if kafka_type in STRINGS:
        length, encode = STRINGS[kafka_type]
        return _string(_compact if flexible else length, encode, nullable=nullable)
    return _write_error if kafka_type == "error_code" else _number(kafka_type)


def _write_error(out: bytearray, value: int) -> None:
    out += _ERRORS.get(value, _UNKNOWN)


def _number(kafka_type: str) -> Write:
    pack = Struct(NUMBERS.get(kafka_type, "")).pack

    def write(out: bytearray, value: int) -> None:
        out += pack(value)

    return write


def _string(length: Length, encode: Callable[[Any], bytes], *, nullable: bool) -> Write:
    # Older versions have an empty string instead of null.
    null = length(-1 if nullable else 0)

    def write(out: bytearray, value: str | bytes | None) -> None:
        if value is None:
            out += null
        else:
            data = encode(value)
            out += length(len(data))
            out += data

    return write


def _array(write_item: Write, length: Length, *, nullable: bool) -> Write:
    null = length(-1 if nullable else 0)

    def write(out: bytearray, value: tuple[Any, ...] | None) -> None:
        if value is None:
            out += null
        else:
            out += length(len(value))
            for item in value:
                write_item(out, item)

    return write


def _compact(size: int) -> bytes:
    """A length in flexible versions: a varint that is larger by one."""
    rest, out = size + 1, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
