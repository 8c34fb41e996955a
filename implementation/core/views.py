"""Groups as DescribeGroups shows them, and their inner state for tests.

The inner state shows what decides the group's future. It shows assignments only in Stable, because
in the other states they are never read again.
"""

from __future__ import annotations

from groupcheck.implementation.core.error_responses import by_topic
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState


def describe(group: Group, *, with_assignments: bool) -> kafka.DescribedGroup:
    """A group as DescribeGroups returns it; outside Stable assignments are optional."""
    is_stable = group.state is GroupState.STABLE
    return kafka.DescribedGroup(
        ErrorCode.NONE,
        group.group_id,
        group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=tuple(
            kafka.DescribedGroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.metadata(group.protocol_name) if is_stable else b"",
                member.assignment if is_stable or with_assignments else b"",
            )
            for member in group.members.values()
        ),
    )


def view(group: Group) -> kafka.GroupView:
    """A group's inner state."""
    # Positional arguments, because a port calls this after each step.
    return kafka.GroupView(
        group.group_id,
        group.state,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader_id,
        tuple(map(_view_of_member, group.members.values())),
        tuple(group.pending_members),
        _offsets(group) if group.offsets.committed else (),
    )


def _offsets(group: Group) -> tuple[kafka.OffsetCommitRequestTopic, ...]:
    return by_topic(
        kafka.OffsetCommitRequestTopic,
        (
            (partition, kafka.OffsetCommitRequestPartition(partition[1], *offset[:3]))
            for partition, offset in group.offsets.committed.items()
        ),
    )


def _view_of_member(member: Member) -> kafka.MemberView:
    return kafka.MemberView(
        member.member_id,
        member.group_instance_id,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.join_request_id is not None,
        member.sync_request_id is not None,
        member.assignment if member.group.state is GroupState.STABLE else b"",
    )
