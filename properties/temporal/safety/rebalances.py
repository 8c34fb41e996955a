"""Properties of rebalances: states, generations, leaders, protocols and assignments."""

from __future__ import annotations

from collections import Counter
from typing import Final

from groupcheck.model.classic.exploring.group_graph import STATE_CHANGES
from groupcheck.model.classic.rules.rebalance import first_state
from groupcheck.model.classic.state import GONE, Group, GroupAppend, Member
from groupcheck.model.vocabulary import (
    GroupState,
    JoinGroupResponse,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupcheck.properties.temporal.property import action_property, invariant
from groupcheck.properties.temporal.step import (
    WITHOUT_MEMBERS,
    CheckedStep,
    appended,
    orphaned_joins,
)

# The rules that end a join phase. The last one fails, but raises the generation.
ENDS: Final = ("rebalance/complete", "rebalance/complete-empty", "rebalance/no-protocol")
COMPLETING, STABLE = GroupState.COMPLETING_REBALANCE, GroupState.STABLE
IN_GENERATION: Final = frozenset({COMPLETING, STABLE})


def rejoined(group: Group, member: Member) -> bool:
    """Whether a static member of a Stable group waits for its new id to be stored."""
    static = member.group_instance_id is not None
    return static and group.state is STABLE and member.awaiting_join is not None


@invariant("leader", "GroupMetadata.scala:277")
def _leader(group: Group) -> bool:
    """A group has a leader exactly while it has members.

    In CompletingRebalance and Stable it has members, and the leader's JoinGroup was answered or is
    that of a static member that rejoins.
    """
    leader = group.member(group.leader) if group.leader is not None else None
    if group.state in WITHOUT_MEMBERS:
        return group.leader is None and not group.members
    if group.state is GroupState.PREPARING_REBALANCE:
        return (leader is not None) == bool(group.members)
    return leader is not None and (leader.awaiting_join is None or rejoined(group, leader))


@invariant("protocol-supported", "GroupMetadata.scala:436")
def _protocol_supported(group: Group) -> bool:
    """Every member supports the protocol of the generation."""
    return group.state not in IN_GENERATION or all(
        group.protocol_name in {p.name for p in m.protocols} for m in group.members
    )


@invariant("protocol-voted", "GroupMetadata.scala:420")
def _protocol_voted(group: Group) -> bool:
    """No protocol has more votes than that of the generation.

    Each member votes for the first of its protocols that all members support.
    """
    if group.state not in IN_GENERATION:
        return True
    offers = [[p.name for p in m.protocols] for m in group.members]
    votes = Counter(
        next((name for name in offer if all(name in other for other in offers)), None)
        for offer in offers
    )
    return votes[group.protocol_name] == max(votes.values(), default=0)


@action_property("state-transitions", "GroupMetadata.scala:785")
def _state_transitions(step: CheckedStep) -> bool:
    """A group changes its state only along the transitions of Kafka's state diagram."""
    # A step can make several: the last member that leaves also ends the join phase.
    arrows = [STATE_CHANGES[rule] for rule in step.applied if rule in STATE_CHANGES]
    state: str = step.old.state
    if step.before.group is None or state == GroupState.DEAD:
        if step.new.state is GroupState.DEAD and not arrows:
            return True  # offsets without a group
        state = first_state(step.profile.version) if step.after.group else step.new.state
    for arrow in arrows:
        if state != arrow.source:
            return False
        state = arrow.target
    removed = state == GroupState.DEAD or "log/group-rolled-back" in step.applied  # from any state
    return (removed and step.after.group is None) or state == step.new.state


@action_property("generation", "GroupMetadata.scala:534")
def _generation(step: CheckedStep) -> bool:
    """Each end of a join phase raises the generation by one. Nothing else changes it."""
    if step.new.state is GroupState.DEAD or step.after.group is None:
        return step.new.generation_id == 0
    ended = sum(rule in ENDS for rule in step.applied)
    return step.new.generation_id == step.old.generation_id + ended


def _admissions(step: CheckedStep) -> list[JoinGroupResponse]:
    """The responses that admit a member to a generation of the current group."""
    orphaned = orphaned_joins(step.before)
    bodies = (each.body for each in step.responses if each.request_id not in orphaned)
    return [b for b in bodies if isinstance(b, JoinGroupResponse) and b.error_code == 0]


@action_property("one-leader", "GroupCoordinator.scala:1237")
def _one_leader(step: CheckedStep) -> bool:
    """A generation has one leader, and every JoinGroup response of the generation names it."""
    same = {GONE: step.new.leader} | step.renamed
    named = {(a.generation_id, same.get(a.leader, a.leader)) for a in _admissions(step)}
    named |= {
        (group.generation_id, same.get(group.leader or "", group.leader))
        for group in (step.old, step.new)
        if group.state in IN_GENERATION
    }
    return len(named) == len({generation_id for generation_id, _ in named})


@action_property("member-list", "GroupCoordinator.scala:1228")
def _member_list(step: CheckedStep) -> bool:
    """Only the leader gets the member list.

    It gets all members at the end of the join phase, and when it rejoins a Stable group and must
    skip the assignment (KIP-814).
    """
    members = {m.member_id for m in step.new.members}
    for answer in _admissions(step):
        listed = {m.member_id for m in answer.members}
        leads = answer.leader == answer.member_id
        if (listed or answer.skip_assignment) and not leads:
            return False
        expected = answer.generation_id == step.new.generation_id and step.new.state is COMPLETING
        if (expected or answer.skip_assignment) and leads and listed != members:
            return False
        if answer.skip_assignment and not step.old.state is step.new.state is STABLE:
            return False
    return True


@invariant("assigned-only-in-stable", "GroupCoordinator.scala:924")
def _assigned_only_in_stable(group: Group) -> bool:
    """Members have assignments only in a Stable group."""
    return group.state is STABLE or not any(m.assignment for m in group.members)


def _sent(step: CheckedStep) -> dict[str, bytes] | None:
    """The assignments after the step, as the leader sent them; None if it has not."""
    body = step.body
    if "log/assignments-stored" not in step.applied:
        names = step.renamed
        assigned = {names.get(m.member_id, m.member_id): m.assignment for m in step.old.members}
        return assigned if step.old.state is STABLE else None
    if isinstance(body, SyncGroupRequest):
        return dict(body.assignments) if body.member_id == step.old.leader else None
    held = (
        dict(entry.assignments)
        for entry in step.before.appends
        if isinstance(entry, GroupAppend) and entry.generation_id == step.old.generation_id
    )
    return next(held, None)


@action_property("assigned-as-sent", "GroupCoordinator.scala:923")
def _assigned_as_sent(step: CheckedStep) -> bool:
    """Each member gets the assignment that the leader of the generation sent for it.

    A member that the leader left out gets an empty one. No member gets one before the leader's
    SyncGroup.
    """
    owners = {m.awaiting_sync: m.member_id for m in step.old.members}
    if isinstance(step.given, Request) and isinstance(step.given.body, SyncGroupRequest):
        owners[step.given.request_id] = step.given.body.member_id
    assigned = [
        (owners[response.request_id], response.body.assignment)
        for response in step.responses
        if isinstance(response.body, SyncGroupResponse) and response.body.error_code == 0
    ]
    if step.new.state is STABLE:
        assigned += [(m.member_id, m.assignment) for m in step.new.members]
    if not assigned:
        return True
    sent = _sent(step)
    return sent is not None and all(
        sent.get(who, b"") == assignment for who, assignment in assigned
    )


@action_property("appended-as-sent", "GroupCoordinator.scala:415")
def _appended_as_sent(step: CheckedStep) -> bool:
    """The log gets the assignments that the leader sent.

    A member that the leader left out gets an empty one.
    """
    entries = [entry for entry in appended(step) if isinstance(entry, GroupAppend)]
    body = step.body
    if not entries:
        return True
    if not isinstance(body, SyncGroupRequest) or body.member_id != step.old.leader:
        return False
    sent = dict(body.assignments)
    expected = {m.member_id: sent.get(m.member_id, b"") for m in step.old.members}
    return [(e.generation_id, dict(e.assignments)) for e in entries] == [
        (step.old.generation_id, expected)
    ]
