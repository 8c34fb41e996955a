"""Makes observed and expected answers comparable: ids as symbols, lists sorted, fields trimmed.

This removes exactly the nondeterminism that Kafka allows: the values of member ids and the order
of members, topics and partitions in an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, TypeVar, get_type_hints

from groupcheck.model.classic.instances.inputs import NOBODY
from groupcheck.model.classic.rules.retention import ageless
from groupcheck.model.classic.state import Group, Member, Offset
from groupcheck.model.engine.edits import Anything, plain
from groupcheck.model.versions import record_in, trim
from groupcheck.model.vocabulary import (
    DescribedGroup,
    GroupState,
    GroupView,
    JoinGroupResponse,
    MemberResponse,
    MemberView,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    ResponseBody,
    TxnOffsetCommitResponse,
)

UNREVEALED = "?"  # an id that the port has not revealed yet

# The fields of a member's view by which members with unrevealed ids are compared.
UNNAMED_FIELDS = ("session_timeout_ms", "rebalance_timeout_ms", "awaiting_join", "awaiting_sync")

Names = Mapping[str, str]
Record = TypeVar("Record")

# The fields with the id of a member, in every record.
MEMBER_IDS: Final = frozenset({"leader", "member_id"})
GENERATION: Final = "generation_id"  # the field with a generation, in every record
# The records whose ids are those that the client sent.
ECHOING: Final = frozenset({MemberResponse})
# The lists whose order Kafka leaves open, by the record that has them.
BY_TOPIC = (
    OffsetCommitResponse,
    OffsetFetchResponse,
    TxnOffsetCommitResponse,
    OffsetDeleteResponse,
)
TOPICS = (OffsetCommitResponseTopic, OffsetFetchResponseTopic, OffsetDeleteResponseTopic)
UNORDERED: Final[Mapping[type, str]] = {
    JoinGroupResponse: "members",
    DescribedGroup: "members",
    **dict.fromkeys(BY_TOPIC, "topics"),
    **dict.fromkeys(TOPICS, "partitions"),
}


def normal(body: ResponseBody, names: Names, api_version: int) -> ResponseBody:
    """An answer in its comparable form; `names` turns member ids into symbols."""
    body = trim(body, api_version)
    cls: Any = type(body)
    convert = _converter(cls)
    return body if convert is None else convert(body, names)


@cache
def _converter(cls: Any) -> Callable[[Any, Names], Any] | None:  # noqa: ANN401 - any record
    """The conversion of records of a class to the comparable form; None if they all have it."""
    ids = [field for field in cls._fields if field in MEMBER_IDS]
    name = _echoed if cls in ECHOING else _symbol
    nested = {field: record_in(hint) for field, hint in get_type_hints(cls).items()}
    converters = {field: _converter(entry) for field, entry in nested.items() if entry}
    unordered = UNORDERED.get(cls)
    lists = {f: convert for f, convert in converters.items() if convert or f == unordered}
    if not ids and not lists:
        return None

    def convert(record: Any, names: Names) -> Any:  # noqa: ANN401 - a record of the class
        changes: dict[str, Any] = {field: name(getattr(record, field), names) for field in ids}
        for field, entry in lists.items():
            listed = getattr(record, field)
            if entry is not None and listed:
                within = _with_repeated(names, listed)
                listed = tuple([entry(each, within) for each in listed])
            changes[field] = _in_order(listed) if field == unordered else listed
        return record._replace(**changes)

    return convert


def _symbol(member_id: str, names: Names) -> str:
    """The symbol of a member id that the port chose."""
    return names.get(member_id) or (member_id if member_id in {"", NOBODY} else UNREVEALED)


def _echoed(member_id: str, names: Names) -> str:
    return names.get(member_id, member_id)


def _with_repeated(names: Names, records: tuple[Any, ...]) -> Names:
    """The names, and each repeated id of a list as its own name."""
    if len(records) < 2 or "member_id" not in records[0]._fields:
        return names
    times = Counter(record.member_id for record in records)
    return {**{name: name for name, count in times.items() if count > 1}, **names}


def _in_order(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """Records in a fixed order; None does not compare with strings."""
    return tuple(sorted(records, key=repr)) if len(records) > 1 else records


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
        if seen is not None and (seen or None) != (allowed or None):  # "" may stand for null
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
    """A member's symbol if the port has revealed its id, which is optional for a loaded member."""
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


def member_view(member: Member) -> MemberView:
    """A member as shown by a port that shows every field."""
    return MemberView(
        member.member_id,
        member.group_instance_id,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.awaiting_join is not None,
        member.awaiting_sync is not None,
        member.assignment,
    )


def _unrevealed_differ(members: list[Member], views: list[MemberView]) -> bool:
    """Compare members with unrevealed ids by the other fields that the views show."""
    fields = [f for f in UNNAMED_FIELDS if all(getattr(view, f) is not None for view in views)]

    def rows(found: Iterable[MemberView]) -> Counter[tuple[object, ...]]:
        return Counter(tuple(getattr(view, f) for f in fields) for view in found)

    return rows(map(member_view, members)) != rows(views)


def _member_differs(member: Member, shown: MemberView, *, stable: bool) -> bool:
    """Whether a field that is shown differs; an empty string equals null."""
    hidden = {"member_id"} if stable else {"member_id", "assignment"}
    return any(
        seen is not None and (seen or None) != (ours or None)
        for field, seen, ours in zip(MemberView._fields, shown, member_view(member), strict=True)
        if field not in hidden
    )


def _offsets(view: GroupView) -> dict[tuple[str, int], Offset]:
    return {
        (topic.name, p.partition_index): Offset(
            p.committed_offset, p.committed_leader_epoch, p.committed_metadata or ""
        )
        for topic in view.offsets or ()
        for p in topic.partitions
    }
