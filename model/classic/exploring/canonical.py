"""The canonical form: one state for all that differ only in names and generation numbers.

Members are renamed in an order that depends only on their fields. This is a complete symmetry
reduction: exchanging two members with equal sort keys does not change the state. The rules only
compare generations for equality and with the first one. So every generation after the first becomes
1, or n after the nth if n generations are distinguished. Request ids of parked requests are
renumbered. The renaming is returned with the state, so that a path of the reduced graph can be
replayed on a real coordinator: `CanonicalForm.restore` translates an input.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from groupcheck.model.classic.rules.retention import ageless
from groupcheck.model.classic.state import (
    GONE,
    NEVER,
    Append,
    Coordinator,
    Group,
    GroupAppend,
    GroupRecord,
    HeldAnswer,
    HeldDeletion,
    HeldRequest,
    JoinTimer,
    Member,
    OffsetsAppend,
    Pending,
    StaticAppend,
)
from groupcheck.model.vocabulary import (
    ErrorCode,
    LeaveGroupResponse,
    Request,
    RequestBody,
    ResponseBody,
)

# The fields that a member's JoinGroup sets, and those of them that are in the log.
_joined = attrgetter(
    "client_id", "client_host", "session_timeout_ms", "rebalance_timeout_ms", "protocols"
)
_recorded = attrgetter("session_timeout_ms", "rebalance_timeout_ms", "protocols")

# The time left on disabled timers in an untimed state: longer than any test.
UNTIMED_MS = 1_000_000_000


class CanonicalForm(NamedTuple):
    """A canonical state, and the mapping from the original one.

    `names` maps original to canonical names, in the order of the latter. `generation_offset` is the
    original generation minus the canonical one.
    """

    node: Coordinator
    names: dict[str, str]
    generation_offset: int

    def restore(self, given: Any, request_id: int) -> Any:  # noqa: ANN401 - any input
        """An input of the canonical state in the names and generations of the state itself."""
        if not isinstance(given, Request):
            return given
        real = {name: member_id for member_id, name in self.names.items()}
        return given._replace(
            request_id=request_id, body=rename(given.body, real, self.generation_offset)
        )


def rename(body: RequestBody, names: dict[str, str], generations: int) -> RequestBody:
    """A request with its member ids exchanged and its generation (if it has one) shifted."""
    changes: dict[str, Any] = {}
    if "member_id" in body._fields:
        member_id: str = body.member_id  # type: ignore[union-attr]
        changes["member_id"] = names.get(member_id, member_id)
    if getattr(body, "generation_id", -1) >= 0:
        changes["generation_id"] = body.generation_id + generations  # type: ignore[union-attr]
    for field in ("assignments", "members"):
        if entries := getattr(body, field, ()):
            changes[field] = tuple(
                e._replace(member_id=names.get(e.member_id, e.member_id)) for e in entries
            )
    return body._replace(**changes) if changes else body


def untimed(state: Coordinator) -> Coordinator:
    """The state with timers of which only the initial delay can fire."""
    if state.removed_group_join_ms is not None:
        state = state._replace(removed_group_join_ms=None)
    group = state.group
    if group is None:
        return state
    timer = group.join_timer
    if timer is not None and timer.initial:
        timer = timer._replace(left_ms=timer.round_ms, extension_ms=UNTIMED_MS)
    elif timer is not None:
        timer = JoinTimer(UNTIMED_MS)
    return state._replace(
        group=group._replace(
            members=tuple(m._replace(session_left_ms=None, unsynced=False) for m in group.members),
            pending=tuple(p._replace(left_ms=UNTIMED_MS) for p in group.pending),
            join_timer=timer,
            orphaned_timers=(),
            sync_left_ms=None,
            lost_sync=False,
        )
    )


def _retains(group: Group) -> bool:
    """Whether the group has offsets or a retention time."""
    any_kept = group.offsets or group.transactions or group.unstable
    return bool(any_kept or group.empty_left_ms is not None)


def ageless_state(state: Coordinator) -> Coordinator:
    """The state without the ages of its offsets."""
    group = state.group
    if not (state.log or state.appends or (group and _retains(group))):
        return state
    return state._replace(
        group=state.group and ageless(state.group),
        appends=tuple(
            a._replace(offsets=tuple((tp, offset.ageless) for tp, offset in a.offsets))
            if isinstance(a, OffsetsAppend)
            else a
            for a in state.appends
        ),
        log=state.log and ageless(state.log),
    )


def canonical(
    state: Coordinator,
    *,
    timed: bool = True,
    logged: bool = False,
    aged: bool = False,
    generations: int = 1,
) -> CanonicalForm:
    """The canonical form of a state.

    `timed`, `logged` and `aged` say whether it keeps its timers, its log and the ages of its
    offsets. `generations` is the number of generations that are distinguished: later ones become
    the last of these.
    """
    if not timed:
        state = untimed(state)
    if not logged and state.log is not None:
        state = state._replace(log=None)
    if not aged:
        state = ageless_state(state)
    recorded = state.log.group if state.log else None
    group = state.group
    if group is None and recorded is None and not state.appends:
        return CanonicalForm(state, {}, 0)
    group = group or Group()
    by_instance = {member_id for _, member_id in group.statics}
    returned = [a for a in state.appends if isinstance(a, StaticAppend)]
    assigned = [dict(a.assignments) for a in state.appends if isinstance(a, GroupAppend)]

    def member_key(member: Member) -> tuple[Any, ...]:
        return (
            member.member_id != group.leader,
            member.is_new,
            member.revealed,
            member.awaiting_join is None,
            member.awaiting_sync is None,
            -1 if member.session_left_ms is None else member.session_left_ms,
            *_joined(member),
            member.assignment,
            member.group_instance_id or "",
            member.member_id in by_instance,
            *(member.member_id in (a.revealed, a.member_id, a.leader) for a in returned),
            member.unsynced,
            member.null_instance,
            *(given.get(member.member_id, b"") for given in assigned),
            *_recorded_key(recorded, member.member_id),
            *(_held_key(entry, member) for entry in state.appends),
        )

    members = list(group.members)
    if len(members) > 1:
        members.sort(key=member_key)
    pending = sorted(group.pending, key=attrgetter("left_ms"))
    names = {m.member_id: f"m{i}" for i, m in enumerate(members, 1)}
    names |= {p.member_id: f"p{i}" for i, p in enumerate(pending, 1)}
    if recorded is not None:
        lost = [m.member_id for m in recorded.members if m.member_id not in names]
        lost.sort(key=lambda member_id: _recorded_key(recorded, member_id))
        names |= {member_id: f"m{i}" for i, member_id in enumerate(lost, len(members) + 1)}
    return _renamed(state, members, pending, names, generations)


def _recorded_key(recorded: GroupRecord | None, member_id: str) -> tuple[Any, ...]:
    """The sort key of a member in the log."""
    if recorded is None:
        return ()
    return (
        member_id != recorded.leader,
        *(
            (*_recorded(m), m.assignment, m.group_instance_id or "")
            for m in recorded.members
            if m.member_id == member_id
        ),
    )


def _held_key(entry: Append, member: Member) -> tuple[bool, ...]:
    """The sort key of a member in a held append, request or response."""
    if isinstance(entry, GroupAppend):
        return (entry.request_id == member.awaiting_sync is not None,)
    if isinstance(entry, HeldRequest):
        parked = member.awaiting_join if entry.joins else member.awaiting_sync
        return (entry.request_id == parked,)
    if isinstance(entry, HeldAnswer):
        return tuple(m.member_id == member.member_id for m in getattr(entry.body, "members", ()))
    return ()


def with_names(state: Coordinator, names: dict[str, str], generations: int = 1) -> Coordinator:
    """The state with its members renamed. The rules do not depend on names.

    `generations` is the number of generations that are distinguished.
    """
    group = state.group or Group()
    members = sorted(group.members, key=lambda m: names[m.member_id])
    pending = sorted(group.pending, key=lambda p: names[p.member_id])
    return _renamed(state, members, pending, names, generations).node


def _renamed(
    state: Coordinator,
    members: list[Member],
    pending: list[Pending],
    names: dict[str, str],
    generations: int,
) -> CanonicalForm:
    """The state with these names, its members and pending ids in this order."""
    group = state.group or Group()
    offset = max(group.generation_id - generations, 0)
    commits = {NEVER: NEVER} | {
        a.request_id: 300 + i for i, a in enumerate(state.appends) if isinstance(a, OffsetsAppend)
    }
    ids = [*(m.member_id for m in members), *(p.member_id for p in pending)]
    present = {member_id: names[member_id] for member_id in ids}
    renamed = group._replace(
        leader=None if group.leader is None else names[group.leader],
        members=tuple(_renamed_member(m, names[m.member_id]) for m in members),
        statics=tuple((i, present.get(m, GONE)) for i, m in group.statics),
        pending=tuple(Pending(names[p.member_id], p.left_ms) for p in pending),
        generation_id=group.generation_id - offset,
        unstable=tuple((tp, commits.get(request_id, 0)) for tp, request_id in group.unstable),
        transactions=tuple(
            p if p.request_id is None else p._replace(request_id=commits.get(p.request_id, 0))
            for p in group.transactions
        ),
    )
    parked = {
        before: after
        for m in members
        for before, after in zip(
            (m.awaiting_join, m.awaiting_sync), parked_ids(names[m.member_id]), strict=True
        )
        if before is not None
    }
    appends = tuple(
        _renamed_append(a, present, parked, offset, i) for i, a in enumerate(state.appends)
    )
    node = state._replace(group=state.group and renamed, appends=appends)
    if state.log is not None and state.log.group is not None:
        record = _renamed_record(state.log.group, names, generations)
        node = node._replace(log=state.log._replace(group=record))
    return CanonicalForm(node, names, offset)


def _renamed_record(record: GroupRecord, names: dict[str, str], generations: int) -> GroupRecord:
    """The record with these names."""
    members = sorted(_renamed_member(m, names[m.member_id]) for m in record.members)
    return record._replace(
        generation_id=min(record.generation_id, generations),
        leader=record.leader and names[record.leader],
        members=tuple(members),
    )


def parked_ids(name: str) -> tuple[int, int]:
    """The request ids of a member's JoinGroup and SyncGroup while they are parked."""
    number = int(name[1:])
    return 100 + number, 200 + number


