"""The violations of properties that Kafka itself is known for, each with the steps it covers."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.state import Cleanup, Crash, Load
from groupcheck.model.classic.step import Profile
from groupcheck.model.vocabulary import (
    GroupState,
    HeartbeatRequest,
)
from groupcheck.properties.temporal import known_causes
from groupcheck.properties.temporal.property import KnownViolation, Property, known_violation
from groupcheck.properties.temporal.step import CheckedStep


def known_violations(profile: Profile, prop: Property) -> tuple[KnownViolation, ...]:
    """The known violations of a property in a version."""
    return tuple(
        each
        for each in KNOWN_VIOLATIONS
        if profile.name in each.sources and prop.name in each.properties
    )


@known_violation(
    "answered-once",
    "errors-leave-no-trace",
    "join-phase-ends-at-once",
    "preparing-ends",
    "join-answered",
    "silent-members-removed",
    issue="KAFKA-6005 (fixed in 1.0)",
    sources={
        "0.10.0": "GroupMetadata.scala:179 at 0.10.0.1",
        "0.10.2": "GroupMetadata.scala:207 at 0.10.2.2",
    },
)
def _no_protocols(step: CheckedStep) -> bool:
    """The join phase of a group whose first member offers no protocols fails half-way.

    The member gets an error, but its JoinGroup stays parked, and the group stays in
    PreparingRebalance forever.
    """
    failed = step.old.state is GroupState.PREPARING_REBALANCE and step.old.join_timer is None
    return failed or "rebalance/no-protocol" in step.applied


@known_violation(
    "completing-ends",
    "sync-answered",
    "silent-members-removed",
    issue="KAFKA-12890 (fixed in 2.8.1 and 3.0)",
    sources={"2.7": "GroupCoordinator.scala:643 at 2.7.2"},
)
def _leader_heartbeats(step: CheckedStep) -> bool:
    """CompletingRebalance has no time limit.

    It lasts as long as the leader sends heartbeats and no SyncGroup.
    """
    body = step.body
    completing = step.old.state is GroupState.COMPLETING_REBALANCE
    return completing and isinstance(body, HeartbeatRequest) and body.member_id == step.old.leader


@known_violation(
    "preparing-ends",
    sources={
        "2.7": "GroupCoordinator.scala:1199, GroupMetadataManager.scala:1429 at 2.7.2",
        "4.1": "GroupMetadataManager.java:6605 at 4.1",
    },
)
def _static_member_heartbeats(step: CheckedStep) -> bool:
    """The rebalance timeout keeps a static member that heartbeats and does not rejoin.

    If no other member rejoins, the timeout starts again. In 2.7 every member that was loaded from
    the log counts as static (KAFKA-10497, fixed in 2.8).
    """
    body = step.body
    member = step.old.member(body.member_id) if isinstance(body, HeartbeatRequest) else None
    preparing = step.old.state is GroupState.PREPARING_REBALANCE
    static = member is not None and member.counts_as_static
    return preparing and static


@known_violation(
    "session-restart-cause",
    "silent-members-removed",
    sources={
        "2.7": "GroupCoordinator.scala:1241 at 2.7.2",
        "4.1": "GroupMetadataManager.java:6663 at 4.1",
    },
)
def _session_restarts_without_a_request(step: CheckedStep) -> bool:
    """The rebalance timeout keeps a silent static member, and restarts its session timer.

    The member stays as long as other members rejoin.
    """
    absent = {m.member_id for m in step.old.members if m.awaiting_join is None}
    ends = "rebalance/complete" in step.applied
    return ends and any(m.member_id in absent for m in step.new.members)


@known_violation("unique-instance-ids", sources={"2.7": "GroupCoordinator.scala:186 at 2.7.2"})
def _instance_was_forgotten(step: CheckedStep) -> bool:
    """A full group rejects a static member that rejoins, and forgets its instance id.

    The member with the old id stays. The next member with that instance id is a second one.
    """
    lost = {
        m.group_instance_id
        for m in step.old.members
        if m.group_instance_id is not None and step.old.static(m.group_instance_id) != m.member_id
    }
    named = [m.group_instance_id for m in step.new.members if m.group_instance_id is not None]
    return all(instance_id in lost for instance_id in named if named.count(instance_id) > 1)


@known_violation(
    "assigned-only-in-stable",
    sources={"4.1": "ClassicGroupMember.java:361, GroupMetadataManager.java:6908 at 4.1"},
)
def _assignments_unchanged(step: CheckedStep) -> bool:
    """A member keeps its last assignment while the group rebalances.

    DescribeGroups shows it until the member gets a new one or the next generation fails.
    """
    names, members = step.renamed, step.old.members
    if isinstance(step.given, Crash | Load) and step.before.log and step.before.log.group:
        members = step.before.log.group.members
    before = {names.get(m.member_id, m.member_id): m.assignment for m in members}
    return all(before.get(m.member_id, b"") == m.assignment for m in step.new.members)


@known_violation(
    "only-empty-groups-removed",
    "deleted-as-answered",
    "no-early-removal",
    "unanswered-requests",
    "heartbeats-and-commits-keep-members",
    sources={"4.1": "CoordinatorRuntime.java:873 at 4.1"},
)
def _unwritten_group_removed(step: CheckedStep) -> bool:
    """A failed append reverts every change since the last successful one.

    If a rejected commit created the group and no record of the group was written, the group is
    removed with its members, and their parked requests get no response.
    """
    return step.old.not_persisted and "log/group-rolled-back" in step.applied


@known_violation(
    "unused-groups-expire",
    "expired-offsets-removed",
    sources={"4.1": "CoordinatorRuntime.java:873 at 4.1"},
)
def _cleanup_fails(step: CheckedStep) -> bool:
    """A cleanup whose append fails removes nothing. Expired offsets stay until the next cleanup."""
    return isinstance(step.given, Cleanup) and step.before.failing != step.after.failing


@known_violation(
    "subscribed-offsets-not-expired",
    "no-expiry-in-rebalance",
    issue="KIP-211 (in 2.1)",
    sources={
        "0.10.0": "GroupMetadataManager.scala:545 at 0.10.0.1",
        "0.10.2": "GroupMetadata.scala:303 at 0.10.2.2",
    },
)
def _own_time_over(step: CheckedStep) -> bool:
    """Each offset expires after its own retention time.

    The state of the group and the subscriptions of its members do not matter.
    """
    left = dict(step.new.offsets)
    return all((o.left_ms or 0) < 0 for tp, o in step.old.offsets if tp not in left)


@known_violation(
    "no-expiry-in-rebalance",
    issue="KAFKA-13636 (fixed in 2.8.2, 3.0.1 and 3.2)",
    sources={"2.7": "GroupMetadata.scala:745 at 2.7.2"},
)
def _not_subscribed_before(step: CheckedStep) -> bool:
    """During a rebalance the subscriptions of the previous generation decide which offsets expire.

    If that generation had no members, every offset can expire.
    """
    subscribed, left = step.old.subscribed, dict(step.new.offsets)
    return subscribed is not None and all(
        tp[0] not in subscribed for tp, _ in step.old.offsets if tp not in left
    )


@known_violation(
    "offset-retention",
    issue="KIP-211",
    sources={"2.7": "GroupMetadata.scala:740 at 2.7.2", "4.1": "ClassicGroup.java:958 at 4.1"},
)
def _group_expires(step: CheckedStep) -> bool:
    """In a group that had members, all offsets expire together with the group.

    This includes an offset that a consumer without a group membership committed later.
    """
    return step.old.state is GroupState.EMPTY and step.old.empty_left_ms == 0


@known_violation("fencing", sources={"4.1": "GroupMetadataManager.java:7933 at 4.1"})
def _pending_id_dropped(step: CheckedStep) -> bool:
    """LeaveGroup with a pending member id drops that id and does not check the instance id."""
    return "leave/pending-member" in step.applied


KNOWN_VIOLATIONS: Final = tuple(
    each
    for each in [*vars().values(), *vars(known_causes).values()]
    if isinstance(each, KnownViolation)
)
