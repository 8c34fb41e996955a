"""Decoding of records, driven by kio's message definitions, for all versions.

kio defines the fields of each version and reads numbers and strings. Its readers of whole messages
are not used, because they do not check the length of an array.

The fields of records and of kio's classes correspond by their names. A record's field that the
version lacks has its default. A message's field without a record field is skipped.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from kio.serial import readers

from groupcheck.implementation.log.schemas import Read, array_reader, tags_size

Class = Any  # of records, or of kio's messages and their parts

# Fields of messages with another name than the record's.
ALIASES: Final = {
    "partition_index": "index",
    "generation_id": "generation_id_or_member_epoch",
    "transactional_id": "v3_and_below_transactional_id",
    "producer_id": "v3_and_below_producer_id",
    "producer_epoch": "v3_and_below_producer_epoch",
    "topics": "v3_and_below_topics",
    "results": "results_by_topic_v3_and_below",
}


# By the type in Kafka's definitions. Durations are milliseconds, as in the records.
NUMBERS: Final[dict[str, Read]] = {
    "bool": readers.read_boolean,
    "int8": readers.read_int8,
    "int16": readers.read_int16,
    "int32": readers.read_int32,
    "int64": readers.read_int64,
    "timedelta_i32": readers.read_int32,
    "timedelta_i64": readers.read_int64,
}
# By the type, whether the version is flexible, and whether it is nullable.
STRINGS: Final[dict[tuple[str, bool, bool], Read]] = {
    ("string", False, False): readers.read_legacy_string,
    ("string", False, True): readers.read_nullable_legacy_string,
    ("string", True, False): readers.read_compact_string,
    ("string", True, True): readers.read_compact_string_nullable,
    ("bytes", False, False): readers.read_legacy_bytes,
    ("bytes", False, True): readers.read_nullable_legacy_bytes,
    ("bytes", True, False): readers.read_compact_string_as_bytes,
    ("bytes", True, True): readers.read_compact_string_as_bytes_nullable,
}


NO_TAGS: Final = b"\0"
MAX_ENTRIES: Final = 50_000  # an entry of one byte may cost a hundred bytes of memory


class Skipped(NamedTuple):
    """A record without fields, for a part of a message that is skipped."""


@cache
def reader(entity_type: Class, record_type: Class = Skipped) -> Read:
    """The reader of a message class, or of a part of one, as a record.

    Raises:
        TypeError: the message lacks a required field of the record.
    """
    hints = get_type_hints(entity_type)
    wanted = _wanted(entity_type, record_type)
    record_hints: list[object] = [*get_type_hints(record_type).values(), None]
    steps = [
        (
            wanted.get(field.name),
            _field_reader(
                hints[field.name],
                field.metadata.get("kafka_type"),
                record_hints[wanted.get(field.name, -1)],
                flexible=entity_type.__flexible__,
            ),
        )
        for field in fields(entity_type)
        if "tag" not in field.metadata
    ]
    defaults = [record_type._field_defaults.get(name) for name in record_type._fields]
    # Its own `_make` checks the number of values again.
    make, flexible = partial(tuple.__new__, record_type), entity_type.__flexible__

    def read(data: bytes, begin: int) -> tuple[Any, int]:
        values, at = defaults.copy(), begin
        for index, read_field in steps:
            value, size = read_field(data, at)
            at += size
            if index is not None:
                values[index] = value
        if flexible:
            # Usually there are none.
            at += 1 if data[at : at + 1] == NO_TAGS else tags_size(data, at)
        return make(values), at - begin

    return read


def _wanted(entity_type: Class, record_type: Class) -> dict[str, int]:
    """The index of the record's field for each of the message's fields."""
    on_the_wire = {field.name for field in fields(entity_type)}
    wanted = {}
    for index, name in enumerate(record_type._fields):
        wire = next((each for each in wire_names(name) if each in on_the_wire), None)
        if wire is not None:
            wanted[wire] = index
        elif name not in record_type._field_defaults:
            msg = f"{entity_type.__qualname__} has nothing for {record_type.__qualname__}.{name}"
            raise TypeError(msg)
    return wanted


def _field_reader(
    hint: object, kafka_type: str | None, record_hint: object, *, flexible: bool
) -> Read:
    nullable = isinstance(hint, UnionType) and NoneType in get_args(hint)
    entity = entity_in(hint)
    if entity is not None:
        item = reader(entity, record_in(record_hint) or Skipped)
    elif "tuple" in str(hint):
        item = _primitive(kafka_type, flexible=flexible, nullable=False)
    else:
        return _primitive(kafka_type, flexible=flexible, nullable=nullable)
    return array_reader(item, flexible=flexible, nullable=nullable, max_entries=MAX_ENTRIES)


def _primitive(kafka_type: str | None, *, flexible: bool, nullable: bool) -> Read:
    name = "bytes" if kafka_type == "records" else kafka_type or ""
    return NUMBERS.get(name) or STRINGS[name, flexible, nullable]


def wire_names(name: str) -> tuple[str, ...]:
    """The names of a record's field in messages; kio omits the unit of a duration."""
    return (name, name.removesuffix("_ms"), ALIASES.get(name, name))


def record_in(hint: object) -> Class | None:
    """The record class in a field of type `tuple[Record, ...]` (or `| None`), if any."""
    return _argument(hint, "_fields")


def entity_in(hint: object) -> Class | None:
    """The class of kio in a field of such a type, if any."""
    return _argument(hint, "__dataclass_fields__")


def _argument(hint: object, attribute: str) -> Class | None:
    """The first type argument, at any depth, that is a class with this attribute."""
    for arg in get_args(hint):
        is_found = isinstance(arg, type) and hasattr(arg, attribute)
        found = arg if is_found else _argument(arg, attribute)
        if found is not None:
            return found
    return None
