"""What happens when a timer fires, a table for each kind of timer."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.rules.guards import COMPLETING, STABLE
from groupcheck.model.classic.rules.members import drop_pending, drop_with_instances
from groupcheck.model.classic.rules.membership import END_JOIN_PHASE, REBALANCE, REMOVE_MEMBER
from groupcheck.model.classic.rules.rebalance import (
    MAYBE_PREPARE,
    complete_join,
    increment_generation,
    maybe_prepare_rebalance,
)
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Member
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Effect, Guard, procedure, rule, single, table

AREA: Final = "time"


EXPIRE_MEMBER: Final = procedure(
    "expire-member",
    AREA,
    "remove the member and rebalance",
    REMOVE_MEMBER.effect,
    REBALANCE,
)
SESSION_EXPIRES: Final = table(
    "A session timer fires",
    AREA,
    rule(
        "time/new-member-expired",
        "a new member waited too long for its first generation: it is removed",
        at("", "", "GC:1289", "GMM:6726"),
        Guard("the member is new", lambda _step, member: member.is_new),
        EXPIRE_MEMBER.effect,
    ),
    rule(
        "time/session-expired",
        "no heartbeat of a member arrived within its session timeout: it is removed",
        at("GC:696", "GC:739", "GC:1289", "GMM:6726"),
        EXPIRE_MEMBER.effect,
    ),
)


PENDING_EXPIRES: Final = single(
    "The timer of a pending member id fires",
    AREA,
    "time/pending-expired",
    "no member joined with a pending member id within the session timeout",
    at("", "", "GC:1282", "GMM:6716"),
    Effect("remove the pending member id", lambda step, p: drop_pending(step, p.member_id)),
    END_JOIN_PHASE,
)


def _drop_orphan(step: Step, _subject: object) -> None:
    step.group = step.existing._replace(
        orphaned_timers=step.existing.orphaned_timers[1:]
    )  # the earliest of them


def _rebalance_if_joined(step: Step, _subject: object) -> None:
    if step.existing.state in {STABLE, COMPLETING}:
        maybe_prepare_rebalance(step)


ORPHAN_EXPIRES: Final = single(
    "The session timer of a removed member fires",
    AREA,
    "time/orphaned-timer-expired",
    "the session timer of a member that was already removed fires, and a rebalance begins",
    at("GC:696", "GC:739"),
    Effect("discard the timer", _drop_orphan),
    Effect(
        "prepare a rebalance if the group is Stable or CompletingRebalance", _rebalance_if_joined
    ),
)


def _unsynced(step: Step) -> list[Member]:
    return [m for m in step.members if m.unsynced]


SYNC_TIMER: Final = table(
    "The sync timer fires",
    AREA,
    rule(
        "time/syncs-expired",
        "members that have not synced within the longest rebalance timeout are removed",
        at("", "", "", "GMM:7152"),
        Guard("a member has not synced", lambda step, _s: bool(_unsynced(step))),
        Effect(
            "remove the members that have not synced, static ones too",
            lambda step, _s: drop_with_instances(step, _unsynced(step)),
        ),
        MAYBE_PREPARE,
    ),
    rule(
        "time/replaced-member-sync-expired",
        "no SyncGroup arrived from the old id of a static member: a rebalance begins, although "
        "every member has synced",
        at("", "", "", "GMM:7150"),
        MAYBE_PREPARE,
    ),
)


def _extends(step: Step, _subject: object) -> bool:
    timer = step.existing.join_timer
    return timer is not None and step.existing.new_member_added and timer.extension_ms > 0


def _extend(step: Step, _subject: object) -> None:
    """The remaining extension shrinks by the round that is over (2.7 DelayedJoin.scala:71).

    A round is never longer than the configured delay.
    """
    group = step.existing
    timer = group.join_timer
    if timer is None:
        return
    round_ms = min(step.config.group_initial_rebalance_delay_ms, timer.extension_ms)
    step.group = group._replace(
        new_member_added=False,
        join_timer=timer._replace(
            left_ms=round_ms,
            round_ms=round_ms,
            extension_ms=max(timer.extension_ms - timer.round_ms, 0),
        ),
    )


_END_JOIN_PHASE: Final = Effect("end the join phase", lambda step, _s: complete_join(step))
JOIN_TIMER: Final = table(
    "The timer of the join phase fires",
    AREA,
    rule(
        "time/rebalance-timeout",
        "the rebalance timeout ends the join phase",
        at("DJ:39", "DJ:43", "DJ:44", "GMM:6558"),
        Guard(
            "the timer is the rebalance timeout, not the initial delay",
            lambda step, _s: not (step.existing.join_timer and step.existing.join_timer.initial),
        ),
        _END_JOIN_PHASE,
    ),
    rule(
        "time/initial-delay-extended",
        "another member joined during the initial delay, so it is extended",
        at("", "", "DJ:69", "GMM:6985"),
        Guard(
            "a member joined during the initial delay, and the rebalance timeout permits "
            "another delay",
            _extends,
        ),
        Effect("extend the initial delay", _extend),
    ),
    rule(
        "time/initial-delay-over",
        "the initial delay is over and ends the join phase",
        at("", "", "DJ:81", "GMM:6998"),
        _END_JOIN_PHASE,
    ),
)


REMOVED_GROUP_JOIN_TIMER: Final = single(
    "The join timer of a removed group fires",
    AREA,
    "time/removed-group-join-timer",
    "the join timer of a group that a failed append removed fires when an Empty group with the "
    "same id exists: that group's generation is incremented, and the end of the join phase fails",
    at("", "", "", "CG:1464"),
    # The join phase of a group ends from PreparingRebalance only, and the next one of a group with
    # that id has replaced the timer.
    Effect("increment the generation of the Empty group (ClassicGroup:1290)", increment_generation),
)
PARTS: Final = (
    EXPIRE_MEMBER,
    SESSION_EXPIRES,
    PENDING_EXPIRES,
    ORPHAN_EXPIRES,
    SYNC_TIMER,
    JOIN_TIMER,
    REMOVED_GROUP_JOIN_TIMER,
)
