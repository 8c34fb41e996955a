"""Time: what every timer has left grows less, and timers with nothing left fire."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupcheck.model.nondeterminism import Open
from groupcheck.model.rules import retention
from groupcheck.model.rules.rebalance import (
    COMPLETING,
    STABLE,
    complete_join,
    drop_members,
    forget_instance,
    maybe_prepare_rebalance,
    remove_member,
    remove_pending,
)
from groupcheck.model.state import Group, Member, Pending
from groupcheck.model.step import Rule, Step, gc, source

PASS = Rule("time/pass", "time passes", "Timer.scala:102")
SESSION_EXPIRED = Rule(
    "time/session-expired", "a member was silent for its session timeout: it is removed", gc(1289)
)
NEW_MEMBER_EXPIRED = Rule(
    "time/new-member-expired",
    "a new member waited too long for its first generation: it is removed",
    gc(1289),
)
PENDING_EXPIRED = Rule(
    "time/pending-expired", "an id given out was not used within the session timeout", gc(1282)
)
GHOST_EXPIRED = Rule(
    "time/ghost-expired",
    "the session timer of a member that was dropped before ends, and a rebalance begins",
    gc(664),
)
SYNCS_EXPIRED = Rule(
    "time/syncs-expired",
    "members that have not synced within the longest rebalance timeout are removed",
    source("GroupMetadataManager.java")(7142),
)
LOST_SYNC_EXPIRED = Rule(
    "time/lost-sync-expired",
    "the sync of an id that a static member has no longer is waited for in vain, and a rebalance "
    "begins, though everybody has synced",
    source("GroupMetadataManager.java")(7150),
)
REBALANCE_TIMEOUT = Rule(
    "time/rebalance-timeout",
    "the rebalance timeout ends the join phase",
    source("DelayedJoin.scala")(44),
)
DELAY_EXTENDED = Rule(
    "time/initial-delay-extended",
    "another member came during the initial delay, so it is prolonged",
    source("DelayedJoin.scala")(69),
)
DELAY_OVER = Rule(
    "time/initial-delay-over",
    "the initial delay is over and ends the join phase",
    source("DelayedJoin.scala")(81),
)
RULES = (
    PASS,
    SESSION_EXPIRED,
    NEW_MEMBER_EXPIRED,
    PENDING_EXPIRED,
    REBALANCE_TIMEOUT,
    DELAY_EXTENDED,
    DELAY_OVER,
)


class Timer(NamedTuple):
    """A running timer: what it has left, and what its end brings about."""

    left_ms: int
    fire: Callable[[Step], None]


def advance(step: Step, left_ms: int) -> None:
    """Let time pass, firing timers in the order of their deadlines.

    On a real clock a timer whose deadline is less than `timer_late_ms` past may not have fired
    yet, and one may seem to fire `timer_early_ms` before the observer's clock says so.
    After a shutdown none fires any more.
    """
    if not step.active:
        retention.elapse(step, left_ms)
        return
    late_ms = step.config.timer_late_ms
    while timers := due_next(step.group, left_ms + step.config.timer_early_ms):
        deadline_ms = timers[0].left_ms
        may_wait = late_ms and deadline_ms > left_ms - late_ms
        if may_wait and step.choose(Open.TIMER_SLACK, [False, True]):
            break
        elapsed_ms = min(max(deadline_ms, 0), left_ms)
        elapse(step, elapsed_ms)
        left_ms -= elapsed_ms
        timer = step.choose(Open.TIMERS_DUE_TOGETHER, timers)
        timer.fire(step)
    elapse(step, left_ms)


def due_next(group: Group | None, within_ms: int) -> list[Timer]:
    """The timers that share the earliest deadline, if it is not further than `within_ms`."""
    timers = due(group, within_ms)
    if len(timers) > 1:
        first_ms = min(t.left_ms for t in timers)
        timers = [t for t in timers if t.left_ms == first_ms]
    return timers


def due(group: Group | None, within_ms: int) -> list[Timer]:
    """The timers that end within a time."""
    if group is None:
        return []
    timers = [
        Timer(m.session_left_ms, expire_session(m))
        for m in group.members
        if m.session_left_ms is not None and m.session_left_ms <= within_ms
    ]
    timers += [Timer(p.left_ms, expire_pending(p)) for p in group.pending if p.left_ms <= within_ms]
    timers += [Timer(left_ms, expire_ghost) for left_ms in group.ghosts if left_ms <= within_ms]
    if group.join_timer is not None and group.join_timer.left_ms <= within_ms:
        timers.append(Timer(group.join_timer.left_ms, end_join_phase))
    if group.sync_left_ms is not None and group.sync_left_ms <= within_ms:
        timers.append(Timer(group.sync_left_ms, expire_syncs))
    return timers


def elapse(step: Step, ms: int) -> None:
    """Take time off every timer, and off what is retained."""
    retention.elapse(step, ms)
    group = step.group
    if group is None or not ms:
        return
    timer, sync_ms = group.join_timer, group.sync_left_ms
    step.group = group._replace(
        members=tuple(
            m if m.session_left_ms is None else m._replace(session_left_ms=m.session_left_ms - ms)
            for m in group.members
        ),
        pending=tuple(p._replace(left_ms=p.left_ms - ms) for p in group.pending),
        ghosts=tuple(left_ms - ms for left_ms in group.ghosts),
        join_timer=timer and timer._replace(left_ms=timer.left_ms - ms),
        sync_left_ms=None if sync_ms is None else sync_ms - ms,
    )


def expire_session(member: Member) -> Callable[[Step], None]:
    """The end of a member's session timer (GroupCoordinator.scala:1278)."""

    def fire(step: Step) -> None:
        current = step.existing.member(member.member_id)
        if current is not None and current.awaiting_join is not None and not current.is_new:
            # A static member that came back to a Stable group and still waits for the log.
            step.group = step.existing.with_member(current._replace(session_left_ms=None))
            return
        step.fire(NEW_MEMBER_EXPIRED if member.is_new else SESSION_EXPIRED)
        if current is not None:
            remove_member(step, current)

    return fire


