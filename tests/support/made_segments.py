"""Segments of the offsets topic as allowed groups write them, rendered from walks of the model."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from groupcheck.implementation.log.batches import move, offsets_in
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
from groupcheck.model.instances.inputs import Feature
from groupcheck.model.instances.instance import Instance, composed, supported
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import GroupRecord
from groupcheck.model.storing import appended
from groupcheck.model.transition import appending
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.readers import rows_of
from support.replayed import Checked, replayed

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
    """Two members, and whatever they may do; another space than the one that is held to."""
    return composed(PROFILES[profile], 2, FEATURES & supported(PROFILES[profile]))


def history(instance: Instance, group: str, producer_id: int, seed: int, steps: int) -> list[Batch]:
    """What one group leaves in the log on a walk of so many steps."""
    chance = random.Random(seed)
    batches: list[Batch] = []
    state = instance.initial
    for number in range(1, steps + 1):
        frame = instance.canonical(state)
        given = chance.choice(list(instance.inputs(frame.node)))
        if isinstance(given, Request):
            given = frame.restore(given, number)
        ways = [
            (outcome.coordinator, records)
            for outcome, records in appending(state, given, instance.profile, instance.config)
            if instance.admits(outcome.coordinator)
        ]
        if ways:
            state, records = chance.choice(ways)
            batches += rendered(group, producer_id, number, records)
    return batches


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
    """The histories of many groups, one among the other."""
    instance, chance = instance_of(profile), random.Random(seed)
    left = [
        history(instance, f"group-{i}", i, 1_000 * seed + i, steps)[::-1] for i in range(groups)
    ]
    found = []
    while left := [each for each in left if each]:
        found.append(chance.choice(left).pop())
    return found


def write(path: Path, profile: str, batches: list[Batch], base: int = 0) -> list[int]:
    """Write a segment; give the offset of each batch, and the one that is next."""
    offsets = [base]
    with path.open("wb") as file:
        for number, batch in enumerate(batches):
            data = to_bytes(batch, FORMATS[profile], BASE_MS + number)
            move(data, offsets[-1])
            file.write(data)
            offsets.append(offsets[-1] + offsets_in(data))
    return offsets


def check_source(source: Path) -> Checked:
    """The result for a source, without Spark."""
    return replayed(rows_of(f"file://{source}"))
