"""Past bugs of Kafka in how members join, stay and leave, then of static members.

More faults, for tests that need some fault, were in no release of Kafka.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from groupcheck.implementation.core.config import NEW_MEMBER_JOIN_TIMEOUT_MS, Choose
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.generations import HeartbeatApi
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.join import JoinApi
from groupcheck.implementation.core.member import GroupTimer, Member, Pending
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.profiles import NEVER_SINCE
from groupcheck.implementation.core.rebalance import Rebalance, _join_timer
from groupcheck.implementation.core.static_members import Replacement, StaticMembers
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    Protocol,
    Request,
    Response,
    ResponseBody,
)
from support.faults.fault import Faults, api_of, become, groups_of, part_of, stored, timers

MEMBERS, MADE_UP = Faults(), Faults()


@MEMBERS.of("KAFKA-2720", "membership")
class DropsEmptyGroups(Rebalance):
    """Removing the last member removes the group with its offsets."""

    __slots__ = ()

    def _begin_generation(self, group: Group) -> None:
        super()._begin_generation(group)
        if group.state is GroupState.EMPTY:
            group.state = GroupState.DEAD
            self._shared.groups.discard(group)


@MEMBERS.of("KAFKA-6005", "metadata")
class AcceptsAnyProtocols(Group):
    """A JoinGroup without a protocol is accepted in an Empty group."""

    __slots__ = ()

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        is_first = self.state is GroupState.EMPTY
        return is_first or super().supports(protocol_type, protocols)


@MEMBERS.of("KAFKA-7610", "membership")
class NeverExpiresNewMembers(Membership):
    """The session of a waiting new member does not expire during the rebalance."""

    __slots__ = ()

    def add(
        self, group: Group, member_id: str, request: Request, body: kafka.JoinGroupRequest
    ) -> None:
        super().add(group, member_id, request, body)
        member = group.members.get(member_id)
        if member is not None and member.is_new:
            self._timers.cancel(member)


@MEMBERS.of("KAFKA-9885", "crowded")
class AdmitsPendingMembers(JoinApi):
    """A pending member may join a group that has reached group.max.size."""

    __slots__ = ()

    def _accepts_member(self, group: Group, member_id: str) -> bool:
        return member_id in group.pending_members or super()._accepts_member(group, member_id)


def _sessions_of_removed_members(coordinator: Coordinator) -> Hashable:
    left = (
        (left_ms, timer)
        for left_ms, timer in timers(coordinator)
        if isinstance(timer, Member) and timer.group.members.get(timer.member_id) is not timer
    )
    return tuple(sorted(left_ms for left_ms, _ in left))


@MEMBERS.of("KAFKA-8896", "reload", hidden=_sessions_of_removed_members)
class KeepsSessionsOfRemovedMembers(Membership):
    """The session timer of a removed member fires, and its member is missing."""

    __slots__ = ()

    def remove(self, group: Group, member: Member) -> None:
        self._shared.answer(
            group.unpark_join(member), kafka.JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
        )
        group.remove((member,), self._choose)

    def expire_session(self, member: Member) -> None:
        super().expire_session(member.group.members[member.member_id])


@MEMBERS.of("KAFKA-7909", "membership")
class IgnoresLatePendingIds(Membership):
    """A join phase continues after the pending id that it still waited for has expired."""

    __slots__ = ()

    def expire_pending(self, pending: Pending) -> None:
        pending.group.pending_members.pop(pending.member_id, None)


class FirstTimer(GroupTimer):
    __slots__ = ("member",)

    def __init__(self, member: Member) -> None:
        super().__init__(member.group)
        self.member = member


class KeepsNewMemberTimer(Membership):
    __slots__ = ()

    def add(
        self, group: Group, member_id: str, request: Request, body: kafka.JoinGroupRequest
    ) -> None:
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


@MEMBERS.of("KAFKA-9232", "membership", hidden=_first_timers)
def _keeps_new_member_timer(coordinator: Coordinator) -> None:
    """A member that joined without a pending id is removed after 5 minutes."""
    coordinator._timeouts[FirstTimer] = become(coordinator, KeepsNewMemberTimer).expire_new


@MEMBERS.of("KAFKA-10134", "metadata")
class RebalancesInCompleting(HeartbeatApi):
    """A heartbeat in CompletingRebalance returns REBALANCE_IN_PROGRESS."""

    __slots__ = ()

    def heartbeat(self, request: Request, body: kafka.HeartbeatRequest) -> ResponseBody | None:
        answer = super().heartbeat(request, body)
        group = self._groups.get(body.group_id)
        completing = group is not None and group.state is GroupState.COMPLETING_REBALANCE
        if completing and answer == kafka.HeartbeatResponse(ErrorCode.NONE):
            return kafka.HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
        return answer


@MEMBERS.of("KAFKA-2877", "failing-static")
def _returns_timeouts(coordinator: Coordinator) -> None:
    """A SyncGroup whose append times out returns REQUEST_TIMED_OUT, which no client expects."""
    sync = api_of(coordinator, kafka.SyncGroupRequest)
    errors = dict(sync._behaviour.group_append_errors)
    del errors[ErrorCode.REQUEST_TIMED_OUT]
    sync._behaviour = sync._behaviour._replace(group_append_errors=errors)


@MEMBERS.of("KAFKA-14009", "metadata", "4.1")
def _keeps_timeouts(coordinator: Coordinator) -> None:
    """A member that rejoins with other timeouts keeps those that it had."""
    membership = part_of(coordinator, Membership)
    membership._behaviour = membership._behaviour._replace(rejoin_updates_timeouts=False)


@MEMBERS.of("KAFKA-12890", "reload", "4.1")
class HasNoSyncTimeout(Rebalance):
    """A leader that sends heartbeats but no SyncGroup blocks the group forever."""

    __slots__ = ()

    def _answer_joins(self, group: Group) -> None:
        super()._answer_joins(group)
        self.stop_waiting_for_syncs(group)


@MEMBERS.of("KAFKA-8220", "static")
class RemovesStaticMembers(Rebalance):
    """The rebalance timeout removes a static member whose session has not expired."""

    __slots__ = ()

    def complete(self, group: Group) -> None:
        for member in group.members.values():
            member.counts_as_static = False
        super().complete(group)


@MEMBERS.of("KAFKA-8715", "failing-static")
def _makes_ids_of_the_time(coordinator: Coordinator) -> None:
    """The new id of a restarted static member may equal its old one."""
    shared = coordinator._shared
    random = shared.new_member_id
    join = coordinator._handlers[kafka.JoinGroupRequest]

    def stamped(body: kafka.JoinGroupRequest) -> str:
        group = shared.groups.by_id.get(body.group_id)
        since_ms = shared.timers.now_ms if group is None else group.state_since_ms
        return f"{body.group_instance_id}-{since_ms}"

    def join_with_stamp(request: Request, body: kafka.JoinGroupRequest) -> ResponseBody | None:
        static = body.group_instance_id is not None
        shared.new_member_id = (lambda _prefix: stamped(body)) if static else random
        return join(request, body)

    coordinator._handlers[kafka.JoinGroupRequest] = join_with_stamp


@MEMBERS.of("KAFKA-10284", "failing-static", hidden=lambda copy: stored(copy)[-1:])
class DoesNotAppendNewIds(StaticMembers):
    """The new id of a restarted static member is not written to the log."""

    __slots__ = ()

    def _append(self, replacement: Replacement) -> None:
        self._appended(replacement)(ErrorCode.NONE)


@MEMBERS.of("KAFKA-13435", "failing-static", "4.1")
def _never_lists_members_to_the_leader(coordinator: Coordinator) -> None:
    """A restarted static leader gets no member list and cannot see what has changed."""
    statics = part_of(coordinator, StaticMembers)
    statics._behaviour = statics._behaviour._replace(skip_assignment_since=NEVER_SINCE)


@MADE_UP.of("a heartbeat from an old generation is accepted", "metadata")
class AcceptsOldHeartbeats(HeartbeatApi):
    """Heartbeat is answered with no error though its generation is over."""

    __slots__ = ()

    def heartbeat(self, request: Request, body: kafka.HeartbeatRequest) -> ResponseBody | None:
        group = self._groups.get(body.group_id)
        if group is not None and body.generation_id < group.generation_id:
            body = body._replace(generation_id=group.generation_id)
        return super().heartbeat(request, body)


@MADE_UP.of("the generation is not raised when the last member leaves", "metadata")
class KeepsGenerationWhenEmpty(Rebalance):
    """An Empty group has the generation of its last member."""

    __slots__ = ()

    def complete(self, group: Group) -> None:
        super().complete(group)
        if group.state is GroupState.EMPTY:
            group.generation_id -= 1


@MADE_UP.of("a follower is given the member list", "metadata")
class ListsMembersToFollowers(Rebalance):
    """Followers get the list of members, as the leader does."""

    __slots__ = ()

    @staticmethod
    def join_response(group: Group, member: Member) -> kafka.JoinGroupResponse:
        return Rebalance.join_response(group, member)._replace(members=group.listed_members())


@MADE_UP.of("a static member that rejoins keeps its member id", "static")
class KeepsIds(StaticMembers):
    """A static member that rejoins without its member id keeps it."""

    __slots__ = ()

    def replace(
        self, group: Group, new_id: str, request: Request, body: kafka.JoinGroupRequest
    ) -> None:
        kept = group.static_members.get(body.group_instance_id or "", new_id)
        super().replace(group, kept, request, body)


@MADE_UP.of("the leader selects the protocol", "voting")
class LedGroup(Group):
    """The first protocol of the leader that all members support is selected, without a vote."""

    __slots__ = ()

    def select_protocol(self, choose: Choose) -> str:  # noqa: ARG002 - it leaves no choice
        leader = self.members[self.leader_id or ""]
        return next(n for n, _ in leader.protocols if self.supporters[n] == len(self.members))


@MADE_UP.of("sessions never expire", "membership")
class KeepsSilentMembers(Membership):
    """A member that sends no heartbeats stays."""

    __slots__ = ()

    def expire_session(self, member: Member) -> None:
        """Do nothing."""


@MADE_UP.of("a member that expires causes no rebalance", "membership")
class ExpiresWithoutRebalance(Membership):
    """A member whose session expires is removed, and the others go on."""

    __slots__ = ()

    def expire_session(self, member: Member) -> None:
        group = member.group
        is_member = self._exists(group) and group.members.get(member.member_id) is member
        if is_member and member.expires:
            self.remove(group, member)


@MADE_UP.of("the join phase has no limit", "membership")
class WaitsForAllMembers(Rebalance):
    """Apart from the initial delay, the join phase ends only when every member has joined."""

    __slots__ = ()

    def _wait_for_all(self, group: Group, min_ms: int = 0) -> None:
        super()._wait_for_all(group, min_ms)
        self._timers.cancel(group.join_timer)


@MADE_UP.of("a heartbeat of another generation restarts the session", "membership")
class KeepsOldMembers(HeartbeatApi):
    """Any heartbeat of a member keeps its session alive."""

    __slots__ = ()

    def heartbeat(self, request: Request, body: kafka.HeartbeatRequest) -> ResponseBody | None:
        group = self._groups.get(body.group_id)
        member = group and group.members.get(body.member_id)
        if member:
            self._keep_alive(member)
        return super().heartbeat(request, body)


@MADE_UP.of("the generation begins with the join phase", "membership")
class BeginsGenerationsEarly(Rebalance):
    """The generation is incremented when a rebalance begins."""

    __slots__ = ()

    def prepare(self, group: Group) -> None:
        group.generation_id += 1
        super().prepare(group)

    def _begin_generation(self, group: Group) -> None:
        group.generation_id -= 1
        super()._begin_generation(group)


@MADE_UP.of("unknown members join", "membership")
class AdmitsUnknownIds(JoinApi):
    """A JoinGroup with an unknown member id adds a member with this id."""

    __slots__ = ()

    def join(
        self, request: Request, body: kafka.JoinGroupRequest
    ) -> kafka.JoinGroupResponse | None:
        is_missing = self._groups.get(body.group_id) is None
        if is_missing and body.member_id and self._precondition_error(body, None) is None:
            self._shared.create(body.group_id)
        return super().join(request, body)

    def _join_known(
        self, group: Group, request: Request, body: kafka.JoinGroupRequest
    ) -> kafka.JoinGroupResponse | None:
        if body.member_id in group.members or body.member_id in group.pending_members:
            return super()._join_known(group, request, body)
        self._membership.add(group, body.member_id, request, body)
        return None


@MADE_UP.of("the join phase never ends early", "metadata")
class NeverJoinedGroup(Group):
    """The join phase lasts its whole time, as if a member were missing."""

    __slots__ = ()

    @property
    def all_joined(self) -> bool:
        return False


@MADE_UP.of("protocols are not compared", "metadata")
class MixedGroup(Group):
    """Any protocols are accepted, and the one that most members offer is selected."""

    __slots__ = ()

    def supports(self, _protocol_type: str, _protocols: tuple[Protocol, ...]) -> bool:
        return True

    def select_protocol(self, _choose: Choose) -> str:
        return max(self.supporters, key=lambda name: self.supporters[name], default="")


class BeginsWithDelay(Rebalance):
    __slots__ = ()

    def _wait_for_all(self, group: Group, min_ms: int = 0) -> None:
        super()._wait_for_all(group, min_ms)
        delay_ms = self._config.group_initial_rebalance_delay_ms
        group.in_initial_delay = True
        self._delay(_join_timer(group), delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))


@MADE_UP.of("each join phase is delayed", "membership")
def _delays_each_join_phase(coordinator: Coordinator) -> None:
    """Every join phase begins with the initial delay, not only the first."""
    become(coordinator, groups_of(NeverJoinedGroup))
    become(coordinator, BeginsWithDelay)


@MADE_UP.of("rebalance timeouts are ignored", "membership")
class HastyGroup(Group):
    """The session timeout of a member is also its rebalance timeout."""

    __slots__ = ()

    def add(self, member: Member, protocol_type: str | None) -> None:
        member.rebalance_timeout_ms = member.session_timeout_ms
        super().add(member, protocol_type)


@MADE_UP.of("group.instance.ids are ignored", "static")
class IgnoresInstances(Coordinator):
    """Each member is a dynamic one."""

    __slots__ = ()

    def receive(self, request: Request) -> list[Response]:
        body: Any = request.body
        if isinstance(body, kafka.LeaveGroupRequest):
            members = tuple(each._replace(group_instance_id=None) for each in body.members)
            body = body._replace(members=members)
        elif hasattr(body, "group_instance_id"):
            body = body._replace(group_instance_id=None)
        return super().receive(request._replace(body=body))


@MADE_UP.of("require_stable is ignored", "loners")
class IgnoresRequireStable(Coordinator):
    """OffsetFetch never waits for a transaction."""

    __slots__ = ()

    def receive(self, request: Request) -> list[Response]:
        body = request.body
        if isinstance(body, kafka.OffsetFetchRequest):
            request = request._replace(body=body._replace(require_stable=False))
        return super().receive(request)


@MADE_UP.of("generations restart when a group is empty", "membership")
class RestartsGenerations(Rebalance):
    """A group that becomes Empty has generation 0 again."""

    __slots__ = ()

    def _begin_generation(self, group: Group) -> None:
        if not group.members:
            group.generation_id = -1
        super()._begin_generation(group)
