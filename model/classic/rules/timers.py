"""Time: every running timer counts down, and fires at 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules import retention, timeouts
from groupcheck.model.classic.rules.members import rebalance_timeout_ms
from groupcheck.model.classic.rules.timeouts import (
    AREA,
    JOIN_TIMER,
    ORPHAN_EXPIRES,
    PENDING_EXPIRES,
    REMOVED_GROUP_JOIN_TIMER,
    SESSION_EXPIRES,
    SYNC_TIMER,
)
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    STOPPED_MS,
    Coordinator,
    Group,
    JoinTimer,
    Member,
    Pending,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour, Effect, Table, decide, single

# The maximum of timers that fire in a row without time passing, and more for each that is due.
MOST_FIRED: Final = 40
MOST_EACH: Final = 4
MOST_SUBSETS: Final = 3  # timers of which any may end early
MOST_LATE: Final = 2  # how often a timer starts again while time passes
ENDS: Final = (False, True)


class EndlessTimersError(RuntimeError):
    """Timers fire again and again without time passing, which Kafka's rules never do."""


def _let_pass(step: Step, ms: int) -> None:
    _end_early(step)
    _advance(step, ms)
    if _end_early(step):
        _advance(step, 0)


PASS: Final = single(
    "Time passes",
    AREA,
    "time/pass",
    "time passes",
    at("TIMER:104", "TIMER:104", "TIMER:102", "TIMER:53"),
    Effect("fire the timers that are due", _let_pass),
)


SESSIONS_NEVER_EXPIRE: Final = Behaviour(
    "sessions-never-expire",
    AREA,
    "a session timer that fires has no effect, in other implementations",
    at(),
)


class Timer(NamedTuple):
    """A running timer: the time left, in ms, and the table that decides when it fires."""

    left_ms: int
    table: Table
    subject: object = None

    def fire(self, step: Step) -> None:
        """Fire."""
        if self.table is SESSION_EXPIRES and (
            SESSIONS_NEVER_EXPIRE(step) or _waits_for_log(step, self.subject)
        ):
            return
        if self.table is REMOVED_GROUP_JOIN_TIMER:
            step.removed_group_join_ms = None
        decide(step, self.table, self.subject)


def pass_time(step: Step, ms: int) -> None:
    """Let time pass: the input of that name."""
    decide(step, PASS, ms)


def advance(step: Step) -> None:
    """Fire the timers that are due now, at the end of each step."""
    _advance(step, 0)


def _advance(step: Step, left_ms: int) -> None:
    """Let time pass, firing timers in the order of their deadlines.

    On a real clock, a timer may fire up to `timer_late_ms` after its deadline, or seem to fire up
    to `timer_early_ms` before it on the observer's clock. No timer fires after a shutdown.
    """
    if not step.active:
        retention.elapse(step, left_ms)
        return
    late_ms, fired, most = step.config.timer_late_ms, 0, MOST_FIRED
    late: Counter[tuple[str, str]] = Counter()
    while timers := due_next(step, left_ms + step.config.timer_early_ms):
        deadline_ms = timers[0].left_ms
        may_wait = late_ms and deadline_ms > left_ms - late_ms
        if may_wait and step.choose(Choice.TIMER_SLACK, ENDS):
            break
        elapsed_ms = min(max(deadline_ms, 0), left_ms)
        group = step.group
        elapse(step, elapsed_ms)
        left_ms -= elapsed_ms
        timer = step.choose(Choice.TIMERS_DUE_TOGETHER, timers)
        if _is_late(step, timer, late):
            _set_left(step, timer, _restarted_ms(step, timer))
            continue
        join_timer = step.existing.join_timer
        alone_before = (step.group, step.removed_group_join_ms) if len(timers) == 1 else None
        timer.fire(step)
        _stop_unless_restarted(step, timer, deadline_ms - elapsed_ms, join_timer)
        left_ms -= _skip_restarts(step, group, timer, left_ms)
        fired = 0 if elapsed_ms else fired + 1
        if fired == MOST_FIRED:
            most = fired + MOST_EACH * len(timers)
        if fired > most or alone_before == (step.group, step.removed_group_join_ms):
            msg = f"no rule ends this without time passing: {timer.table.name}"
            raise EndlessTimersError(msg)
    elapse(step, left_ms)


