"""Adds, updates and removes members, with the effect on the group's rebalance."""

from __future__ import annotations

from groupcheck.implementation.core.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member, Pending
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Component, Shared
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request


class Membership(Component):
    """The members of all groups, and their sessions."""

    __slots__ = ("_rebalance",)

    def __init__(self, shared: Shared, rebalance: Rebalance) -> None:
        super().__init__(shared)
        self._rebalance = rebalance

    # Pending ids

    def add_pending(self, group: Group, member_id: str, session_timeout_ms: int) -> None:
        """Add a pending id: the join phase waits until it joins or expires."""
        pending = group.pending_members[member_id] = Pending(group, member_id)
        self._timers.set(pending, session_timeout_ms)

    def remove_pending(self, group: Group, member_id: str) -> bool:
        """Drop a pending id; False if it is not pending."""
        pending = group.pending_members.pop(member_id, None)
        self._timers.cancel(pending)
        return pending is not None

    def expire_pending(self, pending: Pending) -> None:
        """Drop a pending id that has not joined in time."""
        group = pending.group
        if group.pending_members.pop(pending.member_id, None) and self._exists(group):
            self._complete_after_expiry(group)

    # Members

    def add(
        self, group: Group, member_id: str, request: Request, body: kafka.JoinGroupRequest
    ) -> None:
        """Add a member and park its first JoinGroup."""
        if group.state is GroupState.PREPARING_REBALANCE:
            every_delay = self._behaviour.every_initial_delay_extends
            extends = group.in_initial_delay if every_delay else group.generation_id == 0
            group.new_member_added |= extends
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
        self.remove_pending(group, member_id)
        self._rebalance.prepare_or_complete(group)

    def update(
        self, group: Group, member: Member, body: kafka.JoinGroupRequest, request_id: int
    ) -> None:
        """Update a rejoining member and park its JoinGroup."""
        group.update_protocols(member, body.protocols)
        if self._behaviour.rejoin_updates_timeouts:
            group.set_timeouts(member, body.session_timeout_ms, body.rebalance_timeout_ms)
        group.park_join(member, request_id)

    def remove(self, group: Group, member: Member) -> None:
        """Remove a member.

        A parked JoinGroup is answered, so that the client joins again. A parked SyncGroup is never
        answered.
        """
        self._shared.answer(
            group.unpark_join(member), kafka.JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
        )
        self._timers.cancel(member)
        group.remove((member,), self._choose)

    def expire_session(self, member: Member) -> None:
        """Remove a member whose session has expired, unless a parked request keeps it alive."""
        group = member.group
        if not (self._exists(group) and group.members.get(member.member_id) is member):
            return
        if member.expires:
            self.remove(group, member)
            if group.state is GroupState.PREPARING_REBALANCE:
                self._complete_after_expiry(group)
            else:
                self._rebalance.prepare(group)

    def _complete_after_expiry(self, group: Group) -> None:
        if self._behaviour.expiry_completes_initial_delay:
            self._rebalance.complete_if_all_joined(group)
        else:
            self._rebalance.maybe_complete(group)

    def _exists(self, group: Group) -> bool:
        """Whether the group has not been deleted, unloaded or rolled back."""
        return self._groups.get(group.group_id) is group
