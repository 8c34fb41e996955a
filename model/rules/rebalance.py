"""How a rebalance begins, ends, gains and loses members: what several APIs and timers share."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import cast

from groupcheck.model.nondeterminism import Open
from groupcheck.model.rules.retention import empty_left_ms
from groupcheck.model.rules.session import propagate_assignment, rearm_session
from groupcheck.model.rules.subscription import subscribed_topics
from groupcheck.model.state import Group, GroupAppend, JoinTimer, Member, StaticAppend, put
from groupcheck.model.step import Rule, Step, gc, gm
from groupcheck.model.storing.records import record_empty, remove_group
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    Request,
)

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
EMPTY = GroupState.EMPTY

PREPARE_FROM_EMPTY = Rule(
    "rebalance/prepare-from-empty",
    "the first member joins, and the initial delay begins",
    gc(1128),
)
PREPARE_FROM_STABLE = Rule(
    "rebalance/prepare-from-stable", "a rebalance begins in Stable", gc(1136)
)
PREPARE_FROM_COMPLETING = Rule(
    "rebalance/prepare-from-completing",
    "a rebalance begins before the assignments came, so parked SyncGroups are sent back to join",
    gc(1125),
)
COMPLETE = Rule("rebalance/complete", "the join phase ends and a new generation begins", gc(1208))
COMPLETE_EMPTY = Rule(
    "rebalance/complete-empty", "the join phase ends with nobody left: the group is empty", gc(1209)
)
DROP_NOT_REJOINED = Rule(
    "rebalance/drop-not-rejoined",
    "a member that did not join again in time is dropped when the join phase ends",
    gc(1190),
)
NO_PROTOCOL = Rule(
    "rebalance/no-protocol",
    "the only member offers no protocol, so Kafka fails half-way and the group is stuck for good",
    gm(420),
)
COMPLETE_DEAD = Rule(
    "rebalance/complete-dead",
    "the join phase ends with nobody left: the group is gone, but for its offsets",
    gc(1209),
)
NOBODY_REJOINED = Rule(
    "rebalance/nobody-rejoined",
    "only static members are left and none has joined again: the rebalance timeout begins anew",
    gc(1199),
)
ELECT_JOINED_LEADER = Rule(
    "rebalance/elect-joined-leader",
    "the leader, a static member, has not joined again, so one that has leads",
    gm(276),
)
ELECT_LEADER = Rule(
    "rebalance/elect-leader", "the leader is gone, so another member leads", gm(266)
)
RULES = (
    PREPARE_FROM_EMPTY,
    PREPARE_FROM_STABLE,
    PREPARE_FROM_COMPLETING,
    COMPLETE,
    COMPLETE_EMPTY,
    DROP_NOT_REJOINED,
    ELECT_LEADER,
    NOBODY_REJOINED,
    ELECT_JOINED_LEADER,
)


def park_join(step: Step, request: Request, member: Member) -> None:
    """Take over the member's protocols and keep its JoinGroup (GroupMetadata.scala:496).

    An earlier JoinGroup of the same member that is still parked will never be answered. Up to 3.x
    the timeouts of the request do not count: a member keeps those it first joined with.
    """
    body: JoinGroupRequest = request.body  # type: ignore[assignment]
    if step.profile.traits.rejoin_sets_timeouts:
        member = member._replace(
            session_timeout_ms=body.session_timeout_ms,
            rebalance_timeout_ms=body.rebalance_timeout_ms,
        )
    step.group = step.existing.with_member(
        member._replace(
            protocols=body.protocols,
            awaiting_join=request.request_id,
            session_left_ms=member.session_left_ms if member.is_new else None,
        )
    )


def add_member(step: Step, request: Request, member_id: str) -> None:
    """Add a new member with its JoinGroup parked, and rebalance (GroupCoordinator.scala:990)."""
    body: JoinGroupRequest = request.body  # type: ignore[assignment]
    group = step.existing
    expires = step.profile.traits.new_members_expire
    member = Member(
        member_id,
        request.client_id,
        request.client_host,
        body.session_timeout_ms,
        body.rebalance_timeout_ms,
        body.protocols,
        is_new=expires,
        told=group.is_pending(member_id),
        session_left_ms=step.config.new_member_join_timeout_ms if expires else None,
        awaiting_join=request.request_id,
        group_instance_id=body.group_instance_id,
    )
    statics = group.statics
    if body.group_instance_id is not None:
        statics = put(statics, body.group_instance_id, member_id)
    step.group = group._replace(
        protocol_type=group.protocol_type if group.members else body.protocol_type,
        leader=group.leader if group.leader is not None else member_id,
        members=tuple(sorted((*group.members, member))),
        pending=tuple(p for p in group.pending if p.member_id != member_id),
        new_member_added=group.new_member_added or _prolongs_delay(step),
        statics=statics,
    )
    maybe_prepare_rebalance(step)


def _prolongs_delay(step: Step) -> bool:
    """Whether a member that joins now lets the initial delay be prolonged."""
    group = step.existing
    if step.profile.traits.every_delay_grows:
        return group.join_timer is not None and group.join_timer.initial
    return group.state is PREPARING and group.generation_id == 0


def maybe_prepare_rebalance(step: Step) -> None:
    """Begin a rebalance unless one is being prepared (GroupCoordinator.scala:1115)."""
    if step.existing.state is not PREPARING:
        prepare_rebalance(step)


def prepare_rebalance(step: Step) -> None:
    """Begin a rebalance (GroupCoordinator.scala:1123)."""
    if step.existing.state is COMPLETING:
        step.fire(PREPARE_FROM_COMPLETING)
        propagate_assignment(step, ErrorCode.REBALANCE_IN_PROGRESS)
    group = step.existing
    timeout_ms = rebalance_timeout_ms(group)
    timer = JoinTimer(timeout_ms)
    if group.state is STABLE:
        step.fire(PREPARE_FROM_STABLE)
    elif group.state is EMPTY:
        step.fire(PREPARE_FROM_EMPTY)
        if step.profile.traits.initial_delay:
            delay_ms = step.config.group_initial_rebalance_delay_ms
            timer = JoinTimer(delay_ms, True, delay_ms, max(timeout_ms - delay_ms, 0))  # noqa: FBT003 - a record
    # Where what members were assigned shows only in Stable, it is forgotten on the way out of it.
    stays = step.profile.traits.assignments_stay and group.state is not COMPLETING
    members = tuple(
        m._replace(assignment=m.assignment if stays else b"", unsynced=False)
        if m.assignment or m.unsynced
        else m
        for m in group.members
    )
    step.group = group._replace(
        state=PREPARING,
        join_timer=timer,
        sync_left_ms=None,
        members=members,
        empty_left_ms=None,
        lost_sync=False,
    )
    check_join_complete(step)


def check_join_complete(step: Step, *, cuts_delay: bool = False) -> None:
    """End the join phase if everybody is there (GroupCoordinator.scala:1171, GroupMetadata:360).

    Ids given out and not yet used are waited for; the initial delay is cut short only by what
    `cuts_delay`.
    """
    group = step.existing
    timer = group.join_timer
    if timer is None or (timer.initial and not cuts_delay) or group.pending:
        return
    if all(m.awaiting_join is not None for m in group.members):
        complete_join(step)


def complete_join(step: Step) -> None:
    """End the join phase with those who joined (GroupCoordinator.scala:1183).

    A static member may be absent: it is spared until its session ends.
    """
    absent = [
        m
        for m in step.existing.members
        if m.awaiting_join is None and m.group_instance_id is None and not m.null_instance
    ]
    if absent:
        step.fire(DROP_NOT_REJOINED)
        drop_members(step, [m.member_id for m in absent])
        if step.profile.traits.dropped_keep_timers:
            keep_timers(step, absent)
    if step.profile.traits.empty_dies and not step.existing.members:
        step.fire(COMPLETE_DEAD)
        bury(step)
        return
    if not led_by_one_who_joined(step):
        step.fire(NOBODY_REJOINED)
        # Never 0, with which nothing else would ever come to pass.
        timer = JoinTimer(max(rebalance_timeout_ms(step.existing), 1))
        step.group = step.existing._replace(join_timer=timer)
        return
    group = step.existing._replace(generation_id=step.existing.generation_id + 1, join_timer=None)
    if not group.members:
        step.fire(COMPLETE_EMPTY)
        subscribed = subscription(step, group, None)
        step.group = group._replace(
            state=EMPTY,
            protocol_name=None,
            subscribed=subscribed,
            empty_left_ms=empty_left_ms(step),
        )
        record_empty(step)
    elif not (winners := vote_winners(group.members)):
        fail_without_protocol(step, group)
    else:
        step.fire(COMPLETE)
        name = step.choose(Open.VOTE_TIE, winners)
        step.group = group._replace(
            state=COMPLETING, protocol_name=name, subscribed=subscription(step, group, name)
        )
        admit_members(step)


def led_by_one_who_joined(step: Step) -> bool:
    """Let one lead that has joined; False if there are members, and none of them has."""
    group = step.existing
    leader = group.member(group.leader) if group.leader is not None else None
    if leader is None or leader.awaiting_join is not None:
        return True
    joined = [m.member_id for m in group.members if m.awaiting_join is not None]
    if joined:
        step.fire(ELECT_JOINED_LEADER)
        step.group = group._replace(leader=step.choose(Open.LEADER, joined))
    return bool(joined)


def rebalance_timeout_ms(group: Group) -> int:
    """The longest of the members' (GroupMetadata.scala:378)."""
    return max((0, *(m.rebalance_timeout_ms for m in group.members)))