def expire_pending(pending: Pending) -> Callable[[Step], None]:
    """The end of a given id's timer (GroupCoordinator.scala:1282)."""

    def fire(step: Step) -> None:
        step.fire(PENDING_EXPIRED)
        remove_pending(step, pending.member_id)

    return fire


def expire_ghost(step: Step) -> None:
    """The end of the session timer of a member that was dropped (0.10.2 GroupCoordinator:737)."""
    step.fire(GHOST_EXPIRED)
    group = step.existing
    step.group = group._replace(ghosts=group.ghosts[1:])  # the earliest of them
    if group.state in {STABLE, COMPLETING}:
        maybe_prepare_rebalance(step)


def expire_syncs(step: Step) -> None:
    """The end of the time to sync, which runs while somebody has not; it spares no static member.

    Source: 4.1 GroupMetadataManager.java:7117.
    """
    late = [m for m in step.existing.members if m.unsynced]
    step.fire(SYNCS_EXPIRED if late else LOST_SYNC_EXPIRED)
    drop_members(step, [m.member_id for m in late])
    for member in late:
        forget_instance(step, member.group_instance_id)
    maybe_prepare_rebalance(step)


def end_join_phase(step: Step) -> None:
    """The end of the join timer: of the rebalance timeout, or of one round of initial delay."""
    group = step.existing
    timer = group.join_timer
    if timer is None or not timer.initial:
        step.fire(REBALANCE_TIMEOUT)
    elif group.new_member_added and timer.extension_ms:
        step.fire(DELAY_EXTENDED)
        # What may still be added shrinks by the round that is over; a round is never longer than
        # the configured delay (DelayedJoin.scala:71).
        delay_ms = step.config.group_initial_rebalance_delay_ms
        round_ms = min(delay_ms, timer.extension_ms)
        step.group = group._replace(
            new_member_added=False,
            join_timer=timer._replace(
                left_ms=round_ms,
                round_ms=round_ms,
                extension_ms=max(timer.extension_ms - timer.round_ms, 0),
            ),
        )
        return
    else:
        step.fire(DELAY_OVER)
    complete_join(step)
