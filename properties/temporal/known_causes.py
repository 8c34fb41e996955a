"""The known violations of the properties of causes and waits, each with the steps it covers."""

from __future__ import annotations

from groupcheck.model.classic.state import NEVER, Advance
from groupcheck.model.vocabulary import ErrorCode, JoinGroupRequest, LeaveGroupRequest
from groupcheck.properties.temporal.property import known_violation
from groupcheck.properties.temporal.step import WITHOUT_MEMBERS, CheckedStep


@known_violation(
    "join-phase-limit",
    sources={
        "2.7": "GroupCoordinator.scala:1199 at 2.7.2",
        "4.1": "GroupMetadataManager.java:6605 at 4.1",
    },
)
def _none_rejoined(step: CheckedStep) -> bool:
    """If only static members are left and none has rejoined, the rebalance timeout starts again."""
    absent = all(m.awaiting_join is None for m in step.new.members)
    return isinstance(step.given, Advance) and absent


@known_violation(
    "group-full-cause",
    issue="KAFKA-20601 (fixed for consumer groups only)",
    sources={
        "2.7": "GroupCoordinator.scala:155 at 2.7.2",
        "4.1": "GroupMetadataManager.java:6169 at 4.1",
    },
)
def _static_member_finds_the_group_full(step: CheckedStep) -> bool:
    """A full group rejects a static member that restarts, though it has a place already."""
    body = step.body
    return (
        isinstance(body, JoinGroupRequest) and step.old.static(body.group_instance_id) is not None
    )


@known_violation("errors-leave-no-trace", sources={"2.7": "GroupCoordinator.scala:186 at 2.7.2"})
def _instance_is_forgotten(step: CheckedStep) -> bool:
    """A full group rejects a static member that rejoins, and forgets its instance id."""
    rejected = ErrorCode.GROUP_MAX_SIZE_REACHED in step.errors
    return rejected and step.new.statics != step.old.statics


@known_violation("instance-ids-of-members", sources={"2.7": "GroupCoordinator.scala:186 at 2.7.2"})
def _dropped_each_by_itself(step: CheckedStep) -> bool:
    """A full group drops the member id and the instance id of a JoinGroup, each by itself.

    A member without its instance id stays, or the instance id of a member that is gone. Each
    JoinGroup with such an instance id is answered with UNKNOWN_SERVER_ERROR.
    """
    group, owners = step.new, dict(step.new.statics)
    for member in group.members:
        owner = group.member(owners.get(member.group_instance_id or "", ""))
        if owner is not None and owner.group_instance_id != member.group_instance_id:
            return False
    return True


@known_violation(
    "generation-size",
    sources={
        "2.7": "GroupCoordinator.scala:131, 1190 at 2.7.2",
        "4.1": "GroupMetadataManager.java:6593, 7175 at 4.1",
    },
)
def _absent_members_take_no_place(step: CheckedStep) -> bool:
    """The limit counts the members that have rejoined. Absent static members stay besides them."""
    rejoin = [m for m in step.new.members if not m.counts_as_static]
    return len(rejoin) <= step.group_max_size


@known_violation(
    "join-phase-ends-at-once", sources={"4.1": "GroupMetadataManager.java:6169 at 4.1"}
)
def _last_absent_member_rejected(step: CheckedStep) -> bool:
    """A full group rejects the last member that it waits for, and waits on.

    The others have rejoined. They get their responses at the rebalance timeout.
    """
    waits = step.old.state is step.new.state and step.old.join_timer is not None
    return waits and (
        ErrorCode.GROUP_MAX_SIZE_REACHED in step.errors
        or all(m.awaiting_join is not None for m in step.old.members)
    )


@known_violation("rebalance-cause", sources={"4.1": "GroupMetadataManager.java:7976 at 4.1"})
def _pending_member_leaves(step: CheckedStep) -> bool:
    """LeaveGroup with a member id that was given out, but has not joined, begins a rebalance."""
    body = step.body
    return isinstance(body, LeaveGroupRequest) and any(
        step.old.is_pending(identity.member_id) for identity in body.members
    )


