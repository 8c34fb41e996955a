"""How a group moves from state to state, and what keeps its members alive. No API belongs here.

    Empty --------> PreparingRebalance ---> CompletingRebalance ---> Stable
      ^                   |  ^   ^                  |                  |
      +---- nobody left --+  |   +------------------+                  |
                             +-----------------------------------------+

The caller (an API, a timer, a completed append) has checked the request; what is decided here
follows from the group alone. Answers to parked requests go to the outbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from groupcheck.implementation.config import Choose, Config
from groupcheck.implementation.group import Group, Member
from groupcheck.implementation.timers import Timer, Timers
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    JoinGroupResponse,
    Protocol,
    Request,
    Response,
    ResponseBody,
    SyncGroupResponse,
)

# A new member does not know its id yet and cannot send heartbeats, and a client that gave up
# waiting may join again as another: its JoinGroup must not be parked for ever.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000


class Rebalance:
    """The transitions of all groups, with the timers that drive them."""

    __slots__ = ("_choose", "_initial_delay_ms", "_outbox", "_timers")

    def __init__(
        self, config: Config, timers: Timers, choose: Choose, outbox: list[Response]
    ) -> None:
        self._initial_delay_ms = config.group_initial_rebalance_delay_ms
        self._timers = timers
        self._choose = choose
        self._outbox = outbox

    # Members

    def keep_alive(self, member: Member) -> None:
        """Start the member's session anew, unless it has none while it waits for an answer."""
        if member.expires:
            self._timers.set(member.session, member.session_timeout_ms)

    def add_pending_member(self, group: Group, member_id: str, session_timeout_ms: int) -> None:
        """Expect a member to join with this id; until it does, or is late, no join completes."""
        expire = partial(self.remove_pending_member, group, member_id)
        timer = Timer("pending", group.group_id, member_id, expire)
        group.pending_members[member_id] = timer
        self._timers.set(timer, session_timeout_ms)

    def remove_pending_member(self, group: Group, member_id: str) -> None:
        """Expect that member no longer."""
        self._timers.cancel(group.pending_members.pop(member_id))
        self.maybe_complete_join(group)

    def add_member(
        self, group: Group, member_id: str, request: Request, body: JoinGroupRequest
    ) -> None:
        """Add a member and park the JoinGroup it came with."""
        if group.state is GroupState.PREPARING_REBALANCE and group.generation_id == 0:
            group.new_member_added = True
        expire = partial(self._expire_session, group, member_id)
        session = Timer("session", group.group_id, member_id, expire)
        group.add(Member(member_id, request, body, session), body.protocol_type)
        self._timers.set(session, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._timers.cancel(group.pending_members.pop(member_id, None))
        self._maybe_prepare(group)

    def update_member(
        self, group: Group, member: Member, protocols: tuple[Protocol, ...], request_id: int
    ) -> None:
        """Take the protocols of a member that joins again and park its JoinGroup."""
        group.park_join(member, protocols, request_id)
        if not member.expires:
            self._timers.cancel(member.session)
        self._maybe_prepare(group)

    def remove_member(self, group: Group, member: Member) -> None:
        """Remove a member that leaves or whose session has ended.

        A parked JoinGroup is answered, so that a client that still waits joins again; a parked
        SyncGroup never is.
        """
        self._answer(group.unpark_join(member), JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
        self._timers.cancel(member.session)
        group.remove((member,), self._choose)
        if group.state is GroupState.PREPARING_REBALANCE:
            self.maybe_complete_join(group)
        else:
            self._prepare(group)

    def _expire_session(self, group: Group, member_id: str) -> None:
        self.remove_member(group, group.members[member_id])

    # The join phase

    def _maybe_prepare(self, group: Group) -> None:
        if group.state is not GroupState.PREPARING_REBALANCE:
            self._prepare(group)

    def _prepare(self, group: Group) -> None:
        """Begin a rebalance: whoever waits for an assignment joins again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._answer_syncs(group, {}, ErrorCode.REBALANCE_IN_PROGRESS)
        group.in_initial_delay = group.state is GroupState.EMPTY
        group.state = GroupState.PREPARING_REBALANCE
        timeout_ms = max((m.rebalance_timeout_ms for m in group.members.values()), default=0)
        timeout_ms = max(timeout_ms, 0)
        if group.in_initial_delay:
            delay_ms = self._initial_delay_ms
            self._start_initial_delay(group, delay_ms, max(timeout_ms - delay_ms, 0))
        else:
            complete = partial(self._complete_join, group)
            group.join_timer = Timer("join", group.group_id, "", complete)
            self._timers.set(group.join_timer, timeout_ms)
            self.maybe_complete_join(group)

    def _start_initial_delay(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        end = partial(self._end_initial_delay, group, delay_ms, remaining_ms)
        group.join_timer = Timer("join", group.group_id, "", end)
        self._timers.set(group.join_timer, delay_ms)

    def _end_initial_delay(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        """Complete the join, or wait once more if somebody new came and time is left."""
        if group.new_member_added and remaining_ms:
            group.new_member_added = False
            next_delay_ms = min(self._initial_delay_ms, remaining_ms)
            self._start_initial_delay(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
        else:
            self._complete_join(group)

    def maybe_complete_join(self, group: Group) -> None:
        """Complete the join phase, if the group is in it, as soon as everybody has joined."""
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and group.all_joined
            and not group.in_initial_delay
        ):
            self._complete_join(group)

    def _complete_join(self, group: Group) -> None:
        """Begin the next generation with those that have joined; the others are out."""
        self._timers.cancel(group.join_timer)
        group.join_timer = None
        group.in_initial_delay = False
        if group.awaiting_join < len(group.members):
            late = [m for m in group.members.values() if m.join_request_id is None]
            for member in late:
                self._timers.cancel(member.session)
            group.remove(late, self._choose)
        group.generation_id += 1
        if group.members:
            group.protocol_name = group.select_protocol(self._choose)
            group.state = GroupState.COMPLETING_REBALANCE
            self._answer_joins(group)
        else:
            group.protocol_name = None
            group.state = GroupState.EMPTY

    def _answer_joins(self, group: Group) -> None:
        for member in group.members.values():
            self._answer(group.unpark_join(member), self.joined(group, member))
            member.is_new = False
            self.keep_alive(member)

    @staticmethod
    def joined(group: Group, member: Member) -> JoinGroupResponse:
        """What a member of the current generation is told; the leader is told all members."""
        is_leader = member.member_id == group.leader_id
        return JoinGroupResponse(
            ErrorCode.NONE,
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=group.leader_id or "",
            member_id=member.member_id,
            members=group.joined_members() if is_leader else (),
        )

    # The sync phase

    def park_sync(self, member: Member, request_id: int) -> None:
        """Park a member's SyncGroup until the leader's assignment is stored."""
        member.sync_request_id = request_id
        self._timers.cancel(member.session)

    def complete_sync(
        self, group: Group, generation_id: int, assignments: Mapping[str, bytes]
    ) -> None:
        """Hand out the leader's assignment, now stored; members it does not name get none."""
        # While the append was under way another rebalance may have begun, or the leader may have
        # sent its SyncGroup again and the first append have done it all.
        if group.state is GroupState.COMPLETING_REBALANCE and group.generation_id == generation_id:
            self._answer_syncs(group, assignments, ErrorCode.NONE)
            group.state = GroupState.STABLE

    def _answer_syncs(
        self, group: Group, assignments: Mapping[str, bytes], error: ErrorCode
    ) -> None:
        is_good = error is ErrorCode.NONE
        protocol_type = group.protocol_type if is_good else None
        protocol_name = group.protocol_name if is_good else None
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            request_id, member.sync_request_id = member.sync_request_id, None
            answer = SyncGroupResponse(error, protocol_type, protocol_name, member.assignment)
            if self._answer(request_id, answer):
                self.keep_alive(member)

    def _answer(self, request_id: int | None, body: ResponseBody) -> bool:
        """Answer a parked request; False if there is none."""
        if request_id is None:
            return False
        self._outbox.append(Response(request_id, body))
        return True
