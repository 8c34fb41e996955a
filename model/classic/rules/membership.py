"""How members are added to a group and removed from it, each of which prepares a rebalance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from groupcheck.model.classic.rules.guards import PREPARING
from groupcheck.model.classic.rules.members import (
    ACCEPTS_ANY,
    AREA,
    ELECTS_AT_COMPLETION,
    LEADER_LEFT,
    PARK_JOIN,
    REFUSES_WITH_GENERATION_0,
    SELECTS_ANY,
    drop_with_instances,
    new_id,
)
from groupcheck.model.classic.rules.rebalance import (
    AWAITS_MEMBERS,
    AWAITS_PENDING,
    BEGINS_GENERATION_EARLY,
    COMPLETE_JOIN,
    DELAYS_EACH,
    DROP_ABSENT,
    EMPTY_IS_DEAD,
    JOINED_LEADER,
    KEEPS_STATIC,
    MAYBE_PREPARE,
    NEVER_ENDS_EARLY,
    PREPARE,
    RESTARTS_GENERATIONS,
    check_join_complete,
    maybe_prepare_rebalance,
)
from groupcheck.model.classic.rules.subscription import READS_SUBSCRIPTIONS
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, Member, put
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour, Effect, procedure
from groupcheck.model.vocabulary import ErrorCode, JoinGroupRequest, JoinGroupResponse, Request


def _insert_member(step: Step, request: Request) -> None:
    """Add a member under the id that it names, or under a new one."""
    body = cast("JoinGroupRequest", request.body)
    group = step.existing
    member_id = body.member_id or new_id(request)
    member = Member(
        member_id,
        request.client_id,
        request.client_host,
        body.session_timeout_ms,
        body.rebalance_timeout_ms,
        body.protocols,
        is_new=False,
        revealed=group.is_pending(member_id),
        session_left_ms=None,
        awaiting_join=request.request_id,
        group_instance_id=body.group_instance_id,
    )
    statics = group.statics
    if body.group_instance_id is not None:
        statics = put(statics, body.group_instance_id, member_id)
    step.group = group._replace(
        protocol_type=group.protocol_type if group.members else body.protocol_type,
        leader=group.leader or (None if ELECTS_AT_COMPLETION(step) else member_id),
        members=tuple(sorted((*group.members, member))),
        pending=tuple(p for p in group.pending if p.member_id != member_id),
        statics=statics,
    )


def _limit_wait(step: Step, request: Request) -> None:
    body = cast("JoinGroupRequest", request.body)
    member = cast("Member", step.existing.member(body.member_id or new_id(request)))
    limit_ms = step.config.new_member_join_timeout_ms
    step.group = step.existing.with_member(member._replace(is_new=True, session_left_ms=limit_ms))


def _note_new_member(applies: Callable[[Group], bool]) -> Callable[[Step, Request], None]:
    def apply(step: Step, _request: Request) -> None:
        group = step.existing
        step.group = group._replace(new_member_added=group.new_member_added or applies(group))

    return apply


ADD_MEMBER: Final = procedure(
    "add-member",
    AREA,
    "add the member, park its JoinGroup, and prepare a rebalance",
    Effect("add the member and park its JoinGroup", _insert_member),
    Effect(
        "limit the time that its JoinGroup may stay parked to 5 minutes (KAFKA-7610)", _limit_wait
    ).only(at("", "", "GC:1018", "GMM:6867")),
    # 0.10 has no initial delay. There the effect changes nothing that the coordinator does; it
    # only keeps the states equal to those of 2.7, and its lines are where the member is added.
    Effect(
        "extend the initial delay if it is before the first generation",
        _note_new_member(lambda g: g.state is PREPARING and g.generation_id == 0),
    ).only(at("GC:590", "GC:624", "GC:1008")),
    Effect(
        "extend the initial delay, before any generation",
        _note_new_member(lambda g: g.join_timer is not None and g.join_timer.initial),
    ).only(at("", "", "", "GMM:6856")),
    MAYBE_PREPARE,
)
# The initial delay ends early if the last member that it waits for leaves or expires.
REMOVAL_ENDS_DELAY: Final = Behaviour(
    "removal-ends-delay",
    AREA,
    "the initial delay ends at once if a member expires that was the only one the group waited for",
    at("", "", "", "GMM:6765"),
)


def _answer_removed(step: Step, member: Member) -> None:
    if member.awaiting_join is not None:
        step.answer(member.awaiting_join, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))


ANSWER_REMOVED: Final = Effect(
    "answer its parked JoinGroup with UNKNOWN_MEMBER_ID (KAFKA-7610)", _answer_removed
).only(at("", "", "GC:1151", "GMM:6757"))
# Its parked SyncGroup is never answered.
REMOVE_MEMBER: Final = procedure(
    "remove-member",
    AREA,
    "remove the member",
    ANSWER_REMOVED,
    Effect(
        "remove the member and its group.instance.id",
        lambda step, member: drop_with_instances(step, [member]),
    ),
)


def _end_join_phase(step: Step, _subject: object) -> None:
    if step.existing.state is PREPARING:
        check_join_complete(step, ends_delay=REMOVAL_ENDS_DELAY(step))


def _rebalance(step: Step, _subject: object) -> None:
    if step.existing.state is not PREPARING:
        maybe_prepare_rebalance(step)
    else:
        _end_join_phase(step, None)


# After a pending member id is removed (2.7 GroupCoordinator.scala:1163), and after a member
# leaves or expires (2.7 GroupCoordinator.scala:1147).
END_JOIN_PHASE: Final = Effect("end the join phase if every member has joined", _end_join_phase)
REBALANCE: Final = Effect(
    "prepare a rebalance, or end the join phase if every member has joined", _rebalance
)


PARTS: Final = (
    AWAITS_MEMBERS,
    AWAITS_PENDING,
    EMPTY_IS_DEAD,
    KEEPS_STATIC,
    REFUSES_WITH_GENERATION_0,
    PARK_JOIN,
    ADD_MEMBER,
    PREPARE,
    REMOVAL_ENDS_DELAY,
    DROP_ABSENT,
    JOINED_LEADER,
    COMPLETE_JOIN,
    ELECTS_AT_COMPLETION,
    SELECTS_ANY,
    ACCEPTS_ANY,
    DELAYS_EACH,
    NEVER_ENDS_EARLY,
    BEGINS_GENERATION_EARLY,
    RESTARTS_GENERATIONS,
    LEADER_LEFT,
    REMOVE_MEMBER,
    READS_SUBSCRIPTIONS,
)