@known_violation(
    "rebalance-cause",
    "sync-awaited-of-members",
    sources={"4.1": "ClassicGroup.java:491, GroupMetadataManager.java:7150 at 4.1"},
)
def _sync_of_a_former_id(step: CheckedStep) -> bool:
    """The group waits for the SyncGroup of an id that a static member had before it restarted.

    At the rebalance timeout a rebalance begins, though no member is missing.
    """
    return step.old.lost_sync or step.new.lost_sync


@known_violation(
    "new-protocols-rebalance",
    issue="KAFKA-12759",
    sources={
        "2.7": "GroupCoordinator.scala:1053 at 2.7.2",
        "4.1": "GroupMetadataManager.java:7274 at 4.1",
    },
)
def _static_member_changes_its_protocols(step: CheckedStep) -> bool:
    """A static member restarts with other protocols or another subscription.

    No rebalance begins while the vote selects the same protocol. The leader does not learn of the
    subscription.
    """
    body = step.body
    return (
        isinstance(body, JoinGroupRequest) and step.old.static(body.group_instance_id) is not None
    )


@known_violation(
    "no-rebalance-without-members",
    sources={
        "2.7": "DelayedJoin.scala:64 at 2.7.2",
        "4.1": "GroupMetadataManager.java:7992 at 4.1",
    },
)
def _waits_without_members(step: CheckedStep) -> bool:
    """The initial delay continues without members; so does a wait for an unused id.

    Until the end, DeleteGroups is answered with NON_EMPTY_GROUP.
    """
    timer = step.new.join_timer
    return timer is not None and (timer.initial or bool(step.new.pending))


@known_violation(
    "errors-leave-no-trace",
    sources={
        "0.10.0": "GroupCoordinator.scala:395 at 0.10.0.1",
        "0.10.2": "GroupCoordinator.scala:410 at 0.10.2.2",
        "2.7": "GroupCoordinator.scala:179 at 2.7.2",
        "4.1": "GroupMetadataManager.java:6160, OffsetMetadataManager.java:460 at 4.1",
    },
)
def _rejected_request_creates_the_group(step: CheckedStep) -> bool:
    """A request that is rejected creates the group. It is Empty, and listed until a cleanup."""
    created = step.before.group is None and step.new.state in WITHOUT_MEMBERS
    return created and not (step.new.pending or step.new.offsets)


@known_violation(
    "rebalance-cause",
    "no-orphaned-timers",
    issue="KAFKA-7196 (fixed in 2.0.1 and 2.1)",
    sources={"0.10.2": "GroupCoordinator.scala:685, 737 at 0.10.2.2"},
)
def _timer_of_a_removed_member(step: CheckedStep) -> bool:
    """A member that is removed at the rebalance timeout keeps its session timer.

    When it ends, a rebalance begins.
    """
    return bool(step.old.orphaned_timers or step.new.orphaned_timers)


@known_violation(
    "errors-leave-no-trace",
    "pending-commit-ends",
    issue="KAFKA-16371 (fixed in 3.7.1 and 3.8)",
    sources={"0.10.2": "GroupMetadataManager.scala:317 at 0.10.2.2"},
)
def _rejected_commit_stays_pending(step: CheckedStep) -> bool:
    """A commit whose metadata is too long stays pending.

    Neither the offsets of its partitions nor the group expire.
    """
    return any(request_id == NEVER for _, request_id in step.new.unstable)


@known_violation(
    "generation",
    "generation-cause",
    "rebalance-cause",
    sources={"4.1": "ClassicGroup.java:1290, 1464 at 4.1"},
)
def _join_timer_of_a_removed_group(step: CheckedStep) -> bool:
    """A group that a failed append removed keeps its join timer, by its id.

    When it ends, it raises the generation of an Empty group that was created under that id since.
    """
    return (
        step.before.removed_group_join_ms is not None and step.after.removed_group_join_ms is None
    )
