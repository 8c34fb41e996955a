"""Members come and go: what that does to their group. Which request may do it is not said here."""

from __future__ import annotations

from groupcheck.implementation.core.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member, Pending
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Shared
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
)


class Membership:
    """Who is in each group, and their sessions."""

    __slots__ = ("_choose", "_rebalance", "_shared", "_timers", "_traits")

    def __init__(self, shared: Shared, rebalance: Rebalance) -> None:
        self._shared = shared
        self._rebalance = rebalance
        self._timers = shared.timers
        self._traits = shared.traits
        self._choose = shared.choose

    # Ids that were given out

    def expect(self, group: Group, member_id: str, session_timeout_ms: int) -> None:
        """Expect a member to join with this id; until it does, or is late, no join completes."""
        pending = group.pending_members[member_id] = Pending(group, member_id)
        self._timers.set(pending, session_timeout_ms)

    def expect_no_more(self, group: Group, member_id: str) -> bool:
        """Expect that member no longer; False if it was not expected."""
        pending = group.pending_members.pop(member_id, None)
        self._timers.cancel(pending)
        return pending is not None

    def expire_pending(self, pending: Pending) -> None:
        """A member that was given an id has not come."""
        group = pending.group
        if group.pending_members.pop(pending.member_id, None) and self._is_there(group):
            self._complete_after_expiry(group)

    # Members

    def add(self, group: Group, member_id: str, request: Request, body: JoinGroupRequest) -> None:
        """Add a member and park the JoinGroup that it came with."""
        if group.state is GroupState.PREPARING_REBALANCE and (
            group.in_initial_delay if self._traits.delays_grow_always else group.generation_id == 0
        ):
            group.new_member_added = True
        member = Member(
            group,
            member_id,
            body.group_instance_id,
            request.client_id,
            request.client_host,
            body.rebalance_timeout_ms,
            body.session_timeout_ms,
            body.protocols,
        )
        member.is_new = True
        group.add(member, body.protocol_type)
        group.park_join(member, request.request_id)
        self._timers.set(member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.expect_no_more(group, member_id)
        self._rebalance.prepare_or_complete(group)

    def update(self, group: Group, member: Member, body: JoinGroupRequest, request_id: int) -> None:
        """Take what a member that joins again offers now, and park its JoinGroup."""
        group.offer(member, body.protocols)
        if self._traits.rejoin_sets_timeouts:
            group.set_timeouts(member, body.session_timeout_ms, body.rebalance_timeout_ms)
        group.park_join(member, request_id)

    def remove(self, group: Group, member: Member) -> None:
        """Remove a member.

        A parked JoinGroup is answered, so that a client that still waits joins again; a parked
        SyncGroup never is.
        """
        self._shared.answer(
            group.unpark_join(member), JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
        )
        self._timers.cancel(member)
        group.remove((member,), self._choose)

    def expire_session(self, member: Member) -> None:
        """A member was not heard of in time; one that waits for an answer need not be heard."""
        group = member.group
        if not (self._is_there(group) and group.members.get(member.member_id) is member):
            return
        if member.expires:
            self.remove(group, member)
            if group.state is GroupState.PREPARING_REBALANCE:
                self._complete_after_expiry(group)
            else:
                self._rebalance.prepare(group)

    def _complete_after_expiry(self, group: Group) -> None:
        if self._traits.removal_ends_delay:
            self._rebalance.complete_if_all_joined(group)
        else:
            self._rebalance.maybe_complete(group)

    def _is_there(self, group: Group) -> bool:
        """Whether it is not deleted, unloaded or undone meanwhile."""
        return self._shared.groups.by_id.get(group.group_id) is group
