"""Properties of waits: what can end ends at once, and a delay lasts as long as it is meant to."""

from __future__ import annotations

from groupcheck.model.classic.state import (
    Advance,
    Group,
    GroupAppend,
    JoinTimer,
    OffsetsAppend,
    StaticAppend,
)
from groupcheck.model.vocabulary import (
    NO_OFFSET,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from groupcheck.properties.temporal.property import action_property, invariant
from groupcheck.properties.temporal.safety.causes import PREPARING, senders
from groupcheck.properties.temporal.step import WITHOUT_MEMBERS, CheckedStep


def _longest_ms(timer: JoinTimer) -> int:
    """How long the join phase can still last, in ms."""
    return timer.left_ms + timer.extension_ms


@invariant("join-phase-ends-at-once", "KIP-62")
def _join_phase_ends_at_once(group: Group) -> bool:
    """A join phase ends as soon as every member has rejoined and no member id given out is unused.

    The exception is the initial delay.
    """
    if group.state is not PREPARING or (group.join_timer and group.join_timer.initial):
        return True
    return bool(group.pending) or any(m.awaiting_join is None for m in group.members)


@invariant("no-rebalance-without-members", "GroupMetadata.scala:121")
def _no_rebalance_without_members(group: Group) -> bool:
    """A group without members is Empty, and can be deleted."""
    return bool(group.members) or group.state in WITHOUT_MEMBERS


@action_property("join-phase-limit", "KIP-62")
def _join_phase_limit(step: CheckedStep) -> bool:
    """A join phase lasts no longer than the largest rebalance timeout of its members.

    The initial delay may be longer. Its remaining time decreases as time passes.
    """
    timer, old = step.new.join_timer, step.old.join_timer
    if timer is None or not step.before.active:
        return True
    same = step.new.generation_id == step.old.generation_id
    if old is not None and same and not isinstance(step.given, Advance):
        return _longest_ms(timer) <= _longest_ms(old)
    if old is not None and same and step.passed_ms < _longest_ms(old):
        return _longest_ms(timer) <= _longest_ms(old) - step.passed_ms
    if old is not None and same:
        return False
    members = (*step.old.members, *step.new.members)
    limit_ms = max((m.rebalance_timeout_ms for m in members), default=0)
    delay_ms = step.config.group_initial_rebalance_delay_ms if timer.initial else 0
    return _longest_ms(timer) <= max(limit_ms, delay_ms)


@action_property("initial-delay-cause", "KIP-134")
def _initial_delay_cause(step: CheckedStep) -> bool:
    """Only a member that joins an Empty group starts the initial delay."""
    timer, old = step.new.join_timer, step.old.join_timer
    if timer is None or not timer.initial or (old is not None and old.initial):
        return True
    return step.old.state in WITHOUT_MEMBERS and isinstance(step.body, JoinGroupRequest)


@action_property("initial-delay-extension", "KIP-134")
def _initial_delay_extension(step: CheckedStep) -> bool:
    """The initial delay is extended only if a member has joined during it."""
    timer, old = step.new.join_timer, step.old.join_timer
    if old is None or not step.before.active or not old.initial or old.left_ms > step.passed_ms:
        return True
    return step.old.new_member_added or timer is None or not timer.initial


@action_property("join-phase-not-cut-short", "KIP-62")
def _join_phase_not_cut_short(step: CheckedStep) -> bool:
    """A join phase with time left ends only if every member has rejoined.

    The initial delay always lasts to its end.
    """
    timer, old = step.old.join_timer, step.old
    ended = step.new.generation_id > old.generation_id or step.new.join_timer is None
    if timer is None or not ended or timer.left_ms <= step.passed_ms or not step.after.group:
        return True
    missing = {m.member_id for m in old.members if m.awaiting_join is None} - senders(step)
    left = {m.member_id for m in old.members if step.successor_member(m) is not None}
    return not (timer.initial or step.new.pending or missing & left)


@action_property("sync-answered-at-once", "KIP-62")
def _sync_answered_at_once(step: CheckedStep) -> bool:
    """A SyncGroup waits only until the leader's assignments are stored, or a rebalance begins."""
    group = step.new
    if not any(m.awaiting_sync is not None for m in group.members):
        return True
    leader = group.member(group.leader or "")
    stored = any(isinstance(entry, GroupAppend) for entry in step.after.appends)
    synced = leader is not None and leader.awaiting_sync is not None
    return group.state is GroupState.COMPLETING_REBALANCE and (stored or not synced)


@action_property("join-answered-at-once", "KIP-62")
def _join_answered_at_once(step: CheckedStep) -> bool:
    """A JoinGroup waits only during a join phase, or while the new id of a member is stored."""
    waiting = [m.member_id for m in step.new.members if m.awaiting_join is not None]
    stored = {e.member_id for e in step.after.appends if isinstance(e, StaticAppend)}
    return step.new.state is PREPARING or stored.issuperset(waiting)


@action_property("pending-id-limit", "KIP-394")
def _pending_id_limit(step: CheckedStep) -> bool:
    """A member id that was given out is awaited for its session timeout, and no longer."""
    if not step.before.active:
        return True
    before = {p.member_id: p.left_ms for p in step.old.pending}
    started_ms = getattr(step.body, "session_timeout_ms", 0)
    return all(
        p.left_ms <= before.get(p.member_id, started_ms) - step.passed_ms for p in step.new.pending
    )


@invariant("no-orphaned-timers", "KAFKA-7824")
def _no_orphaned_timers(group: Group) -> bool:
    """A member that is removed has no timer left."""
    return not group.orphaned_timers


@invariant("sync-awaited-of-members", "KAFKA-12890")
def _sync_awaited_of_members(group: Group) -> bool:
    """A generation waits for the SyncGroup of no member id that is gone."""
    return not group.lost_sync


@action_property("commit-restarts-session", "KAFKA-3470", OffsetCommitRequest)
def _commit_restarts_session(step: CheckedStep) -> bool:
    """A member whose commit is accepted is alive: its session timer restarts."""
    if ErrorCode.NONE not in step.errors:
        return True
    member = step.new.member(step.body_of(OffsetCommitRequest).member_id)
    return member is None or member.session_left_ms in {None, member.session_timeout_ms}


@action_property("pending-commit-ends", "KAFKA-16371")
def _pending_commit_ends(step: CheckedStep) -> bool:
    """A commit is pending only until its append is complete."""
    if not step.new.unstable:
        return True
    held = {e.request_id for e in step.after.appends if isinstance(e, OffsetsAppend)}
    return {request_id for _, request_id in step.new.unstable} <= held


@action_property("stable-fetch", "KIP-447", OffsetFetchRequest)
def _stable_fetch(step: CheckedStep) -> bool:
    """A stable fetch of a partition fails exactly while a commit of it is pending.

    A transactional one is pending until its marker.
    """
    body, answer = step.body_of(OffsetFetchRequest), step.answer
    if not isinstance(answer, OffsetFetchResponse):
        return True
    if answer.error_code is not ErrorCode.NONE:
        return True
    held = [e for e in step.before.appends if isinstance(e, OffsetsAppend)]
    current = (e.offsets for e in held if not (e.after_unload or e.orphaned))
    pending = {tp for offsets in current for tp, _ in offsets}
    pending |= {p.partition for p in step.old.transactions}
    return all(
        (partition.error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT)
        == (body.require_stable and (topic.name, partition.partition_index) in pending)
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code in {ErrorCode.NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT}
    )


@action_property("fetched-as-committed", "KIP-88", OffsetFetchRequest)
def _fetched_as_committed(step: CheckedStep) -> bool:
    """OffsetFetch returns the offset that was committed last.

    A version that holds responses may return the last one that is replicated.
    """
    answer, shown = step.answer, step.before.committed
    if not isinstance(answer, OffsetFetchResponse):
        return True
    readable = [dict(step.old.offsets), *([dict(shown.offsets)] if shown is not None else [])]
    return all(
        any(
            p.committed_offset == (found.committed_offset if found is not None else NO_OFFSET)
            for found in (offsets.get((topic.name, p.partition_index)) for offsets in readable)
        )
        for topic in answer.topics
        for p in topic.partitions
        if p.error_code is ErrorCode.NONE
    )
