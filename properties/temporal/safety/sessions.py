"""Properties of sessions."""

from __future__ import annotations

from groupcheck.model.classic.state import Group, Member, Serving
from groupcheck.model.vocabulary import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
)
from groupcheck.properties.temporal.property import action_property, invariant
from groupcheck.properties.temporal.safety.rebalances import rejoined
from groupcheck.properties.temporal.step import CheckedStep


@invariant("waiting-does-not-expire", "MemberMetadata.scala:94")
def _waiting_does_not_expire(group: Group) -> bool:
    """A member with a parked JoinGroup or SyncGroup has no session timer.

    Exceptions are a new member, which has a limit of its own, and a static member that rejoined a
    Stable group.
    """
    return all(
        m.session_left_ms is None
        for m in group.members
        if not m.is_new
        and (m.awaiting_join is not None or m.awaiting_sync is not None)
        and not rejoined(group, m)
    )


def _leavers(step: CheckedStep) -> set[str]:
    body = step.body
    if not isinstance(body, LeaveGroupRequest):
        return set()
    by_instance = {step.old.static(m.group_instance_id) for m in body.members}
    return {m.member_id for m in body.members} | {name for name in by_instance if name}


def _is_rejected(step: CheckedStep, member: Member) -> bool:
    """Whether the member sends JoinGroup and the group is full."""
    errors = {getattr(r.body, "error_code", None) for r in step.responses}
    full = ErrorCode.GROUP_MAX_SIZE_REACHED in errors
    return full and getattr(step.body, "member_id", None) == member.member_id


@action_property("no-early-removal", "GroupCoordinator.scala:1278")
def _no_early_removal(step: CheckedStep) -> bool:
    """A member is not removed before its session times out.

    Exceptions are a member that leaves or finds the group full, a dynamic member that has not
    rejoined at the rebalance timeout and, where the version has this limit, a member that has not
    synced by then.
    """
    old, passed_ms = step.old, step.passed_ms
    join_left_ms = (
        old.join_timer.left_ms
        if old.join_timer is not None
        else max((m.rebalance_timeout_ms for m in old.members), default=0)
    )
    for member in old.members:
        if step.successor_member(member) is not None or member.member_id in _leavers(step):
            continue
        if _is_rejected(step, member):
            continue
        silent = member.session_left_ms is not None and member.session_left_ms <= passed_ms
        may_be_late = member.awaiting_join is not None or member.group_instance_id is not None
        absent = not may_be_late and join_left_ms <= passed_ms
        late = member.unsynced and old.sync_left_ms is not None and old.sync_left_ms <= passed_ms
        if not (silent or absent or late):
            return False
    return True


@action_property("session-timers", "GroupCoordinator.scala:958")
def _session_timers(step: CheckedStep) -> bool:
    """A session timer runs no faster than time passes.

    It starts with the whole session timeout, or with the limit of a new member.
    """
    passed_ms = step.passed_ms
    for member in step.new.members:
        left_ms = member.session_left_ms
        before = step.old.member(member.member_id)
        if left_ms is None:
            continue
        starts = [member.session_timeout_ms]
        if before is None and member.is_new and member.member_id not in step.renamed.values():
            starts = [step.config.new_member_join_timeout_ms]
        elif before is not None and before.session_left_ms is not None:
            starts.append(before.session_left_ms)
        if left_ms < min(starts) - passed_ms:
            return False
    return True


@action_property("heartbeat-restarts-session", "GroupCoordinator.scala:643", HeartbeatRequest)
def _heartbeat_restarts_session(step: CheckedStep) -> bool:
    """A heartbeat that is answered without an error restarts the session timer.

    The exception is a group that is being loaded.
    """
    loading = step.before.serving is Serving.LOADING
    accepted = step.answer == HeartbeatResponse(ErrorCode.NONE)
    if not accepted or loading:
        return True
    member = step.new.member(step.body_of(HeartbeatRequest).member_id)
    return member is not None and member.session_left_ms in {None, member.session_timeout_ms}
