"""Encoding of records, driven by kio's message definitions, for all versions.

kio defines the fields of each version and writes numbers, strings and arrays. Its writers of whole
messages are not used: they need an object of kio for each part of a message, and to make and write
these takes several times as long.

A message's field without a record field gets its own default, or null, zero or empty. Tagged fields
are not written.
"""

from __future__ import annotations

from dataclasses import Field, fields
from functools import cache
from io import BytesIO
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from kio.schema.errors import ErrorCode as WireErrorCode
from kio.serial import writers

from groupcheck.implementation.log.schemas import Write
from groupcheck.implementation.server.decoding import (
    NO_TAGS,
    Class,
    entity_in,
    record_in,
    wire_names,
)

# By the type in Kafka's definitions. Durations and times are milliseconds, as in the records.
NUMBERS: Final[dict[str, Write]] = {
    "bool": writers.write_boolean,
    "int8": writers.write_int8,
    "int16": writers.write_int16,
    "int32": writers.write_int32,
    "int64": writers.write_int64,
    "timedelta_i32": writers.write_int32,
    "datetime_i64": writers.write_int64,
}
# By the type, and whether the version is flexible.
STRINGS: Final[dict[tuple[str, bool], Write]] = {
    ("string", False): writers.write_nullable_legacy_string,
    ("string", True): writers.write_nullable_compact_string,
    ("bytes", False): writers.write_nullable_legacy_bytes,
    ("bytes", True): writers.write_nullable_compact_string,
}
_KNOWN: Final = frozenset(map(int, WireErrorCode))
_UNKNOWN: Final = int(WireErrorCode.unknown_server_error)


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
    fixed = BytesIO()  # of the fields that the record lacks, since the last one that it has
    for field in fields(entity_type):
        if "tag" in field.metadata:
            continue
        index = indexes.get(field.name)
        record_hint = None if index is None else record_hints[record_type._fields[index]]
        write_field = _field_writer(field, hints[field.name], record_hint, flexible=flexible)
        if index is None:
            write_field(fixed, _absent(field))
        else:
            steps.append((fixed.getvalue(), index, write_field))
            fixed = BytesIO()
    last = fixed.getvalue() + (NO_TAGS if flexible else b"")

    def write(out: BytesIO, record: Any) -> None:  # noqa: ANN401 - a record of any kind
        for before, index, write_field in steps:
            if before:
                out.write(before)
            write_field(out, record[index])
        out.write(last)

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
        item = writer(record, entity) if entity and record else NUMBERS.get(kafka_type, _no_item)
        array: Any = writers.compact_array_writer if flexible else writers.legacy_array_writer
        return _or_empty(array(item), (), nullable=nullable)
    if kafka_type == "error_code":
        return _write_error
    if kafka_type in NUMBERS:
        return NUMBERS[kafka_type]
    name = "bytes" if kafka_type == "records" else kafka_type
    empty = "" if name == "string" else b""
    return _or_empty(STRINGS[name, flexible], empty, nullable=nullable)


def _write_error(out: BytesIO, value: int) -> None:
    writers.write_int16(out, value if value in _KNOWN else _UNKNOWN)  # type: ignore[arg-type]


def _no_item(_out: BytesIO, _value: object) -> None:
    """The writer of the items of an array that is always empty."""


def _or_empty(write: Write, empty: object, *, nullable: bool) -> Write:
    """A writer that writes null as empty: older versions have an empty string instead."""
    if nullable:
        return write
    return lambda out, value: write(out, empty if value is None else value)