def subscription(step: Step, group: Group, protocol_name: str | None) -> tuple[str, ...] | None:
    """What the members of a generation have subscribed to (GroupMetadata.scala:538)."""
    known = step.profile.traits.subscriptions
    return subscribed_topics(group.protocol_type, protocol_name, group.members) if known else None


def bury(step: Step) -> None:
    """Forget the group: its offsets stay, and assignments on their way to the log reach nobody."""
    group = step.existing
    remove_group(step)
    step.group = Group(GroupState.DEAD, offsets=group.offsets, unstable=group.unstable)
    step.appends = tuple(
        a._replace(generation_id=0) if isinstance(a, GroupAppend) else a for a in step.appends
    )


def fail_without_protocol(step: Step, group: Group) -> None:
    """The JoinGroup of the only member is what Kafka was handling, so it is told (KAFKA-6005)."""
    step.fire(NO_PROTOCOL)
    step.group = group
    for member in group.members:
        answer = JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
        step.answer(cast("int", member.awaiting_join), answer)


def keep_timers(step: Step, dropped: list[Member]) -> None:
    """The session timers of dropped members run on: nothing stops them."""
    left = [m.session_left_ms for m in dropped if m.session_left_ms is not None]
    step.group = step.existing._replace(ghosts=tuple(sorted((*step.existing.ghosts, *left))))


