"""Makes observed and expected answers comparable: ids as symbols, lists sorted, fields trimmed.

This removes exactly the nondeterminism that Kafka allows: the values of member ids and the order
of members, topics and partitions in an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from groupcheck.model.engine.edits import Anything, plain
from groupcheck.model.instances.inputs import NOBODY
from groupcheck.model.rules.retention import ageless
from groupcheck.model.state import Group, Member, Offset
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    DescribeGroupsResponse,
    GroupState,
    GroupView,
    JoinGroupResponse,
    LeaveGroupResponse,
    MemberView,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    ResponseBody,
    TxnOffsetCommitResponse,
)

# Answers that are about partitions, topic by topic.
BY_TOPIC = (
    OffsetCommitResponse,
    OffsetFetchResponse,
    TxnOffsetCommitResponse,
    OffsetDeleteResponse,
)

UNREVEALED = "?"  # an id that the port has not revealed yet

Names = Mapping[str, str]
Record = TypeVar("Record")


def _symbol(member_id: str, names: Names) -> str:
    """The symbol of a member id; unknown ids stay as they are."""
    return names.get(member_id) or (member_id if member_id in {"", NOBODY} else UNREVEALED)


def _symbols(member_ids: list[str], names: Names) -> list[str]:
    """The symbols of the ids of one list; an unknown id that occurs twice stands for itself."""
    times = Counter(member_ids)
    return [names.get(name, UNREVEALED if times[name] == 1 else name) for name in member_ids]


def normal(body: ResponseBody, names: Names, api_version: int) -> ResponseBody:
    """An answer in its comparable form; `names` turns member ids into symbols."""
    body = trim(body, api_version)
    if isinstance(body, JoinGroupResponse):
        listed = (m._replace(member_id=_symbol(m.member_id, names)) for m in body.members)
        return body._replace(
            leader=_symbol(body.leader, names),
            member_id=_symbol(body.member_id, names),
            members=_in_order(listed),
        )
    if isinstance(body, LeaveGroupResponse):
        left = (m._replace(member_id=names.get(m.member_id, m.member_id)) for m in body.members)
        return body._replace(members=tuple(left))
    if isinstance(body, DescribeGroupsResponse):
        return DescribeGroupsResponse(
            tuple(
                group._replace(
                    members=_in_order(
                        m._replace(member_id=symbol)
                        for m, symbol in zip(
                            group.members,
                            _symbols([m.member_id for m in group.members], names),
                            strict=True,
                        )
                    )
                )
                for group in body.groups
            )
        )
    if isinstance(body, BY_TOPIC):
        topics: Any = body.topics
        return body._replace(
            topics=_in_order(t._replace(partitions=_in_order(t.partitions)) for t in topics)
        )
    return body


def _in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """Records in a fixed order, whatever they contain: None does not compare with strings."""
    listed = tuple(records)
    return tuple(sorted(listed, key=repr)) if len(listed) > 1 else listed


def with_anything_as(seen: Any, allowed: Any) -> Any:  # noqa: ANN401 - any records
    """An allowed answer with the values seen in the fields that may have any value."""
    if isinstance(allowed, Anything):
        return seen
    if type(allowed) is not type(seen) or not isinstance(allowed, tuple):
        return plain(allowed)
    if len(allowed) != len(seen):
        return plain(allowed)
    parts = [with_anything_as(theirs, ours) for theirs, ours in zip(seen, allowed, strict=True)]
    return allowed._make(parts) if hasattr(allowed, "_make") else tuple(parts)


def differing(allowed: ResponseBody, seen: ResponseBody) -> list[str]:
    """The names of the fields in which two answers to the same API differ."""
    return [
        field
        for field, ours, theirs in zip(allowed._fields, allowed, seen, strict=True)
        if ours != theirs
    ]


def differing_field(group: Group | None, view: GroupView | None, names: Names) -> str | None:
    """The first field of a port's inner state that is not the model's; None if all agree.

    Fields the port does not show are not compared, and assignments only in Stable, where they
    can be asked for.
    """
    if group is None or view is None:
        absent = group is None and (view is None or view.state == GroupState.DEAD)
        return None if absent else "groupId"
    leader = view.leader and names.get(view.leader, UNREVEALED)
    shown = (
        ("state", view.state, group.state),
        ("generationId", view.generation_id, group.generation_id),
        ("protocolType", view.protocol_type, group.protocol_type),
        ("protocolName", view.protocol_name, group.protocol_name),
        ("leader", leader, _revealed(group.leader, names)),
    )
    for field, seen, allowed in shown:
        if seen is not None and (None if seen == "" else seen) != allowed:
            return field
    if view.members is not None and _members_differ(group, view, names):
        return "members"
    if view.pending_members is not None:
        pending = sorted(names.get(member_id, UNREVEALED) for member_id in view.pending_members)
        if pending != [p.member_id for p in group.pending]:
            return "pendingMembers"
    if view.offsets is not None and _offsets(view) != dict(ageless(group).offsets):
        return "offsets"
    return None


def _revealed(member_id: str | None, names: Names) -> str | None:
    """A member's symbol, if the port has revealed its id; a loaded member's may never be."""
    return UNREVEALED if member_id and member_id not in names.values() else member_id


def _members_differ(group: Group, view: GroupView, names: Names) -> bool:
    seen = view.members or ()
    if len({shown.member_id for shown in seen}) != len(seen) or len(seen) != len(group.members):
        return True
    stable = group.state is GroupState.STABLE
    unmatched: list[MemberView] = []
    revealed = 0
    for shown in seen:
        member = group.member(names.get(shown.member_id, UNREVEALED))
        if member is None:
            unmatched.append(shown)
        elif _member_differs(member, shown, stable=stable):
            return True
        else:
            revealed += 1
    unrevealed = [m for m in group.members if m.member_id not in names.values()]
    if revealed + len(unrevealed) != len(group.members):
        return True
    return bool(unrevealed) and _unrevealed_differ(unrevealed, unmatched)


def _unrevealed_differ(members: list[Member], views: list[MemberView]) -> bool:
    """Compare members with unrevealed ids by the other fields that the view shows."""
    rows = [
        (m.session_timeout_ms, m.rebalance_timeout_ms, m.awaiting_join is not None, False)
        for m in members
    ]
    seen = [view[2:6] for view in views]
    fields = [i for i in range(4) if all(row[i] is not None for row in seen)]
    return Counter(tuple(row[i] for i in fields) for row in rows) != Counter(
        tuple(row[i] for i in fields) for row in seen
    )


def _member_differs(member: Member, shown: MemberView, *, stable: bool) -> bool:
    _, instance_id, session_ms, rebalance_ms, awaiting_join, awaiting_sync, assignment = shown
    return (
        (instance_id is not None and (instance_id or None) != member.group_instance_id)
        or (session_ms is not None and session_ms != member.session_timeout_ms)
        or (rebalance_ms is not None and rebalance_ms != member.rebalance_timeout_ms)
        or (awaiting_join is not None and awaiting_join != (member.awaiting_join is not None))
        or (awaiting_sync is not None and awaiting_sync != (member.awaiting_sync is not None))
        or (stable and assignment is not None and assignment != member.assignment)
    )


def _offsets(view: GroupView) -> dict[tuple[str, int], Offset]:
    return {
        (topic.name, p.partition_index): Offset(
            p.committed_offset, p.committed_leader_epoch, p.committed_metadata or ""
        )
        for topic in view.offsets or ()
        for p in topic.partitions
    }
