"""The internal state of a port, and that of the model, field by field as text."""

from __future__ import annotations

from groupcheck.model.bodies import camel
from groupcheck.model.state import Group
from groupcheck.model.vocabulary import (
    GroupView,
    MemberView,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from groupcheck.reports.formatting import value, word
from groupcheck.reports.messages import Names, member


def group_field(group: Group | None, field: str, names: Names) -> str:
    """A field of a group of the model."""
    if group is None:
        return "absent: the group does not exist"
    return _field(_view_of(group), field, names)


def view_field(view: GroupView | None, field: str, names: Names) -> str:
    """A field of a group as the port reports it."""
    if view is None:
        return "absent: the port reports no such group"
    return _field(view, field, names)


def _view_of(group: Group) -> GroupView:
    members = (
        MemberView(
            each.member_id,
            None,
            each.session_timeout_ms,
            each.rebalance_timeout_ms,
            each.awaiting_join is not None,
            each.awaiting_sync is not None,
            each.assignment,
        )
        for each in group.members
    )
    offsets = (
        OffsetCommitRequestTopic(
            topic,
            (
                OffsetCommitRequestPartition(
                    partition, each.committed_offset, each.committed_leader_epoch, each.metadata
                ),
            ),
        )
        for (topic, partition), each in group.offsets
    )
    return GroupView(
        "",
        group.state.value,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader,
        tuple(members),
        tuple(each.member_id for each in group.pending),
        tuple(offsets),
    )


def _field(view: GroupView, field: str, names: Names) -> str:
    values = {
        "groupId": f"present, in state {word(view.state)}",
        "state": word(view.state),
        "generationId": str(view.generation_id),
        "protocolType": word(view.protocol_type),
        "protocolName": word(view.protocol_name),
        "leader": "null" if view.leader is None else member(view.leader, names),
        "members": [_member(each, names) for each in view.members or ()],
        "pendingMembers": [member(each, names) for each in view.pending_members or ()],
        "offsets": [_offset(t.name, p) for t in view.offsets or () for p in t.partitions],
    }
    said = values[field]
    return said if isinstance(said, str) else ", ".join(said) or "empty"


def _member(shown: MemberView, names: Names) -> str:
    """A member, with its fields under the protocol's names."""
    fields = {camel(name): said for name, said in shown._asdict().items() if said is not None}
    del fields["memberId"]
    said = (
        f"{k} {value(v) if isinstance(v, str | bytes) else _json(v)}" for k, v in fields.items()
    )
    return f"{member(shown.member_id, names)} ({', '.join(said)})"


def _json(said: object) -> str:
    return str(said).lower() if isinstance(said, bool) else str(said)


def _offset(topic: str, each: OffsetCommitRequestPartition) -> str:
    return (
        f"{word(topic)}/{each.partition_index} (committedOffset {each.committed_offset},"
        f" committedLeaderEpoch {each.committed_leader_epoch},"
        f" committedMetadata {value(each.committed_metadata or '')})"
    )
