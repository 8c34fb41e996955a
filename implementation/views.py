"""How a group looks from outside: DescribeGroups, and the inner view for tests. Nothing changes.

The inner view shows what decides the group's future; an assignment shows only in a stable group,
since in any other state what a member still has of an earlier one is never looked at again.
"""

from __future__ import annotations

from groupcheck.implementation.commits import by_topic
from groupcheck.implementation.group import Group
from groupcheck.model.vocabulary import (
    DescribedGroup,
    DescribedGroupMember,
    ErrorCode,
    GroupState,
    GroupView,
    MemberView,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)


def describe(group_id: str, group: Group | None) -> DescribedGroup:
    """A group as DescribeGroups tells of it; one that does not exist is Dead."""
    if group is None:
        return DescribedGroup(ErrorCode.NONE, group_id, GroupState.DEAD)
    protocol_name = group.protocol_name if group.state is GroupState.STABLE else None
    return DescribedGroup(
        ErrorCode.NONE,
        group_id,
        group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=tuple(
            DescribedGroupMember(
                member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=b"" if protocol_name is None else member.metadata(protocol_name),
                member_assignment=b"" if protocol_name is None else member.assignment,
            )
            for member in group.members.values()
        ),
    )


def view(group: Group) -> GroupView:
    """A group's inner state."""
    is_stable = group.state is GroupState.STABLE
    return GroupView(
        group.group_id,
        state=group.state,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id,
        members=tuple(
            MemberView(
                member.member_id,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                awaiting_join=member.join_request_id is not None,
                awaiting_sync=member.sync_request_id is not None,
                assignment=member.assignment if is_stable else b"",
            )
            for member in group.members.values()
        ),
        pending_members=tuple(group.pending_members),
        offsets=by_topic(
            OffsetCommitRequestTopic,
            {
                partition: OffsetCommitRequestPartition(
                    partition[1],
                    offset.committed_offset,
                    offset.committed_leader_epoch,
                    offset.metadata,
                )
                for partition, offset in group.offsets.committed.items()
            },
        ),
    )
