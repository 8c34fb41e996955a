"""The log records of groups and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.offsets import Offsets, TopicPartition
from groupcheck.implementation.log.records import (
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
)


def group_record(group: Group, assignments: Mapping[str, bytes]) -> GroupMetadataRecord:
    """The record of a group, with the assignments of its members."""
    value = GroupMetadataValue(
        group.protocol_type or "",
        group.generation_id,
        group.protocol_name,
        group.leader_id,
        group.state_since_ms,
        tuple(
            _stored(member, group.protocol_name, assignments.get(member.member_id, b""))
            for member in group.members.values()
        ),
    )
    return GroupMetadataRecord(GroupMetadataKey(group.group_id), value)


def new_group_record(group: Group) -> GroupMetadataRecord:
    """The record of a new group, without members."""
    value = GroupMetadataValue("", 0, current_state_timestamp_ms=group.state_since_ms)
    return GroupMetadataRecord(GroupMetadataKey(group.group_id), value)


def _stored(member: Member, protocol_name: str | None, assignment: bytes) -> MemberMetadata:
    return MemberMetadata(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
        member.metadata(protocol_name),
        assignment,
    )


def group_tombstone(group: Group) -> GroupMetadataRecord:
    """The tombstone of a group."""
    return GroupMetadataRecord(GroupMetadataKey(group.group_id), None)


def offset_records(group: Group, offsets: Offsets) -> tuple[OffsetCommitRecord, ...]:
    """The records of committed offsets."""
    return tuple(
        OffsetCommitRecord(OffsetCommitKey(group.group_id, *partition), value)
        for partition, value in offsets
    )


def offset_tombstones(
    group: Group, partitions: Iterable[TopicPartition]
) -> tuple[OffsetCommitRecord, ...]:
    """The tombstones of offsets."""
    return tuple(
        OffsetCommitRecord(OffsetCommitKey(group.group_id, *partition), None)
        for partition in partitions
    )
