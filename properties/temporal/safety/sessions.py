"""Laws of sessions: nobody is removed too early, and time alone makes them shorter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.state import (
    Advance,
    Group,
    Member,
    Serving,
)
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
)
from groupcheck.properties.temporal.safety.rebalances import came_back
from groupcheck.properties.temporal.step import CheckedStep, Property, answer_of

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
COMPLETING, STABLE = GroupState.COMPLETING_REBALANCE, GroupState.STABLE
WITHOUT_MEMBERS: Final = frozenset({EMPTY, GroupState.DEAD})


def _passed_ms(step: CheckedStep) -> int:
    return step.given.ms if isinstance(step.given, Advance) else 0


def _leavers(step: CheckedStep) -> set[str]:
    body = step.body
    if not isinstance(body, LeaveGroupRequest):
        return set()
    by_instance = {step.old.static(m.group_instance_id) for m in body.members}
    return {m.member_id for m in body.members} | {name for name in by_instance if name}


def _is_turned_away(step: CheckedStep, member: Member) -> bool:
    """Whether it asks to join again, and is told that it is one too many."""
    errors = {getattr(r.body, "error_code", None) for r in step.responses}
    full = ErrorCode.GROUP_MAX_SIZE_REACHED in errors
    return full and getattr(step.body, "member_id", None) == member.member_id


def _removed_in_time(step: CheckedStep) -> bool:
    """Who is gone has left, or was silent for long enough, or was late to join again or to sync."""
    old, passed_ms = step.old, _passed_ms(step)
    join_left_ms = (
        old.join_timer.left_ms
        if old.join_timer is not None
        else max((m.rebalance_timeout_ms for m in old.members), default=0)
    )
    for member in old.members:
        if step.successor_member(member) is not None or member.member_id in _leavers(step):
            continue
        if _is_turned_away(step, member):
            continue
        silent = member.session_left_ms is not None and member.session_left_ms <= passed_ms
        spared = member.awaiting_join is not None or member.group_instance_id is not None
        absent = not spared and join_left_ms <= passed_ms
        late = member.unsynced and old.sync_left_ms is not None and old.sync_left_ms <= passed_ms
        if not (silent or absent or late):
            return False
    return True


def _sessions_run_with_time(step: CheckedStep) -> bool:
    """No session loses more than the time that passes; each sign of life starts it anew."""
    passed_ms = _passed_ms(step)
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


def _heartbeats_count(step: CheckedStep) -> bool:
    """Whoever is told that its heartbeat was well has its whole session left."""
    body = step.body
    blindly = step.before.serving is Serving.LOADING
    well = answer_of(step) == HeartbeatResponse(ErrorCode.NONE)
    if not isinstance(body, HeartbeatRequest) or not well or blindly:
        return True
    member = step.new.member(body.member_id)
    return member is not None and member.session_left_ms in {None, member.session_timeout_ms}


def _waiting_does_not_expire(group: Group) -> bool:
    return all(
        m.session_left_ms is None
        for m in group.members
        if not m.is_new
        and (m.awaiting_join is not None or m.awaiting_sync is not None)
        and not came_back(group, m)
    )


INVARIANTS: Final[dict[Property, Callable[[Group], bool]]] = {
    Property(
        "waiting-does-not-expire",
        "no session timer runs for a member that waits in join or sync, but for a new one, which "
        "has a limit of its own, and a static one that came back to a Stable group",
        "MemberMetadata.scala:94",
    ): _waiting_does_not_expire,
}

ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "no-early-removal",
        "no member is removed before its session timeout, unless it leaves, is one too many, or "
        "has not rejoined (which spares static members) or, where the version says so, not synced "
        "when the rebalance timeout is over",
        "GroupCoordinator.scala:1278",
    ): _removed_in_time,
    Property(
        "session-timers",
        "what a session has left grows less only as time passes, and begins with the whole "
        "session timeout, or with a new member's limit",
        "GroupCoordinator.scala:958",
    ): _sessions_run_with_time,
    Property(
        "heartbeat-restarts-session",
        "a heartbeat that is answered without error starts the session anew, but for one that is "
        "answered blindly while the group is loaded",
        "GroupCoordinator.scala:643",
    ): _heartbeats_count,
}