def admit_members(step: Step) -> None:
    """Answer every parked JoinGroup, start the sessions anew, and perhaps the time to sync."""
    expire = step.profile.traits.syncs_expire
    if expire:
        limit_ms = max(m.rebalance_timeout_ms for m in step.existing.members)
        step.group = step.existing._replace(sync_left_ms=limit_ms)
    for member in step.existing.members:
        if member.awaiting_join is not None:
            step.answer(member.awaiting_join, current_generation(step, member, COMPLETING))
        told = member.told or member.awaiting_join is not None
        rearmed = rearm_session(step, member._replace(awaiting_join=None))
        step.group = step.existing.with_member(
            rearmed._replace(is_new=False, told=told, unsynced=expire)
        )


def current_generation(step: Step, member: Member, state: GroupState) -> JoinGroupResponse:
    """The answer that admits a member to the generation; the list goes to the leader alone.

    In Stable not even a leader gets it (GroupCoordinator.scala:327): it need not assign again.
    """
    group = step.existing
    leads = member.member_id == group.leader and state is COMPLETING
    return JoinGroupResponse(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader or NO_MEMBER_ID,
        member.member_id,
        listed_members(group) if leads else (),
    )


def listed_members(group: Group) -> tuple[JoinGroupResponseMember, ...]:
    """The members of the generation, each with what it says for the protocol that was chosen."""
    name = group.protocol_name or ""
    return tuple(
        JoinGroupResponseMember(m.member_id, m.group_instance_id, m.metadata(name))
        for m in group.members
    )


