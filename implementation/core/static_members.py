"""Static members (KIP-345): whom a group.instance.id stands for, and how it comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Shared, UnexpectedError
from groupcheck.implementation.core.storing import group_record
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    JoinGroupResponse,
    Protocol,
    Request,
    SyncGroupResponse,
)


class Return(NamedTuple):
    """A static member that came back to a stable group, until that is stored."""

    group: Group
    member: Member
    old_id: str
    new_id: str
    leader_id: str | None  # who led when it came
    protocols: tuple[Protocol, ...]  # what is restored if it cannot be stored, and the timeouts
    session_timeout_ms: int
    rebalance_timeout_ms: int
    skips_assignment: bool


class StaticMembers:
    """What a group.instance.id in a request comes to."""

    __slots__ = ("_membership", "_rebalance", "_shared", "_traits")

    def __init__(self, shared: Shared, rebalance: Rebalance, membership: Membership) -> None:
        self._shared = shared
        self._traits = shared.traits
        self._rebalance = rebalance
        self._membership = membership

    def mistaken(
        self, group: Group, member_id: str, instance_id: str | None, *, strict: bool = False
    ) -> ErrorCode:
        """Why this is not a member that may say so; NONE if it is.

        A group.instance.id that stands for another member fences this one. That nobody has it is
        an error in some versions, or where it is to be looked at strictly.
        """
        if instance_id is not None:
            registered = group.statics.get(instance_id)
            if registered is None:
                if strict or self._traits.checks_instances:
                    return ErrorCode.UNKNOWN_MEMBER_ID
            elif registered != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID

    def come_back(
        self, group: Group, new_id: str, request: Request, body: JoinGroupRequest
    ) -> None:
        """Let the program with the group.instance.id take the place of the member it was.

        Raises:
            UnexpectedError: that member is gone, in one version, though its name is not.
        """
        old_id = group.statics[body.group_instance_id or ""]
        member = group.members.get(old_id)
        if member is None:
            raise UnexpectedError
        leader_id = group.leader_id
        self._replace(group, member, new_id)
        before = _offer_of(member)
        self._membership.update(group, member, body, request.request_id)
        # One version looks at what it would have to restore only once that has changed.
        known = before if self._traits.writes_are_undone else _offer_of(member)
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._rebalance.prepare(group)
        elif group.state is GroupState.STABLE and self._selects_the_same(group):
            skips = request.api_version >= self._traits.skips_assignment_since
            came = Return(group, member, old_id, new_id, leader_id, *known, skips)
            self._store(came)
        else:
            self._rebalance.prepare_or_complete(group)

    def _selects_the_same(self, group: Group) -> bool:
        return group.select_protocol(self._shared.choose) == group.protocol_name

    def _replace(self, group: Group, member: Member, new_id: str) -> None:
        """Give a member a new id; whoever waits under the old one is fenced."""
        old_id = member.member_id
        self._shared.answer(
            group.unpark_join(member),
            JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=old_id),
        )
        request_id, member.sync_request_id = member.sync_request_id, None
        self._shared.answer(request_id, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
        group.rename(member, new_id)
        if not self._traits.returned_stay_new:
            member.is_new = False
        self._shared.keep_alive(member)

    # Storing the new id

    def _store(self, came: Return) -> None:
        group = came.group
        assignments = {m.member_id: m.assignment for m in group.members.values()}
        completed = self._stored(came)
        batch = Batch((group_record(group, assignments),))
        self._shared.append_and_wait(
            group.partition, batch, completed, lambda error: self._tell_lost(came, error)
        )

    def _stored(self, came: Return) -> Callable[[ErrorCode], None]:
        def completed(error: ErrorCode) -> None:
            if error:
                self._undo(came, self._traits.group_errors.get(error, error))
            else:
                self._tell(came)

        return completed

    def _tell(self, came: Return) -> None:
        """Tell a static member its new id, now stored, if it has not been told or gone meanwhile.

        Whoever waits by now is told, which may be another request than the one that came.
        """
        group = came.group
        if not self._is_that(came):
            return
        leads = came.skips_assignment and group.leader_id == came.new_id
        if leads and group.state is GroupState.PREPARING_REBALANCE:
            # In between the members have not chosen what to be listed with, and Kafka throws.
            return
        self._shared.answer(group.unpark_join(came.member), self._came_back(came))

    def _is_that(self, came: Return) -> bool:
        """Whether it is the member that came back, and not one that has come back after it."""
        if not self._traits.returned_are_others:
            return True
        return came.group.members.get(came.new_id) is came.member

    def _tell_lost(self, came: Return, error: ErrorCode) -> None:
        """Tell a static member, if it waits, that nobody knows of its new id."""
        if self._is_that(came):
            self._shared.answer(came.group.unpark_join(came.member), _refusal(came, error))

    @staticmethod
    def _came_back(came: Return) -> JoinGroupResponse:
        group = came.group
        leads = came.skips_assignment and group.leader_id == came.new_id
        return JoinGroupResponse(
            ErrorCode.NONE,
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
            (group.leader_id if came.skips_assignment else came.leader_id) or "",
            came.new_id,
            group.listed_members() if leads else (),
            leads,
        )

    def _undo(self, came: Return, error: ErrorCode) -> None:
        """Give the member its old id back, unless that was given another meanwhile."""
        group, member = came.group, came.member
        if group.members.get(member.member_id) is not member:
            return
        group.offer(member, came.protocols)
        group.set_timeouts(member, came.session_timeout_ms, came.rebalance_timeout_ms)
        request_id = group.unpark_join(member)
        if member.member_id != came.new_id:
            return
        self._replace(group, member, came.old_id)
        self._shared.answer(request_id, _refusal(came, error))


def _refusal(came: Return, error: ErrorCode) -> JoinGroupResponse:
    group = came.group
    return JoinGroupResponse(
        error,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        came.leader_id or "",
    )


def _offer_of(member: Member) -> tuple[tuple[Protocol, ...], int, int]:
    return member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms
