"""The records that a step appends to the log, not the log after them.

Which of them a rule appends is in `records`.
"""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.model.classic.state import GroupRecord, TopicPartition


class GroupRemoved(NamedTuple):
    """The record that removes the group."""

    removes: str = "group"  # records without fields would be equal, whatever their types


class OffsetsRecorded(NamedTuple):
    """A record for each of these partitions; of a transaction, if there is a producer."""

    partitions: tuple[TopicPartition, ...]
    producer_id: int | None = None


class OffsetsRemoved(NamedTuple):
    """A record that removes the offset, for each of these partitions."""

    partitions: tuple[TopicPartition, ...]


class Marker(NamedTuple):
    """The marker that ends a transaction."""

    producer_id: int
    committed: bool


Appended = GroupRecord | GroupRemoved | OffsetsRecorded | OffsetsRemoved | Marker
