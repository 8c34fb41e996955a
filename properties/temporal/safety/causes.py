"""Properties of causes: nothing happens to a group without the event that is meant to cause it."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.rules.retention import ageless
from groupcheck.model.classic.state import Cleanup, Group, HeldAnswer, Member, OffsetsAppend
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.temporal.property import action_property, invariant
from groupcheck.properties.temporal.safety.offsets import held_deletions
from groupcheck.properties.temporal.step import (
    CheckedStep,
)

PREPARING: Final = GroupState.PREPARING_REBALANCE
READS: Final = (OffsetFetchRequest, DescribeGroupsRequest, ListGroupsRequest)
OFFSETS: Final = (OffsetCommitRequest, TxnOffsetCommitRequest, EndTxnRequest)


def rejected(step: CheckedStep) -> bool:
    """Whether the response to the request of the step has only errors."""
    errors = step.errors
    return bool(errors) and ErrorCode.NONE not in errors


def append_failed(step: CheckedStep) -> bool:
    """Whether an append fails in the step."""
    held = any(getattr(entry, "error", ErrorCode.NONE) for entry in step.before.appends)
    return held or step.before.failing != step.after.failing


def senders(step: CheckedStep) -> set[str]:
    """The members that send the request of the step: their ids before it."""
    named = getattr(step.body, "members", None) or (step.body,)
    owners = (step.old.static(getattr(each, "group_instance_id", None)) for each in named)
    return {getattr(each, "member_id", "") for each in named} | {each for each in owners if each}


def removed(step: CheckedStep) -> list[Member]:
    """The members that the step removes."""
    return [m for m in step.old.members if step.successor_member(m) is None]


def began(step: CheckedStep) -> bool:
    """Whether a rebalance begins in the step; it may end in it as well."""
    idle = step.old.state is not PREPARING
    raised = step.new.generation_id > step.old.generation_id
    return idle and (step.new.state is PREPARING or raised)


@action_property("rebalance-cause", "KIP-345")
def _rebalance_cause(step: CheckedStep) -> bool:
    """A rebalance begins only if a member joins, leaves, times out or changes its protocols.

    Other causes are a leader that sends JoinGroup with its member id, a static member that restarts
    before the assignments arrive, and assignments that the log did not store.
    """
    if not began(step) or removed(step) or append_failed(step):
        return True
    body = step.body
    if not isinstance(body, JoinGroupRequest):
        return False
    members = [m for m in step.old.members if m.member_id in senders(step)]
    completing = step.old.state is GroupState.COMPLETING_REBALANCE
    restarts = not body.member_id and completing
    if not members or restarts or body.member_id == step.old.leader:
        return True
    return any(m.protocols != body.protocols for m in members)


@action_property("static-member-returns", "KIP-345", JoinGroupRequest)
def _static_member_returns(step: CheckedStep) -> bool:
    """A static member that restarts in a Stable group with the same protocols keeps its assignment.

    It causes no rebalance.
    """
    body = step.body_of(JoinGroupRequest)
    if body.member_id or append_failed(step):
        return True
    if step.old.state is not GroupState.STABLE:
        return True
    old = step.old.member(step.old.static(body.group_instance_id) or "")
    if old is None or old.protocols != body.protocols:
        return True
    new = step.successor_member(old)
    return not began(step) and new is not None and new.assignment == old.assignment


@action_property("new-protocols-rebalance", "KIP-345", JoinGroupRequest)
def _new_protocols_rebalance(step: CheckedStep) -> bool:
    """A member that joins with other protocols than before causes a rebalance."""
    body = step.body_of(JoinGroupRequest)
    if rejected(step) or step.old.state is PREPARING:
        return True
    members = [m for m in step.old.members if m.member_id in senders(step)]
    return began(step) or all(m.protocols == body.protocols for m in members)


def _without_sessions(group: Group, members: set[str]) -> Group:
    """The group without the session timers of these members."""
    return group._replace(
        members=tuple(
            m._replace(session_left_ms=None) if m.member_id in members else m for m in group.members
        )
    )


def _ids(group: Group) -> set[str]:
    return {m.member_id for m in group.members} | {p.member_id for p in group.pending}


def _changes(step: CheckedStep, before: Group | None, after: Group | None) -> bool:
    """Whether the step leaves anything but a response that is held, or a marker in the log."""
    entries = [e for e in step.after.appends if not isinstance(e, HeldAnswer)]
    kept = [e for e in step.before.appends if not isinstance(e, HeldAnswer)]
    states = [each and each._replace(not_persisted=False) for each in (before, after)]
    logged = step.before.group is None or isinstance(step.body, EndTxnRequest)
    written = step.before.log != step.after.log and not logged
    return states[0] != states[1] or entries != kept or written


@action_property("errors-leave-no-trace", "KIP-394", Request)
def _errors_leave_no_trace(step: CheckedStep) -> bool:
    """A request that is answered with an error changes nothing.

    MEMBER_ID_REQUIRED gives out a member id. REBALANCE_IN_PROGRESS restarts a session.
    GROUP_MAX_SIZE_REACHED removes the member. An append that fails may begin a rebalance.
    """
    if not rejected(step) or append_failed(step):
        return True
    before, after, errors = step.before.group, step.after.group, step.errors
    gone = _ids(step.old) - _ids(step.new)
    if ErrorCode.GROUP_MAX_SIZE_REACHED in errors and gone:
        return gone <= senders(step)
    if ErrorCode.MEMBER_ID_REQUIRED in errors and after is not None:
        given_out = len(after.pending) - len(step.old.pending)
        before, after = step.old._replace(pending=()), after._replace(pending=())
        return given_out == 1 and not _changes(step, before, after)
    if ErrorCode.REBALANCE_IN_PROGRESS in errors and before is not None and after is not None:
        before = _without_sessions(before, senders(step))
        after = _without_sessions(after, senders(step))
    return not _changes(step, before, after)


def _membership(group: Group) -> tuple[object, ...]:
    """What a rebalance changes, and nothing that a heartbeat or a commit may."""
    state = GroupState.EMPTY if group.state is GroupState.DEAD else group.state
    members = [m._replace(session_left_ms=None) for m in group.members]
    return (state, *group[1:5], members, group.pending, group.join_timer)


@action_property("reads-change-nothing", "KIP-88", *READS)
def _reads_change_nothing(step: CheckedStep) -> bool:
    """OffsetFetch, DescribeGroups and ListGroups change nothing."""
    return not _changes(step, step.before.group, step.after.group)


@action_property("heartbeats-and-commits-keep-members", "KIP-62", HeartbeatRequest, *OFFSETS)
def _heartbeats_and_commits_keep_members(step: CheckedStep) -> bool:
    """A heartbeat, a commit or a transaction marker changes no membership and no rebalance."""
    return _membership(step.old) == _membership(step.new)


@action_property("session-restart-cause", "KIP-62")
def _session_restart_cause(step: CheckedStep) -> bool:
    """The session timer of a member restarts only if the member sends a request or gets a response.

    Otherwise a member that is gone would never time out.
    """
    answered = {response.request_id for response in step.responses}
    for old in step.old.members:
        new = step.successor_member(old) if old.session_left_ms is not None else None
        if new is None or new.session_left_ms is None or old.session_left_ms is None:
            continue
        if new.session_left_ms <= old.session_left_ms:
            continue
        heard = old.member_id in senders(step) or {old.awaiting_join, old.awaiting_sync} & answered
        if not heard:
            return append_failed(step)
    return True


@action_property("leader-cause", "GroupMetadata.scala:277")
def _leader_cause(step: CheckedStep) -> bool:
    """The leader changes only if it is removed, or does not rejoin in time."""
    old = step.old.member(step.old.leader or "")
    if old is None or step.new.leader is None or append_failed(step):
        return True
    kept = step.new.leader == step.renamed.get(old.member_id, old.member_id)
    absent = step.old.state is PREPARING and old.awaiting_join is None
    return kept or absent or step.new.member(old.member_id) is None


@action_property("generation-cause", "GroupMetadata.scala:534")
def _generation_cause(step: CheckedStep) -> bool:
    """The generation of a group goes up only at the end of a join phase.

    A JoinGroup or the removal of the last members may begin and end one at once.
    """
    raised = step.new.generation_id > step.old.generation_id
    at_once = isinstance(step.body, JoinGroupRequest) or bool(removed(step))
    return not raised or step.old.state is PREPARING or at_once


def _identities(step: CheckedStep) -> list[MemberIdentity]:
    """The members that the request of the step names, in the order of its error codes."""
    body = step.body
    if isinstance(body, LeaveGroupRequest) and len(step.errors) == len(body.members):
        return [*body.members]
    member_id = getattr(body, "member_id", None)
    instance_id = getattr(body, "group_instance_id", None)
    return [] if member_id is None else [MemberIdentity(member_id, instance_id)] * len(step.errors)


@action_property("unknown-member-cause", "KIP-394")
def _unknown_member_cause(step: CheckedStep) -> bool:
    """UNKNOWN_MEMBER_ID is no answer to a member, nor to JoinGroup with a member id given out."""
    group, joins = step.old, isinstance(step.body, JoinGroupRequest)
    errors = step.errors
    if ErrorCode.UNKNOWN_MEMBER_ID not in errors:
        return True
    for identity, error in zip(_identities(step), errors, strict=False):
        named = identity.group_instance_id
        known = group.member(identity.member_id) is not None or (
            joins and group.is_pending(identity.member_id)
        )
        own = named is None or group.static(named) == identity.member_id
        if error is ErrorCode.UNKNOWN_MEMBER_ID and known and own:
            return False
    return True


@action_property("fenced-cause", "KIP-345")
def _fenced_cause(step: CheckedStep) -> bool:
    """FENCED_INSTANCE_ID is an answer only where another member has the group.instance.id."""
    errors = step.errors
    if ErrorCode.FENCED_INSTANCE_ID not in errors:
        return True
    for identity, error in zip(_identities(step), errors, strict=False):
        owner = step.old.static(identity.group_instance_id)
        fenced = error is ErrorCode.FENCED_INSTANCE_ID
        if fenced and (owner in {None, identity.member_id} or step.old.member(owner or "") is None):
            return False
    return True


@action_property("leave-removes", "KIP-62", LeaveGroupRequest)
def _leave_removes(step: CheckedStep) -> bool:
    """A member that leaves is no member once LeaveGroup is answered without an error."""
    return all(
        error is not ErrorCode.NONE or step.new.member(identity.member_id) is None
        for identity, error in zip(_identities(step), step.errors, strict=False)
    )


@invariant("instance-ids-of-members", "KIP-345")
def _instance_ids_of_members(group: Group) -> bool:
    """A group.instance.id belongs to a member of the group that has it, or to none."""
    owned = {(m.group_instance_id, m.member_id) for m in group.members if m.group_instance_id}
    return owned == {*group.statics}


@action_property("offset-change-cause", "KIP-211")
def _offset_change_cause(step: CheckedStep) -> bool:
    """A committed offset stays until a commit overwrites it, or it is deleted or expires."""
    given, body = step.given, step.body
    if step.old.offsets == step.new.offsets:
        return True
    deletes = isinstance(body, DeleteGroupsRequest | OffsetDeleteRequest) or held_deletions(step)
    if isinstance(given, Cleanup) or deletes:
        return True
    before, after = dict(ageless(step.old).offsets), dict(ageless(step.new).offsets)
    if before == after or isinstance(body, EndTxnRequest | OffsetCommitRequest):
        return before.keys() <= after.keys()
    held = (e.offsets for e in step.before.appends if isinstance(e, OffsetsAppend))
    written = {partition for offsets in held for partition, _ in offsets}
    return all(after.get(tp) == offset or tp in {*after} & written for tp, offset in before.items())


@action_property("group-full-cause", "KIP-389", JoinGroupRequest)
def _group_full_cause(step: CheckedStep) -> bool:
    """GROUP_MAX_SIZE_REACHED is an answer only while group.max.size other members have a place."""
    if ErrorCode.GROUP_MAX_SIZE_REACHED not in step.errors:
        return True
    others = [m for m in step.old.members if m.member_id not in senders(step)]
    return len(others) >= step.group_max_size


@action_property("generation-size", "KIP-389")
def _generation_size(step: CheckedStep) -> bool:
    """A generation has at most group.max.size members."""
    in_generation = step.new.state in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
    return not in_generation or len(step.new.members) <= step.group_max_size
