"""Segments of the offsets topic as allowed groups write them, rendered from walks of the model."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from groupcheck.implementation.log.batches import offset_count, set_base_offset
from groupcheck.implementation.log.codec import FORMATS, to_bytes
from groupcheck.implementation.log.records import (
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    Marker,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)
from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance, composed, supported
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import GroupRecord
from groupcheck.model.classic.storing import appended
from groupcheck.pipeline.readers import rows_of
from support.replayed import Checked, replayed
from support.walks import walk

BASE_MS = 1_600_000_000_000
FEATURES = frozenset(
    {
        Feature.STATIC_MEMBERS,
        Feature.ADMINISTRATION,
        Feature.TRANSACTIONS,
        Feature.OFFSETS,
        Feature.CRASHES,
        Feature.HELD_APPENDS,
        Feature.METADATA,
    }
)


def instance_of(profile: str) -> Instance:
    """Two members with every feature whose records the offsets topic has."""
    return composed(PROFILES[profile], 2, FEATURES & supported(PROFILES[profile]))


def history(instance: Instance, group: str, producer_id: int, seed: int, steps: int) -> list[Batch]:
    """The batches that one group appends on a random walk."""
    return [
        batch
        for step in walk(instance, random.Random(seed), steps)
        for batch in rendered(group, producer_id, step.number, step.records)
    ]


def rendered(
    group: str, producer_id: int, number: int, records: tuple[appended.Appended, ...]
) -> Iterator[Batch]:
    plain: list[Record] = []
    for record in records:
        if isinstance(record, appended.Marker):
            marker = Marker.COMMIT if record.committed else Marker.ABORT
            yield Batch((), producer_id, 0, marker)
        elif isinstance(record, appended.OffsetsRecorded):
            value = OffsetCommitValue(number, 0, "", BASE_MS + number)
            of = tuple(
                OffsetCommitRecord(OffsetCommitKey(group, *where), value)
                for where in record.partitions
            )
            if of:
                yield Batch(of) if record.producer_id is None else Batch(of, producer_id, 0)
        elif isinstance(record, appended.OffsetsRemoved):
            keys = (OffsetCommitKey(group, *where) for where in record.partitions)
            plain += (OffsetCommitRecord(key, None) for key in keys)
        elif isinstance(record, appended.GroupRemoved):
            plain.append(GroupMetadataRecord(GroupMetadataKey(group), None))
        else:
            plain.append(GroupMetadataRecord(GroupMetadataKey(group), _value(record)))
    if plain:
        yield Batch(tuple(plain))


def _value(record: GroupRecord) -> GroupMetadataValue:
    members = (
        MemberMetadata(m.member_id, m.group_instance_id, "c", "/h", 300, 100, b"s", m.assignment)
        for m in record.members
    )
    return GroupMetadataValue(
        record.protocol_type or "",
        record.generation_id,
        record.protocol_name,
        record.leader,
        BASE_MS,
        tuple(members),
    )


def partition(profile: str, groups: int, steps: int, seed: int = 0) -> list[Batch]:
    """The batches of many groups, interleaved."""
    instance, chance = instance_of(profile), random.Random(seed)
    left = [
        history(instance, f"group-{i}", i, 1_000 * seed + i, steps)[::-1] for i in range(groups)
    ]
    found = []
    while left := [each for each in left if each]:
        found.append(chance.choice(left).pop())
    return found


def write(path: Path, profile: str, batches: list[Batch], base: int = 0) -> list[int]:
    """Write a segment; return the offset of each batch, and the next one."""
    offsets = [base]
    with path.open("wb") as file:
        for number, batch in enumerate(batches):
            data = to_bytes(batch, FORMATS[profile], BASE_MS + number)
            set_base_offset(data, offsets[-1])
            file.write(data)
            offsets.append(offsets[-1] + offset_count(data))
    return offsets


def check_source(source: Path) -> Checked:
    """The result for a source, without Spark."""
    return replayed(rows_of(f"file://{source}"))
