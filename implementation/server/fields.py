"""How the fields of records and those of kio's classes find each other: by their names."""

from __future__ import annotations

from typing import Any, Final, get_args

Class = Any  # of records, or of kio's messages and their parts

# Where a message's field is not called as its record's.
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
    """What a record's field may be called on the wire; kio leaves out the unit of a duration."""
    return (name, name.removesuffix("_ms"), ALIASES.get(name, name))


def record_in(hint: object) -> Class | None:
    """The record class that a field of type `tuple[Record, ...]` (or `| None`) holds, if any."""
    return _held(hint, "_fields")


def entity_in(hint: object) -> Class | None:
    """Kio's class that a field of such a type holds, if any."""
    return _held(hint, "__dataclass_fields__")


def _held(hint: object, mark: str) -> Class | None:
    for arg in get_args(hint):
        found = arg if isinstance(arg, type) and hasattr(arg, mark) else _held(arg, mark)
        if found is not None:
            return found
    return None
