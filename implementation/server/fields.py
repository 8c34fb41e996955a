"""How the fields of records and of kio's classes correspond: by their names."""

from __future__ import annotations

from typing import Any, Final, get_args

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


def wire_names(name: str) -> tuple[str, ...]:
    """The names of a record's field in messages; kio omits the unit of a duration."""
    return (name, name.removesuffix("_ms"), ALIASES.get(name, name))


def record_in(hint: object) -> Class | None:
    """The record class in a field of type `tuple[Record, ...]` (or `| None`), if any."""
    return _held(hint, "_fields")


def entity_in(hint: object) -> Class | None:
    """The class of kio in a field of such a type, if any."""
    return _held(hint, "__dataclass_fields__")


def _held(hint: object, mark: str) -> Class | None:
    for arg in get_args(hint):
        found = arg if isinstance(arg, type) and hasattr(arg, mark) else _held(arg, mark)
        if found is not None:
            return found
    return None