def _renamed_member(member: Member, name: str) -> Member:
    awaiting_join, awaiting_sync = parked_ids(name)
    # Calls the constructor because this runs in every step, and _replace is slower.
    return Member(
        name,
        member.client_id,
        member.client_host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.protocols,
        member.is_new,
        member.revealed,
        member.session_left_ms,
        None if member.awaiting_join is None else awaiting_join,
        None if member.awaiting_sync is None else awaiting_sync,
        member.assignment,
        member.group_instance_id,
        member.unsynced,
        member.null_instance,
    )


def _renamed_append(
    entry: Append, names: dict[str, str], parked: dict[int, int], offset: int, index: int
) -> Append:
    if isinstance(entry, OffsetsAppend | HeldDeletion):
        return entry._replace(request_id=300 + index)
    if isinstance(entry, HeldAnswer):
        return HeldAnswer(300 + index, entry.api, _renamed_answer(entry.body, names))
    if isinstance(entry, HeldRequest):
        return entry._replace(request_id=parked.get(entry.request_id, 300 + index))
    if isinstance(entry, StaticAppend):
        return _renamed_static_append(entry, names, index)
    # Assignments to removed members have no observable effect.
    given = sorted((names[m], given) for m, given in entry.assignments if m in names)
    request_id = entry.request_id
    if request_id is not None:
        request_id = parked.get(request_id, 300 + index)
    generation_id = max(entry.generation_id - offset, 0)
    return GroupAppend(generation_id, tuple(given), entry.error, request_id)


def _renamed_answer(body: ResponseBody, names: dict[str, str]) -> ResponseBody:
    """A held response: only that of LeaveGroup contains member ids that clients sent."""
    if not isinstance(body, LeaveGroupResponse):
        return body
    members = (
        m._replace(member_id=names.get(m.member_id, m.member_id and GONE)) for m in body.members
    )
    return body._replace(members=tuple(members))


def _renamed_static_append(entry: StaticAppend, names: dict[str, str], index: int) -> StaticAppend:
    if entry.member_id is None:
        # No rule reads the revealed id, and loaded members may have the same names.
        names = {}
    entry = entry._replace(
        revealed=names.get(entry.revealed, GONE),
        member_id=entry.member_id and names[entry.member_id],
        leader=entry.leader and names.get(entry.leader, GONE),
        replaced=entry.replaced if entry.error is ErrorCode.NONE else f"r{index}",
    )
    if entry.after_unload is None:
        return entry
    held = entry.after_unload[1]
    answer = held._replace(generation_id=1, leader=entry.leader or "", member_id=entry.revealed)
    return entry._replace(after_unload=(300 + index, answer))
