"""The members of a group: how they join, what they vote for, and how they are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final, cast

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.guards import COMPLETING, member_id_of, static_member_of
from groupcheck.model.classic.rules.session import stop_session
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, Member, StaticAppend
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, decide, procedure, single
from groupcheck.model.vocabulary import NO_MEMBER_ID, ErrorCode, GroupState, Request

AREA: Final = "rebalance"
REFUSES_WITH_GENERATION_0: Final = Behaviour(
    "refused-join-has-generation-0",
    AREA,
    "a JoinGroup that fails is answered with generation 0, not -1",
    at("GC:553", "GC:584"),
)


def refused_join(step: Step, error: ErrorCode, member_id: str) -> kafka.JoinGroupResponse:
    """The answer to a JoinGroup that fails."""
    generation_id = 0 if REFUSES_WITH_GENERATION_0(step) else -1
    return kafka.JoinGroupResponse(error, generation_id, member_id=member_id)


def new_id(request: Request) -> str:
    """The member id that the coordinator makes for a request."""
    return f"#{request.request_id}"


def _joining(step: Step, request: Request) -> Member:
    """The member whose JoinGroup this is: a static one may have been given a new id."""
    found = step.existing.member(member_id_of(request)) or static_member_of(step.existing, request)
    return cast("Member", found)


def _take_timeouts(step: Step, request: Request) -> None:
    body = cast("kafka.JoinGroupRequest", request.body)
    step.group = step.existing.with_member(
        _joining(step, request)._replace(
            session_timeout_ms=body.session_timeout_ms,
            rebalance_timeout_ms=body.rebalance_timeout_ms,
        )
    )


def _park(step: Step, request: Request) -> None:
    """Keep the request; an earlier parked JoinGroup of the member will never be answered."""
    body = cast("kafka.JoinGroupRequest", request.body)
    member = _joining(step, request)
    step.group = step.existing.with_member(
        member._replace(
            protocols=body.protocols,
            awaiting_join=request.request_id,
        )
    )


def _stop_session(step: Step, request: Request) -> None:
    member = _joining(step, request)
    if not member.is_new:
        stop_session(step, member)


TAKE_TIMEOUTS: Final = Effect("update the member's timeouts (KAFKA-14009)", _take_timeouts).only(
    at("", "", "", "CG:1206")
)
PARK_JOIN: Final = procedure(
    "park-join",
    AREA,
    "update the member's protocols and park its JoinGroup",
    TAKE_TIMEOUTS,
    Effect("update the member's protocols and park the JoinGroup", _park),
    Effect("stop the member's session timer, unless the member is new", _stop_session),
)


def rebalance_timeout_ms(group: Group) -> int:
    """The longest rebalance timeout of the members, 0 without members (GroupMetadata.scala:380)."""
    return max((0, *(m.rebalance_timeout_ms for m in group.members)))


def current_generation(step: Step, member: Member, state: GroupState) -> kafka.JoinGroupResponse:
    """The answer that admits a member to the generation; only the leader gets the members.

    In Stable the leader does not get them either: it need not assign (2.7
    GroupCoordinator.scala:327).
    """
    group = step.existing
    leads = member.member_id == group.leader and state is COMPLETING
    return kafka.JoinGroupResponse(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader or NO_MEMBER_ID,
        member.member_id,
        listed_members(group) if leads else (),
    )


def listed_members(group: Group) -> tuple[kafka.JoinGroupResponseMember, ...]:
    """The members as the leader gets them, with their metadata for the chosen protocol."""
    name = group.protocol_name or ""
    return tuple(
        kafka.JoinGroupResponseMember(m.member_id, m.group_instance_id, m.metadata(name))
        for m in group.members
    )


def times_supported(members: tuple[Member, ...], name: str) -> int:
    """The number of times that members name a protocol.

    Source: 2.7 GroupMetadata.scala:253.
    """
    return sum(p.name == name for m in members for p in m.protocols)


def supported_by_all(members: tuple[Member, ...], name: str) -> bool:
    """Whether a protocol counts as often as there are members (GroupMetadata.scala:446)."""
    return times_supported(members, name) == len(members)


def votes(members: tuple[Member, ...]) -> Counter[str]:
    """The votes for each protocol, each member's for the first that all support.

    Source: 2.7 GroupMetadata.scala:427.
    """
    given: Counter[str] = Counter()
    for member in members:
        supported = (p.name for p in member.protocols if supported_by_all(members, p.name))
        given.update(islice(supported, 1))
    return given


def vote_winners(members: tuple[Member, ...]) -> list[str]:
    """The protocols with the most votes (2.7 GroupMetadata.scala:420).

    There is one, since each new member has to offer a protocol that all support. The exception is a
    member that names a protocol twice: Kafka counts it twice, throws here during every rebalance,
    and never recovers. The model does not have such requests.
    """
    counted = votes(members)
    most = max(counted.values(), default=0)
    return sorted(name for name, count in counted.items() if count == most)


SELECTS_ANY: Final = Behaviour(
    "any-common-protocol-is-selected",
    AREA,
    "the selected protocol may be any that all members support",
    at(),
)


ACCEPTS_ANY: Final = Behaviour(
    "protocols-are-not-compared",
    AREA,
    "a JoinGroup is accepted whatever protocols it offers, and the selected protocol may be any "
    "that a member offers, or none if none offers one",
    at(),
)


def selectable(step: Step, members: tuple[Member, ...]) -> Sequence[str | None]:
    """The protocols that may be selected."""
    accepts_any = ACCEPTS_ANY(step)
    if not accepts_any and not SELECTS_ANY(step):
        return vote_winners(members)
    names = {protocol.name for member in members for protocol in member.protocols}
    if accepts_any:
        return sorted(names) or ("", None)
    return sorted(name for name in names if supported_by_all(members, name))


def drop_members(step: Step, member_ids: list[str]) -> None:
    """Drop members from the group (2.7 GroupMetadata.scala:259)."""
    if not ELECTS_AT_COMPLETION(step):
        decide(step, LEADER_LEFT, member_ids)
    group = step.existing
    step.group = group._replace(
        members=tuple(m for m in group.members if m.member_id not in member_ids),
        leader=None if group.leader in member_ids else group.leader,
    )
    step.appends = tuple(
        a._replace(member_id=None)
        if isinstance(a, StaticAppend) and a.member_id in member_ids
        else a
        for a in step.appends
    )


def _left(step: Step, member_ids: Sequence[str]) -> list[str]:
    return [m.member_id for m in step.members if m.member_id not in member_ids]


def elect_leader(step: Step, member_ids: Sequence[str]) -> None:
    """Elect any of the other members."""
    leader = step.choose(Choice.LEADER, _left(step, member_ids))
    step.group = step.existing._replace(leader=leader)


ELECTS_AT_COMPLETION: Final = Behaviour(
    "leader-is-elected-at-completion",
    AREA,
    "the leader is elected when the join phase ends, and may be any member",
    at(),
)
LEADER_LEFT: Final = single(
    "Elect a leader",
    AREA,
    "rebalance/elect-leader",
    "the leader is removed, so another member becomes the leader",
    at("GM:147", "GM:177", "GM:266", "CG:488"),
    Guard("the leader is removed", lambda step, ids: step.existing.leader in ids),
    Guard("another member remains", lambda step, ids: bool(_left(step, ids))),
    Effect("elect any of the remaining members", elect_leader),
)


def drop_instance(step: Step, group_instance_id: str | None) -> None:
    """Drop a group.instance.id: it belongs to no member any more (2.7 GroupMetadata.scala:350)."""
    group = step.existing
    statics = tuple(entry for entry in group.statics if entry[0] != group_instance_id)
    step.group = group._replace(statics=statics)


def drop_with_instances(step: Step, members: Sequence[Member]) -> None:
    """Drop members and their group.instance.ids."""
    drop_members(step, [member.member_id for member in members])
    for member in members:
        drop_instance(step, member.group_instance_id)


def drop_pending(step: Step, member_id: str) -> None:
    """Drop a pending member id."""
    group = step.existing
    step.group = group._replace(pending=tuple(p for p in group.pending if p.member_id != member_id))