def _stop_unless_restarted(
    step: Step, timer: Timer, left_ms: int, join_timer: JoinTimer | None
) -> None:
    """Stop a timer that has fired, if edited rules have neither stopped nor restarted it.

    A fired timer of Kafka does not fire again. Before it fired, its time left was `left_ms`, and
    the timer of the join phase was `join_timer`.
    """
    group, subject = step.group, timer.subject
    if group is None:
        return
    if isinstance(subject, Member):
        member = group.member(subject.member_id)
        if member is not None and member.session_left_ms == left_ms:
            step.group = group.with_member(member._replace(session_left_ms=None))
    elif isinstance(subject, Pending):
        if Pending(subject.member_id, left_ms) in group.pending:
            _set_left(step, timer, STOPPED_MS)
    elif timer.table is JOIN_TIMER and join_timer and group.join_timer is join_timer:
        # The phase has no limit now: it ends when every member has joined.
        step.group = group._replace(join_timer=JoinTimer(STOPPED_MS))
    elif timer.table is SYNC_TIMER and group.sync_left_ms == left_ms:
        step.group = group._replace(sync_left_ms=None)


def _skip_restarts(step: Step, before: Group | None, timer: Timer, within_ms: int) -> int:
    """Skip join phases that only begin again, as no other timer runs; returns how long, in ms.

    A group whose members are all static, or that has none, may restart a phase of 1 ms for as long
    as time passes.
    """
    group, config = step.group, step.config
    if timer.table is not JOIN_TIMER or not group or not before or not group.join_timer:
        return 0
    if config.timer_late_ms or config.timer_early_ms or step.removed_group_join_ms is not None:
        return 0
    if not 0 < group.join_timer.left_ms <= within_ms:
        return 0
    if retention.ageless(group) != retention.ageless(before):
        return 0
    skipped_ms = within_ms - within_ms % group.join_timer.left_ms
    retention.elapse(step, skipped_ms)
    return skipped_ms


def due_next(state: Coordinator | Step, within_ms: int) -> list[Timer]:
    """The timers with the earliest deadline, if it is within `within_ms`."""
    timers = due(state, within_ms)
    if len(timers) > 1:
        first_ms = min(t.left_ms for t in timers)
        timers = [t for t in timers if t.left_ms == first_ms]
    return timers


def due(state: Coordinator | Step, within_ms: int) -> list[Timer]:
    """The timers that end within a time."""
    group, removed_group_join_ms = state.group, state.removed_group_join_ms
    if group is None:
        return []
    timers = [
        Timer(m.session_left_ms, SESSION_EXPIRES, m)
        for m in group.members
        if m.session_left_ms is not None and m.session_left_ms <= within_ms
    ]
    timers += [
        Timer(p.left_ms, PENDING_EXPIRES, p) for p in group.pending if p.left_ms <= within_ms
    ]
    timers += [
        Timer(left_ms, ORPHAN_EXPIRES) for left_ms in group.orphaned_timers if left_ms <= within_ms
    ]
    if group.join_timer is not None and group.join_timer.left_ms <= within_ms:
        timers.append(Timer(group.join_timer.left_ms, JOIN_TIMER))
    if group.sync_left_ms is not None and group.sync_left_ms <= within_ms:
        timers.append(Timer(group.sync_left_ms, SYNC_TIMER))
    if removed_group_join_ms is not None and removed_group_join_ms <= within_ms:
        timers.append(Timer(removed_group_join_ms, REMOVED_GROUP_JOIN_TIMER))
    return timers


def elapse(step: Step, ms: int) -> None:
    """Take time off every timer, and off every retention time."""
    retention.elapse(step, ms)
    group = step.group
    _elapse_removed_group(step, ms)
    if group is None or not ms:
        return
    timer, sync_ms = group.join_timer, group.sync_left_ms
    step.group = group._replace(
        members=tuple(
            m if m.session_left_ms is None else m._replace(session_left_ms=m.session_left_ms - ms)
            for m in group.members
        ),
        pending=tuple(p._replace(left_ms=_less(p.left_ms, ms)) for p in group.pending),
        orphaned_timers=tuple(left_ms - ms for left_ms in group.orphaned_timers),
        join_timer=timer and timer._replace(left_ms=_less(timer.left_ms, ms)),
        sync_left_ms=None if sync_ms is None else sync_ms - ms,
    )


def _less(left_ms: int, ms: int) -> int:
    return left_ms if left_ms == STOPPED_MS else left_ms - ms


def _elapse_removed_group(step: Step, ms: int) -> None:
    """Take time off the join timer of a removed group; with no new group it ends without effect."""
    if step.removed_group_join_ms is not None:
        left_ms = step.removed_group_join_ms - ms
        step.removed_group_join_ms = None if step.group is None and left_ms <= 0 else left_ms


