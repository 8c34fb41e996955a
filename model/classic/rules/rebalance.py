"""How a rebalance begins and ends, and how a group gains and loses members."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.guards import COMPLETING, EMPTY, PREPARING, STABLE, state_is
from groupcheck.model.classic.rules.members import (
    AREA,
    ELECTS_AT_COMPLETION,
    current_generation,
    drop_with_instances,
    elect_leader,
    rebalance_timeout_ms,
    selectable,
)
from groupcheck.model.classic.rules.retention import START_EMPTY_RETENTION
from groupcheck.model.classic.rules.session import answer_parked_syncs, restart_session
from groupcheck.model.classic.rules.subscription import subscription
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, GroupAppend, JoinTimer, Member
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.records import record_empty, remove_group
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    Version,
    decide,
    rule,
    single,
    table,
)
from groupcheck.model.vocabulary import ErrorCode, GroupState, JoinGroupResponse

EMPTY_IS_DEAD: Final = Behaviour(
    "empty-group-is-dead",
    AREA,
    "there is no Empty state: a group begins in Stable, and is Dead without members, whatever "
    "offsets it has (until KAFKA-2720)",
    at("GC:657"),
)
AWAITS_MEMBERS: Final = Behaviour(
    "members-are-awaited",
    AREA,
    "the join phase does not end before every member has joined, or its timer has expired",
    at("GC:637", "GC:671", "GM:360", "CG:724"),
)
AWAITS_PENDING: Final = Behaviour(
    "pending-ids-are-awaited",
    AREA,
    "the join phase does not end before a member has joined with each pending member id or the "
    "id is removed",
    at("", "", "GM:360", "CG:724"),
)
# The next four behaviours are those of other implementations.
DELAYS_EACH: Final = Behaviour(
    "each-join-phase-is-delayed",
    AREA,
    "every join phase begins with the initial delay, not only that of an Empty group",
    at(),
)
RESTARTS_GENERATIONS: Final = Behaviour(
    "generations-restart-when-empty",
    AREA,
    "a group that becomes Empty has generation 0 again",
    at(),
)
NEVER_ENDS_EARLY: Final = Behaviour(
    "join-phase-never-ends-early",
    AREA,
    "the join phase lasts its whole time, also if every member has joined",
    at(),
)
BEGINS_GENERATION_EARLY: Final = Behaviour(
    "generation-begins-with-join-phase",
    AREA,
    "the generation is incremented when the join phase begins, not when it ends",
    at(),
)
KEEPS_STATIC: Final = Behaviour(
    "static-members-are-kept",
    AREA,
    "a static member that has not rejoined when the join phase ends stays until its session ends",
    at("", "", "GC:1185", "GMM:6590"),
)


def first_state(version: Version) -> GroupState:
    """The state in which a version creates a group."""
    return STABLE if EMPTY_IS_DEAD.holds_in(version) else EMPTY


def maybe_prepare_rebalance(step: Step) -> None:
    """Prepare a rebalance unless one is being prepared (2.7 GroupCoordinator.scala:1115)."""
    if step.existing.state is not PREPARING:
        prepare_rebalance(step)


MAYBE_PREPARE: Final = Effect(
    "prepare a rebalance unless one is being prepared",
    lambda step, _subject: maybe_prepare_rebalance(step),
)


def prepare_rebalance(step: Step) -> None:
    """Prepare a rebalance (2.7 GroupCoordinator.scala:1123)."""
    decide(step, PREPARE, None)
    if DELAYS_EACH(step):
        _start_initial_delay(step, None)
    if BEGINS_GENERATION_EARLY(step):
        increment_generation(step, None)
    check_join_complete(step)


def _begin_join_phase(step: Step, _subject: object) -> None:
    step.removed_group_join_ms = None  # the timer of this group takes its place
    step.group = step.existing._replace(
        state=PREPARING,
        join_timer=JoinTimer(rebalance_timeout_ms(step.existing)),
        sync_left_ms=None,
        members=tuple(m._replace(unsynced=False) if m.unsynced else m for m in step.members),
        empty_left_ms=None,
        lost_sync=False,
    )


def _clear_assignments(step: Step, _subject: object) -> None:
    members = tuple(m._replace(assignment=b"") if m.assignment else m for m in step.members)
    step.group = step.existing._replace(members=members)


def _start_initial_delay(step: Step, _subject: object) -> None:
    delay_ms = step.config.group_initial_rebalance_delay_ms
    extension_ms = max(rebalance_timeout_ms(step.existing) - delay_ms, 0)
    timer = JoinTimer(delay_ms, initial=True, round_ms=delay_ms, extension_ms=extension_ms)
    step.group = step.existing._replace(join_timer=timer)


_BEGIN_JOIN_PHASE: Final = Effect(
    "move to PreparingRebalance and start the rebalance timer", _begin_join_phase
)
_CLEAR_ASSIGNMENTS: Final = Effect("clear the assignments", _clear_assignments)
PREPARE: Final = table(
    "Prepare a rebalance",
    AREA,
    rule(
        "rebalance/prepare-from-completing",
        "a rebalance begins before the assignments arrive: parked SyncGroups are answered",
        at("GC:613", "GC:647", "GC:1125", "GMM:6908"),
        state_is(COMPLETING),
        Effect(
            "answer every parked SyncGroup with REBALANCE_IN_PROGRESS",
            lambda step, _s: answer_parked_syncs(step, ErrorCode.REBALANCE_IN_PROGRESS),
        ),
        _CLEAR_ASSIGNMENTS,
        _BEGIN_JOIN_PHASE,
    ),
    rule(
        "rebalance/prepare-from-stable",
        "a rebalance begins in Stable",
        at("GC:616", "GC:650", "GC:1136", "GMM:6930"),
        state_is(STABLE),
        # Kafka keeps them until the next ones. Until 2.7 only Stable shows them (the lines
        # leave them out), so clearing them here is the same; 4.1 shows them in every state.
        _CLEAR_ASSIGNMENTS.only(at("GM:225", "GM:259", "GM:568")),
        _BEGIN_JOIN_PHASE,
    ),
    rule(
        "rebalance/prepare-from-empty",
        "the first member joins, and the initial delay begins",
        at("", "GC:650", "GC:1128", "GMM:6915"),
        state_is(EMPTY),
        _BEGIN_JOIN_PHASE,
        Effect("start the initial delay (KIP-134)", _start_initial_delay).only(
            at("", "", "GC:1128", "GMM:6915")
        ),
        words_of={"0.10.2": "the first member joins"},
    ),
)


def check_join_complete(step: Step, *, ends_delay: bool = False) -> None:
    """End the join phase if every member has joined.

    Only with `ends_delay` does this end the initial delay.
    Source: 2.7 GroupCoordinator.scala:1171, GroupMetadata:360.
    """
    group = step.existing
    timer = group.join_timer
    if timer is None or (timer.initial and not ends_delay) or NEVER_ENDS_EARLY(step):
        return
    if group.pending and AWAITS_PENDING(step):
        return
    joined = all(m.awaiting_join is not None for m in group.members)
    if joined or not AWAITS_MEMBERS(step):
        complete_join(step)


def complete_join(step: Step) -> None:
    """End the join phase with the members that joined (2.7 GroupCoordinator.scala:1183)."""
    step.group = step.existing._replace(join_timer=None)
    decide(step, DROP_ABSENT, None)
    decide(step, JOINED_LEADER, None)
    if decide(step, COMPLETE_JOIN, None) is None:
        # No protocol wins the vote. Kafka fails half-way in every version, but from 2.7 on only
        # after requests that the model does not have: a member that names a protocol twice.
        _begin_generation(step, None)
        _fail_without_protocol(step, None)


def _absent(step: Step) -> list[Member]:
    """The members that have not rejoined, except static ones that are kept."""
    kept = KEEPS_STATIC(step)
    absent = (m for m in step.members if m.awaiting_join is None)
    return [m for m in absent if not (kept and m.counts_as_static)]


def _leave_timers_running(step: Step, _subject: object) -> None:
    left = [m.session_left_ms for m in _absent(step) if m.session_left_ms is not None]
    step.group = step.existing._replace(
        orphaned_timers=tuple(sorted((*step.existing.orphaned_timers, *left)))
    )


DROP_ABSENT: Final = single(
    "Remove members that have not rejoined",
    AREA,
    "rebalance/drop-not-rejoined",
    "a member that did not rejoin in time is removed when the join phase ends",
    at("GC:651", "GC:685", "GC:1190", "GMM:6593"),
    Guard("a dynamic member has not rejoined", lambda step, _s: bool(_absent(step))),
    Effect("leave their session timers running", _leave_timers_running).only(
        at("GC:651", "GC:685")
    ),
    Effect(
        "remove the members that have not rejoined",
        lambda step, _s: drop_with_instances(step, _absent(step)),
    ),
)


def _leader_is_absent(step: Step, _subject: object) -> bool:
    group = step.existing
    leader = group.member(group.leader) if group.leader is not None else None
    return leader is not None and leader.awaiting_join is None


def _joined(step: Step) -> list[str]:
    return [m.member_id for m in step.members if m.awaiting_join is not None]


def _elect_joined(step: Step, _subject: object) -> None:
    leader = step.choose(Choice.LEADER, _joined(step))
    step.group = step.existing._replace(leader=leader)


_LEADER_ABSENT: Final = Guard("the leader, a static member, has not rejoined", _leader_is_absent)
JOINED_LEADER: Final = single(
    "Elect a leader that has joined",
    AREA,
    "rebalance/elect-joined-leader",
    "the leader, a static member, has not rejoined, so a member that has joined becomes the leader",
    at("", "", "GM:276", "CG:509"),
    _LEADER_ABSENT,
    Guard("a member has joined", lambda step, _s: bool(_joined(step))),
    Effect("elect one of the members that have joined", _elect_joined),
)


def _no_members(step: Step, _subject: object) -> bool:
    return not step.existing.members


def _mark_dead(step: Step, _subject: object) -> None:
    """Remove the group but keep its offsets; assignments in flight reach no member."""
    group = step.existing
    remove_group(step)
    step.group = Group(GroupState.DEAD, offsets=group.offsets, unstable=group.unstable)
    step.appends = tuple(
        a._replace(generation_id=0) if isinstance(a, GroupAppend) else a for a in step.appends
    )


def _restart_join_phase(step: Step, _subject: object) -> None:
    if DELAYS_EACH(step):
        _start_initial_delay(step, None)
        return
    # Never 0, with which no other timer would ever fire.
    timer = JoinTimer(max(rebalance_timeout_ms(step.existing), 1))
    step.group = step.existing._replace(join_timer=timer)


def increment_generation(step: Step, _subject: object) -> None:
    """Increment the generation of the group."""
    group = step.existing
    step.group = group._replace(generation_id=group.generation_id + 1)


def _begin_generation(step: Step, subject: object) -> None:
    if not BEGINS_GENERATION_EARLY(step):
        increment_generation(step, subject)


def _become_empty(step: Step, _subject: object) -> None:
    group = step.existing
    step.group = group._replace(
        state=EMPTY,
        generation_id=0 if RESTARTS_GENERATIONS(step) else group.generation_id,
        protocol_name=None,
        subscribed=subscription(step, group, None),
    )


def _fail_without_protocol(step: Step, _subject: object) -> None:
    """Kafka fails in the JoinGroup of the only member, which gets the error (KAFKA-6005)."""
    for member in step.members:
        answer = JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
        step.answer(member.awaiting_join, answer)


def _choose_protocol(step: Step, _subject: object) -> None:
    group = step.existing
    name = step.choose(Choice.VOTE_TIE, selectable(step, group.members))
    step.group = group._replace(
        state=COMPLETING, protocol_name=name, subscribed=subscription(step, group, name)
    )


def _start_sync_timer(step: Step, _subject: object) -> None:
    limit_ms = max(m.rebalance_timeout_ms for m in step.members)
    members = tuple(m._replace(unsynced=True) for m in step.members)
    step.group = step.existing._replace(sync_left_ms=limit_ms, members=members)


def _admit_members(step: Step, _subject: object) -> None:
    if ELECTS_AT_COMPLETION(step) and step.existing.leader is None:
        elect_leader(step, ())
    for member in step.members:
        if member.awaiting_join is not None:
            step.answer(member.awaiting_join, current_generation(step, member, COMPLETING))
        revealed = member.revealed or member.awaiting_join is not None
        restarted = restart_session(step, member._replace(awaiting_join=None))
        step.group = step.existing.with_member(restarted._replace(is_new=False, revealed=revealed))


_NO_MEMBERS: Final = Guard("no member remains", _no_members)
_BEGIN_GENERATION: Final = Effect("increment the generation", _begin_generation)
COMPLETE_JOIN: Final = table(
    "End of the join phase",
    AREA,
    rule(
        "rebalance/complete-dead",
        "the join phase ends without members: the group is removed, but its offsets remain",
        at("GC:657"),
        _NO_MEMBERS,
        Effect("remove the group, but keep its offsets", _mark_dead),
    ),
    rule(
        "rebalance/no-member-rejoined",
        "only static members remain and none has rejoined: the rebalance timer restarts",
        at("", "", "GC:1199", "GMM:6605"),
        _LEADER_ABSENT,
        Effect("restart the rebalance timer", _restart_join_phase),
    ),
    rule(
        "rebalance/complete-empty",
        "the join phase ends without members: the group is Empty",
        at("", "GC:692", "GC:1209", "GMM:6622"),
        _NO_MEMBERS,
        _BEGIN_GENERATION,
        Effect("move to Empty", _become_empty),
        START_EMPTY_RETENTION,
        Effect("append the record of an empty group", lambda step, _s: record_empty(step)),
    ),
    rule(
        "rebalance/no-protocol",
        "the only member offers no protocol: Kafka throws an exception after it has incremented "
        "the generation, and the group is stuck",
        at("GM:179", "GM:207"),
        Guard("no protocol gets a vote", lambda step, _s: not selectable(step, step.members)),
        _BEGIN_GENERATION,
        Effect("answer the parked JoinGroup with UNKNOWN_SERVER_ERROR", _fail_without_protocol),
    ),
    rule(
        "rebalance/complete",
        "the join phase ends and a new generation begins",
        at("GC:664", "GC:691", "GC:1208", "GMM:6641"),
        Guard("a protocol wins the vote", lambda step, _s: bool(selectable(step, step.members))),
        _BEGIN_GENERATION,
        Effect("select the protocol by vote and move to CompletingRebalance", _choose_protocol),
        Effect("start the sync timer (KAFKA-12890)", _start_sync_timer).only(
            at("", "", "", "GMM:6669")
        ),
        Effect("answer every parked JoinGroup and restart every session timer", _admit_members),
    ),
)