def times_supported(members: tuple[Member, ...], name: str) -> int:
    """How often a protocol counts: once each time that a member names it.

    Source: GroupMetadata.scala:253.
    """
    return sum(p.name == name for m in members for p in m.protocols)


def supported_by_all(members: tuple[Member, ...], name: str) -> bool:
    """Whether a protocol counts as often as there are members (GroupMetadata.scala:446)."""
    return times_supported(members, name) == len(members)


def votes(members: tuple[Member, ...]) -> Counter[str]:
    """The votes for each protocol, each member's for the first that all support.

    Source: GroupMetadata.scala:427.
    """
    given: Counter[str] = Counter()
    for member in members:
        supported = (p.name for p in member.protocols if supported_by_all(members, p.name))
        given.update(islice(supported, 1))
    return given


def vote_winners(members: tuple[Member, ...]) -> list[str]:
    """The protocols with the most votes (GroupMetadata.scala:420).

    There is one where whoever joins has to offer one that all support. (Not so if a member names a
    protocol twice: Kafka counts it twice and throws here, in the middle of the rebalance, for good.
    Such requests are outside the model.)
    """
    counted = votes(members)
    most = max(counted.values(), default=0)
    return sorted(name for name, count in counted.items() if count == most)


def drop_members(step: Step, member_ids: list[str]) -> None:
    """Take members out of the group; any other may follow the leader (GroupMetadata.scala:259)."""
    group = step.existing
    members = tuple(m for m in group.members if m.member_id not in member_ids)
    leader = group.leader
    if leader in member_ids:
        leader = None
        if members:
            step.fire(ELECT_LEADER)
            leader = step.choose(Open.LEADER, [m.member_id for m in members])
    step.group = group._replace(members=members, leader=leader)
    step.appends = tuple(
        a._replace(member_id=None)
        if isinstance(a, StaticAppend) and a.member_id in member_ids
        else a
        for a in step.appends
    )


def forget_instance(step: Step, group_instance_id: str | None) -> None:
    """A group.instance.id stands for nobody any more (GroupMetadata.scala:350)."""
    group = step.existing
    statics = tuple(entry for entry in group.statics if entry[0] != group_instance_id)
    step.group = group._replace(statics=statics)


def remove_member(step: Step, member: Member) -> None:
    """A member leaves or expires (GroupCoordinator.scala:1147)."""
    take_out(step, member)
    if step.existing.state is PREPARING:
        check_join_complete(step, cuts_delay=step.profile.traits.expiry_ends_delay)
    else:
        maybe_prepare_rebalance(step)


def take_out(step: Step, member: Member) -> None:
    """Take a member out of the group, whatever becomes of it.

    Its parked JoinGroup is told to start anew; its parked SyncGroup is never answered.
    """
    if member.awaiting_join is not None and step.profile.traits.removed_are_answered:
        step.answer(member.awaiting_join, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    drop_members(step, [member.member_id])
    forget_instance(step, member.group_instance_id)


def remove_pending(step: Step, member_id: str) -> None:
    """An id that was given out is taken back (GroupCoordinator.scala:1163)."""
    take_back(step, member_id)
    if step.existing.state is PREPARING:
        check_join_complete(step, cuts_delay=step.profile.traits.expiry_ends_delay)


def take_back(step: Step, member_id: str) -> None:
    """Forget an id that was given out, whatever becomes of the group."""
    group = step.existing
    step.group = group._replace(pending=tuple(p for p in group.pending if p.member_id != member_id))
