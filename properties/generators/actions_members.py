"""Actions of members: join, sync, heartbeat and leave."""

from __future__ import annotations

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import STOPPED_MS, Advance, Group, Member
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    Assignment,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from groupcheck.properties.generators.context import (
    INSTANCES,
    PROTOCOL_LISTS,
    REBALANCE_TIMEOUTS_MS,
    SESSION_TIMEOUTS_MS,
    Choices,
    Context,
)


def _offer(context: Context, member_id: str, choices: Choices) -> JoinGroupRequest:
    protocols = PROTOCOL_LISTS[choices.of(len(PROTOCOL_LISTS))]
    session_ms = SESSION_TIMEOUTS_MS[choices.of(len(SESSION_TIMEOUTS_MS))]
    rebalance_ms = REBALANCE_TIMEOUTS_MS[choices.of(len(REBALANCE_TIMEOUTS_MS))]
    protocol_type = {15: "connect", 14: ""}.get(choices.of(16), "consumer")
    return JoinGroupRequest(
        GROUP_ID,
        max(session_ms, context.least_ms),
        max(rebalance_ms, context.least_ms),
        member_id,
        context.instance(member_id, choices) if member_id else None,
        protocol_type,
        protocols,
    )


def join(context: Context, choices: Choices) -> Input:
    """A member without an id joins; a static one may rejoin."""
    version, client, instance = context.version(choices), choices.of(4), choices.of(4)
    body = _offer(context, "", choices)
    if context.capabilities.static and instance > 1:
        body = body._replace(group_instance_id=INSTANCES[instance - 2])
    return context.request(body, version, client)


def join_again(context: Context, choices: Choices) -> Input:
    """A member joins with its id, in half of the cases with the same protocols as before."""
    member_id, same, version = context.member(choices), choices.of(2), context.version(choices)
    known = context.group.member(member_id)
    body = _offer(context, member_id, choices)
    if known is not None and same == 0:
        body = body._replace(protocols=known.protocols)
    return context.request(body, version)


def sync(context: Context, choices: Choices) -> Input:
    """A member sends SyncGroup; the leader assigns to all members, or leaves one out."""
    group, member_id = context.group, context.member(choices)
    generation, version = context.generation(choices), context.version(choices)
    given, kind = choices.of(32), choices.of(32)
    names = [m.member_id for m in group.members if m.revealed]
    assignments = tuple(Assignment(n, n.encode()) for n in names[given % 3 if given else 0 :])
    body = SyncGroupRequest(
        GROUP_ID,
        generation,
        member_id,
        context.instance(member_id, choices),
        None if kind == 29 else "connect" if kind == 28 else group.protocol_type or "consumer",
        None if kind == 27 else "other" if kind == 26 else group.protocol_name or "range",
        assignments if member_id == group.leader or given == 30 else (),
    )
    return context.request(body, version)


def heartbeat(context: Context, choices: Choices) -> Input:
    """A member sends a heartbeat."""
    member_id, generation, version = (
        context.member(choices),
        context.generation(choices),
        context.version(choices),
    )
    body = HeartbeatRequest(GROUP_ID, generation, member_id, context.instance(member_id, choices))
    return context.request(body, version)


def leave(context: Context, choices: Choices) -> Input:
    """Members leave, alone or in a batch, perhaps one twice, perhaps by group.instance.id."""
    version, count = context.version(choices), (1, 1, 2, 3)[choices.of(4)]
    identities = []
    for _ in range(count):
        member_id = context.member(choices)
        instance_id = context.instance(member_id, choices)
        has_empty_id = instance_id is not None and choices.of(2)
        identities.append(MemberIdentity("" if has_empty_id else member_id, instance_id))
    return context.request(LeaveGroupRequest(GROUP_ID, tuple(identities)), version)


def next_request(context: Context, choices: Choices) -> Input:  # noqa: PLR0911 - one for each thing missing
    """The next request on the way to a stable group, which few random tests would reach.

    In a stable group members send heartbeats, and static ones rejoin.
    """
    group, version = context.group, context.version(choices)
    known = [m for m in group.members if m.revealed]
    if group.pending:
        return context.request(_plain_join(group.pending[-1].member_id), version)
    if group.state is GroupState.PREPARING_REBALANCE:
        missing = [m for m in known if m.awaiting_join is None]
        if missing:
            return context.request(_as_before(missing[choices.of(len(missing))]), version)
        if group.join_timer is not None and group.join_timer.left_ms != STOPPED_MS:
            return Advance(max(group.join_timer.left_ms, 0))  # it may be late
    if group.state is GroupState.COMPLETING_REBALANCE:
        missing = sorted(
            (m for m in known if m.awaiting_sync is None), key=lambda m: m.member_id == group.leader
        )
        if missing:
            return context.request(_sync(group, missing[0]), version)
    if known:
        member = known[choices.of(len(known))]
        if member.group_instance_id and choices.of(2):
            offered = member.protocols if choices.of(2) else PROTOCOL_LISTS[choices.of(4)]
            back = _as_before(member)._replace(member_id="", protocols=offered)
            return context.request(back, version)
        body = HeartbeatRequest(
            GROUP_ID, group.generation_id, member.member_id, member.group_instance_id
        )
        return context.request(body, version)
    return context.request(_plain_join(""), version)


def _plain_join(member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(GROUP_ID, 10_000, 20_000, member_id, protocols=PROTOCOL_LISTS[1])


def _as_before(member: Member) -> JoinGroupRequest:
    return JoinGroupRequest(
        GROUP_ID,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.member_id,
        member.group_instance_id,
        protocols=member.protocols,
    )


def _sync(group: Group, member: Member) -> SyncGroupRequest:
    everybody = tuple(Assignment(m.member_id, b"part") for m in group.members)
    return SyncGroupRequest(
        GROUP_ID,
        group.generation_id,
        member.member_id,
        member.group_instance_id,
        group.protocol_type,
        group.protocol_name,
        everybody if member.member_id == group.leader else (),
    )
