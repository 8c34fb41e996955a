"""Rebalances: the join phase, the next generation, the sync timeout.

    Empty --------> PreparingRebalance ---> CompletingRebalance ---> Stable
      ^                   |  ^   ^                  |                  |
      +-- no member left -+  |   +------------------+                  |
                             +-----------------------------------------+

The caller (an API, a timer, a completed append) has checked the request. Responses to parked
requests go to the outbox.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.log_records import group_record
from groupcheck.implementation.core.member import JoinTimer, Member, SyncTimer
from groupcheck.implementation.core.shared import Component, Shared
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode, GroupState, JoinGroupResponse, SyncGroupResponse


class Rebalance(Component):
    """The rebalances of all groups, with the timers that end their phases."""

    __slots__ = ("append_error",)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        # The result of the last append of a group that has become Empty.
        self.append_error = ErrorCode.NONE

    # The beginning

    def prepare_or_complete(self, group: Group) -> None:
        """Begin a rebalance, or complete the one in progress if all members have joined."""
        if group.state is GroupState.PREPARING_REBALANCE:
            self.maybe_complete(group)
        else:
            self.prepare(group)

    def prepare(self, group: Group) -> None:
        """Begin a rebalance: members that wait for an assignment have to rejoin."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.propagate_assignments(group, {}, ErrorCode.REBALANCE_IN_PROGRESS)
        self._timers.cancel(self._shared.groups.forgotten.pop(group.group_id, None))
        self.stop_waiting_for_syncs(group)
        group.in_initial_delay = group.state is GroupState.EMPTY
        group.transition_to(GroupState.PREPARING_REBALANCE, self._timers.now_ms)
        if group.in_initial_delay:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            self._delay(_join_timer(group), delay_ms, remaining_ms)
        elif group.all_joined:
            self.complete(group)
        else:
            self._wait_for_all(group)

    def _wait_for_all(self, group: Group, min_ms: int = 0) -> None:
        timer = _join_timer(group)
        timer.is_delay = False
        self._timers.set(timer, max(group.rebalance_timeout_ms, min_ms))

    def _delay(self, timer: JoinTimer, round_ms: int, remaining_ms: int) -> None:
        timer.is_delay, timer.round_ms, timer.remaining_ms = True, round_ms, remaining_ms
        self._timers.set(timer, round_ms)

    def expire(self, timer: JoinTimer) -> None:
        """End the join phase, or extend the initial delay.

        The delay is extended if a member has joined and time remains.
        """
        group = timer.group
        if self._groups.get(group.group_id) is not group:
            self._expire_forgotten(timer)
            return
        if timer.is_delay and group.new_member_added and timer.remaining_ms:
            group.new_member_added = False
            delay_ms = self._config.group_initial_rebalance_delay_ms
            remaining_ms = max(timer.remaining_ms - timer.round_ms, 0)
            self._delay(timer, min(delay_ms, timer.remaining_ms), remaining_ms)
        else:
            self.complete(group)

    def _expire_forgotten(self, timer: JoinTimer) -> None:
        """Kafka starts a generation of the later Empty group, and then throws."""
        group_id = timer.group.group_id
        if self._shared.groups.forgotten.get(group_id) is timer:
            del self._shared.groups.forgotten[group_id]
            if successor := self._groups.get(group_id):
                successor.generation_id += 1

    # The end

    def maybe_complete(self, group: Group) -> None:
        """Complete the join phase if all members have joined and there is no initial delay."""
        if not group.in_initial_delay:
            self.complete_if_all_joined(group)

    def complete_if_all_joined(self, group: Group) -> None:
        """Complete the join phase if all members have joined, also during the initial delay."""
        if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            self.complete(group)

    def complete(self, group: Group) -> None:
        """Begin the next generation without the dynamic members that have not joined."""
        self._timers.cancel(group.join_timer)
        if group.awaiting_join < len(group.members):
            late = [
                member
                for member in group.members.values()
                if member.join_request_id is None and not member.counts_as_static
            ]
            self._remove(group, late)
        if group.members and not group.elect_joined(self._choose):
            # Only static members remain, and none has joined: wait for them again.
            group.in_initial_delay &= self._behaviour.expiry_completes_initial_delay
            self._wait_for_all(group, min_ms=1)  # with 0 the timer would fire forever
        else:
            self._begin_generation(group)

    def _begin_generation(self, group: Group) -> None:
        group.generation_id += 1
        group.protocol_name = group.select_protocol(self._choose) if group.members else None
        group.subscribe()
        group.in_initial_delay = False
        group.unsynced.clear()
        if group.members:
            group.transition_to(GroupState.COMPLETING_REBALANCE, self._timers.now_ms)
            self._answer_joins(group)
        else:
            group.transition_to(GroupState.EMPTY, self._timers.now_ms)
            batch = Batch((group_record(group, {}),))
            self._shared.append(group.partition, batch, self._appended)

    def _appended(self, error: ErrorCode) -> None:
        self.append_error = error

    def _answer_joins(self, group: Group) -> None:
        for member in group.members.values():
            self._shared.answer(group.unpark_join(member), self.join_response(group, member))
            member.is_new = False
            self._shared.keep_alive(member)
        if self._behaviour.has_sync_timeout:
            group.unsynced.update(group.members)
            timer = group.sync_timer = group.sync_timer or SyncTimer(group)
            timer.generation_id = group.generation_id
            self._timers.set(timer, group.rebalance_timeout_ms)

    @staticmethod
    def join_response(group: Group, member: Member) -> JoinGroupResponse:
        """The response to a member of the generation; the leader's lists the members."""
        is_leader = member.member_id == group.leader_id
        return JoinGroupResponse(
            ErrorCode.NONE,
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=group.leader_id or "",
            member_id=member.member_id,
            members=group.listed_members() if is_leader else (),
        )

    # Assignments and the sync timeout

    def propagate_assignments(
        self, group: Group, assignments: Mapping[str, bytes], error: ErrorCode
    ) -> None:
        """Set the assignment of each member, empty if it has none, and answer parked SyncGroups."""
        protocol_type = None if error else group.protocol_type
        protocol_name = None if error else group.protocol_name
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            request_id, member.sync_request_id = member.sync_request_id, None
            answer = SyncGroupResponse(error, protocol_type, protocol_name, member.assignment)
            if self._shared.answer(request_id, answer):
                self._shared.keep_alive(member)

    def stop_waiting_for_syncs(self, group: Group) -> None:
        """Stop the timer of the sync phase."""
        group.unsynced.clear()
        self._timers.cancel(group.sync_timer)

    def expire_syncs(self, timer: SyncTimer) -> None:
        """Remove the members that have not synced in time, and begin a rebalance."""
        group = timer.group
        if (
            self._groups.get(group.group_id) is not group
            or timer.generation_id != group.generation_id
            or group.state not in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
            or not group.unsynced
        ):
            return
        late = [group.members[name] for name in tuple(group.unsynced) if name in group.members]
        self._remove(group, late)
        self.prepare(group)

    def _remove(self, group: Group, members: list[Member]) -> None:
        for member in members:
            self._timers.cancel(member)
        group.remove(members, self._choose)


def _join_timer(group: Group) -> JoinTimer:
    if group.join_timer is None:
        group.join_timer = JoinTimer(group)
    return group.join_timer
