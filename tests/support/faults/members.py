"""Past bugs of Kafka's in how members join, stay and go."""

from __future__ import annotations

from collections.abc import Hashable

from groupcheck.implementation.core.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.generations import HeartbeatApi
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.join import JoinApi
from groupcheck.implementation.core.member import GroupTimer, Member
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    Protocol,
    Request,
    ResponseBody,
)
from support.faults.fault import Faults, api, become, timers

MEMBERS = Faults()


class DropsEmptyGroups(Rebalance):
    __slots__ = ()

    def _begin_generation(self, group: Group) -> None:
        super()._begin_generation(group)
        if group.state is GroupState.EMPTY:
            group.state = GroupState.DEAD
            self._shared.groups.discard(group)


@MEMBERS.of("KAFKA-2720")
def _drops_empty_groups(coordinator: Coordinator) -> None:
    """Removing the last member removes the group with its offsets."""
    become(coordinator, coordinator._rebalance, DropsEmptyGroups)


class AcceptsAnyProtocols(Group):
    __slots__ = ()

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        is_first = self.state is GroupState.EMPTY
        return is_first or super().supports(protocol_type, protocols)


class CreatesLenientGroups(Groups):
    __slots__ = ()

    def add(self, group: Group) -> None:
        group.__class__ = AcceptsAnyProtocols
        super().add(group)


@MEMBERS.of("KAFKA-6005")
def _accepts_any_protocols(coordinator: Coordinator) -> None:
    """A JoinGroup without a protocol is accepted in an Empty group."""
    coordinator._shared.groups.__class__ = CreatesLenientGroups


class NeverExpiresNewMembers(Membership):
    __slots__ = ()

    def add(self, group: Group, member_id: str, request: Request, body: JoinGroupRequest) -> None:
        super().add(group, member_id, request, body)
        member = group.members.get(member_id)
        if member is not None and member.is_new:
            self._timers.cancel(member)


@MEMBERS.of("KAFKA-7610")
def _never_expires_new_members(coordinator: Coordinator) -> None:
    """The session of a waiting new member does not expire during the rebalance."""
    become(coordinator, _membership(coordinator), NeverExpiresNewMembers)


class AdmitsPendingMembers(JoinApi):
    __slots__ = ()

    def _accepts_member(self, group: Group, member_id: str) -> bool:
        return member_id in group.pending_members or super()._accepts_member(group, member_id)


@MEMBERS.of("KAFKA-9885")
def _admits_pending_members(coordinator: Coordinator) -> None:
    """A pending member may join a group that has reached group.max.size."""
    become(coordinator, api(coordinator, JoinGroupRequest), AdmitsPendingMembers)


class KeepsSessionsOfRemovedMembers(Membership):
    __slots__ = ()

    def remove(self, group: Group, member: Member) -> None:
        self._shared.answer(
            group.unpark_join(member), JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
        )
        group.remove((member,), self._choose)

    def expire_session(self, member: Member) -> None:
        super().expire_session(member.group.members[member.member_id])


def _sessions_of_removed_members(coordinator: Coordinator) -> Hashable:
    left = (
        (left_ms, timer)
        for left_ms, timer in timers(coordinator)
        if isinstance(timer, Member) and timer.group.members.get(timer.member_id) is not timer
    )
    return tuple(sorted(left_ms for left_ms, _ in left))


@MEMBERS.of("KAFKA-8896", hidden=_sessions_of_removed_members)
def _keeps_sessions_of_removed_members(coordinator: Coordinator) -> None:
    """The session timer of a removed member fires, and its member is missing."""
    become(coordinator, _membership(coordinator), KeepsSessionsOfRemovedMembers)


class FirstTimer(GroupTimer):
    __slots__ = ("member",)

    def __init__(self, member: Member) -> None:
        super().__init__(member.group)
        self.member = member


class KeepsNewMemberTimer(Membership):
    __slots__ = ()

    def add(self, group: Group, member_id: str, request: Request, body: JoinGroupRequest) -> None:
        super().add(group, member_id, request, body)
        member = group.members.get(member_id)
        if member is not None and request.api_version <= 3:
            self._timers.set(FirstTimer(member), NEW_MEMBER_JOIN_TIMEOUT_MS)

    def expire_new(self, timer: FirstTimer) -> None:
        timer.member.is_new = True
        self.expire_session(timer.member)


def _first_timers(coordinator: Coordinator) -> Hashable:
    running = (pair for pair in timers(coordinator) if isinstance(pair[1], FirstTimer))
    return tuple(sorted(left_ms for left_ms, _ in running))


@MEMBERS.of("KAFKA-9232", hidden=_first_timers)
def _keeps_new_member_timer(coordinator: Coordinator) -> None:
    """A member that joined without a pending id is removed after 5 minutes."""
    membership = _membership(coordinator)
    become(coordinator, membership, KeepsNewMemberTimer)
    assert isinstance(membership, KeepsNewMemberTimer)
    coordinator._timeouts[FirstTimer] = membership.expire_new


class RebalancesInCompleting(HeartbeatApi):
    __slots__ = ()

    def heartbeat(self, request: Request, body: HeartbeatRequest) -> ResponseBody | None:
        answer = super().heartbeat(request, body)
        group = self._groups.get(body.group_id)
        completing = group is not None and group.state is GroupState.COMPLETING_REBALANCE
        if completing and answer == HeartbeatResponse(ErrorCode.NONE):
            return HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
        return answer


@MEMBERS.of("KAFKA-10134")
def _rebalances_in_completing(coordinator: Coordinator) -> None:
    """A heartbeat in CompletingRebalance returns REBALANCE_IN_PROGRESS."""
    become(coordinator, api(coordinator, HeartbeatRequest), RebalancesInCompleting)


class HasNoSyncTimeout(Rebalance):
    __slots__ = ()

    def _answer_joins(self, group: Group) -> None:
        super()._answer_joins(group)
        self.stop_waiting_for_syncs(group)


@MEMBERS.of("KAFKA-12890", "4.1")
def _has_no_sync_timeout(coordinator: Coordinator) -> None:
    """A leader that sends heartbeats but no SyncGroup blocks the group forever."""
    become(coordinator, coordinator._rebalance, HasNoSyncTimeout)


def _membership(coordinator: Coordinator) -> Membership:
    part: Membership = coordinator._timeouts[Member].__self__  # type: ignore[attr-defined]
    return part
