"""How a group comes to its next generation: the join phase. No API belongs here.

    Empty --------> PreparingRebalance ---> CompletingRebalance ---> Stable
      ^                   |  ^   ^                  |                  |
      +---- nobody left --+  |   +------------------+                  |
                             +-----------------------------------------+

The caller (an API, a timer, a completed append) has checked the request; what is decided here
follows from the group alone. Answers to parked requests go to the outbox.
"""

from __future__ import annotations

from groupcheck.implementation.core.assignments import hand_out
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import JoinTimer, Member, SyncTimer
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.storing import group_record
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode, GroupState, JoinGroupResponse


class Rebalance:
    """The join phases of all groups, with the timers that end them."""

    __slots__ = ("_choose", "_shared", "_timers", "_traits", "write_error")

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._timers = shared.timers
        self._traits = shared.traits
        self._choose = shared.choose
        # How the last record of a group that has become Empty was written.
        self.write_error = ErrorCode.NONE

    # Its beginning

    def prepare_or_complete(self, group: Group) -> None:
        """Begin a rebalance, or see whether the one under way has waited for this."""
        if group.state is GroupState.PREPARING_REBALANCE:
            self.maybe_complete(group)
        else:
            self.prepare(group)

    def prepare(self, group: Group) -> None:
        """Begin a rebalance: whoever waits for an assignment joins again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            hand_out(self._shared, group, {}, ErrorCode.REBALANCE_IN_PROGRESS)
        self.stop_waiting_for_syncs(group)
        group.in_initial_delay = group.state is GroupState.EMPTY
        group.move(GroupState.PREPARING_REBALANCE, self._timers.now_ms)
        if group.in_initial_delay:
            delay_ms = self._shared.config.group_initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            self._delay(_join_timer(group), delay_ms, remaining_ms)
        elif group.all_joined:
            self.complete(group)
        else:
            self._wait_for_all(group)

    def _wait_for_all(self, group: Group, least_ms: int = 0) -> None:
        timer = _join_timer(group)
        timer.is_delay = False
        self._timers.set(timer, max(group.rebalance_timeout_ms, least_ms))

    def _delay(self, timer: JoinTimer, round_ms: int, remaining_ms: int) -> None:
        timer.is_delay, timer.round_ms, timer.remaining_ms = True, round_ms, remaining_ms
        self._timers.set(timer, round_ms)

    def expire(self, timer: JoinTimer) -> None:
        """The time to join is over: complete the join phase, or prolong the initial delay.

        It is prolonged if somebody new came and time is left.
        """
        group = timer.group
        if self._shared.groups.by_id.get(group.group_id) is not group:
            return
        if timer.is_delay and group.new_member_added and timer.remaining_ms:
            group.new_member_added = False
            delay_ms = self._shared.config.group_initial_rebalance_delay_ms
            remaining_ms = timer.remaining_ms
            left_ms = max(remaining_ms - timer.round_ms, 0)
            self._delay(timer, min(delay_ms, remaining_ms), left_ms)
        else:
            self.complete(group)

    # Its end

    def maybe_complete(self, group: Group) -> None:
        """Complete the join phase, if the group is in it, as soon as everybody has joined."""
        if not group.in_initial_delay:
            self.complete_if_all_joined(group)

    def complete_if_all_joined(self, group: Group) -> None:
        """The same, be it in the initial delay or not."""
        if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            self.complete(group)

    def complete(self, group: Group) -> None:
        """Begin the next generation with those that have joined; of the others dynamic ones go."""
        self._timers.cancel(group.join_timer)
        if group.awaiting_join < len(group.members):
            late = [
                member
                for member in group.members.values()
                if member.join_request_id is None and not member.counts_as_static
            ]
            for member in late:
                self._timers.cancel(member)
            group.remove(late, self._choose)
        if group.members and not group.elect_joined(self._choose):
            # Only static members are left, of whom nobody has joined: they are waited for.
            group.in_initial_delay &= self._traits.removal_ends_delay
            self._wait_for_all(group, least_ms=1)  # with 0 nothing else would ever come to pass
        else:
            self._begin_generation(group)

    def _begin_generation(self, group: Group) -> None:
        group.generation_id += 1
        group.protocol_name = group.select_protocol(self._choose) if group.members else None
        group.subscribe()
        group.in_initial_delay = False
        group.unsynced.clear()
        if group.members:
            group.move(GroupState.COMPLETING_REBALANCE, self._timers.now_ms)
            self._answer_joins(group)
        else:
            group.move(GroupState.EMPTY, self._timers.now_ms)
            batch = Batch((group_record(group, {}),))
            self._shared.append(group.partition, batch, self._note_write)

    def _note_write(self, error: ErrorCode) -> None:
        self.write_error = error

    def _answer_joins(self, group: Group) -> None:
        for member in group.members.values():
            self._shared.answer(group.unpark_join(member), self.joined(group, member))
            member.is_new = False
            self._shared.keep_alive(member)
        if self._traits.syncs_expire:
            group.unsynced.update(group.members)
            timer = group.sync_timer = group.sync_timer or SyncTimer(group)
            timer.generation_id = group.generation_id
            self._timers.set(timer, group.rebalance_timeout_ms)

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
            members=group.listed_members() if is_leader else (),
        )

    # The time to sync

    def stop_waiting_for_syncs(self, group: Group) -> None:
        """Expect no SyncGroup of this generation any more."""
        group.unsynced.clear()
        self._timers.cancel(group.sync_timer)

    def expire_syncs(self, timer: SyncTimer) -> None:
        """The time to sync is over: who has not done so is out."""
        group = timer.group
        if (
            self._shared.groups.by_id.get(group.group_id) is not group
            or timer.generation_id != group.generation_id
            or group.state not in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
            or not group.unsynced
        ):
            return
        late = [group.members[name] for name in tuple(group.unsynced) if name in group.members]
        for member in late:
            self._timers.cancel(member)
        group.remove(late, self._choose)
        self.prepare(group)


def _join_timer(group: Group) -> JoinTimer:
    if group.join_timer is None:
        group.join_timer = JoinTimer(group)
    return group.join_timer