def _waits_for_log(step: Step, member: object) -> bool:
    """Stop the timer of a static member that rejoined a Stable group and waits for the log."""
    current = step.existing.member(member.member_id) if isinstance(member, Member) else None
    if current is None or current.awaiting_join is None or current.is_new:
        return False
    if not current.counts_as_static:
        return False
    step.group = step.existing.with_member(current._replace(session_left_ms=None))
    return True


# In other implementations, how timers of these tables fire.
EARLY: Final = {
    SESSION_EXPIRES.name: Behaviour(
        "session-timers-fire-early",
        AREA,
        "a session timer may fire at any time before its end",
        at(),
    ),
    PENDING_EXPIRES.name: Behaviour(
        "pending-id-timers-fire-early",
        AREA,
        "the timer of a pending member id may fire at any time before its end",
        at(),
    ),
    JOIN_TIMER.name: Behaviour(
        "join-timer-fires-early",
        AREA,
        "the timer of the join phase may fire at any time before its end",
        at(),
    ),
}
LATE: Final = {
    SESSION_EXPIRES.name: Behaviour(
        "session-timers-fire-late",
        AREA,
        "a session timer may fire later, after more halves of its time",
        at(),
    ),
    JOIN_TIMER.name: Behaviour(
        "join-timer-fires-late",
        AREA,
        "the timer of the join phase may fire later, after more halves of its time",
        at(),
    ),
}


def _may(step: Step, behaviours: Mapping[str, Behaviour], timer: Timer) -> bool:
    """Whether a timer may fire early, or late."""
    behaviour = behaviours.get(timer.table.name)
    return behaviour is not None and behaviour(step)


def _is_late(step: Step, timer: Timer, late: Counter[tuple[str, str]]) -> bool:
    """Choose whether a timer that is due starts again.

    Each does at most twice while time passes; an extension of the initial delay counts as another
    timer. If one does, so do all like it that fire later: each subset would be too much.
    """
    name, subject, join_timer = timer.table.name, timer.subject, step.existing.join_timer
    extension_ms = join_timer.extension_ms if join_timer else 0
    key = (name, subject.member_id if isinstance(subject, Member) else str(extension_ms))
    times = late[key]
    if times == MOST_LATE or not _may(step, LATE, timer):
        return False
    others = (late[other] for other in late if other[0] == name)
    if max(others, default=0) <= times and not step.choose(Choice.TIMER_SLACK, ENDS):
        return False
    late[key] += 1
    return True


def _end_early(step: Step) -> bool:
    """Choose timers that end now, if the version ends some early; whether there are any.

    Of many, these are the ones with the least time left, as each subset would be too much.
    """
    if not any(behaviour(step) for behaviour in EARLY.values()):
        return False
    running = sorted(due(step, STOPPED_MS - 1), key=attrgetter("left_ms"))
    early = [timer for timer in running if _may(step, EARLY, timer)]
    if len(early) > MOST_SUBSETS:
        early = early[: step.choose(Choice.TIMER_SLACK, range(len(early) + 1))]
    else:
        early = [timer for timer in early if step.choose(Choice.TIMER_SLACK, ENDS)]
    for timer in early:
        _set_left(step, timer, 0)
    return bool(early)


def _set_left(step: Step, timer: Timer, ms: int) -> None:
    """Set the time left on the timer of a member, a pending id or the join phase."""
    group, subject = step.existing, timer.subject
    if isinstance(subject, Member):
        step.group = group.with_member(subject._replace(session_left_ms=ms))
    elif isinstance(subject, Pending):
        others = (p for p in group.pending if p.member_id != subject.member_id)
        pending = sorted((*others, subject._replace(left_ms=ms)))
        step.group = group._replace(pending=tuple(pending))
    elif group.join_timer is not None:
        step.group = group._replace(join_timer=group.join_timer._replace(left_ms=ms))


def _restarted_ms(step: Step, timer: Timer) -> int:
    """Half the time of the timer of a member or of the join phase: how long it runs again."""
    member, join_timer = timer.subject, step.existing.join_timer
    if isinstance(member, Member):
        new_ms = step.config.new_member_join_timeout_ms
        length_ms = new_ms if member.is_new else member.session_timeout_ms
    else:
        length_ms = join_timer.round_ms if join_timer else 0
    least_ms = step.config.timer_early_ms + 1  # or it would be due again
    return max((length_ms or rebalance_timeout_ms(step.existing)) // 2, least_ms)


PARTS: Final = (SESSIONS_NEVER_EXPIRE, *EARLY.values(), *LATE.values(), PASS, *timeouts.PARTS)
