"""LeaveGroup: members leave by their ids or by their group.instance.ids."""

from __future__ import annotations

from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Shared, UnexpectedError
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    Request,
    ResponseBody,
)


class LeaveApi:
    """LeaveGroup."""

    __slots__ = (
        "_gate",
        "_groups",
        "_membership",
        "_rebalance",
        "_static_members",
        "_traits",
        "_waiting",
    )

    def __init__(
        self,
        shared: Shared,
        gate: Gate,
        rebalance: Rebalance,
        membership: Membership,
        static_members: StaticMembers,
    ) -> None:
        self._groups = shared.groups.by_id
        self._waiting = shared.waiting
        self._traits = shared.traits
        self._gate = gate
        self._rebalance = rebalance
        self._membership = membership
        self._static_members = static_members

    def leave(self, request: Request, body: LeaveGroupRequest) -> ResponseBody | None:
        """Let the members that are named leave.

        Raises:
            UnexpectedError: one of them is named as Kafka does not expect it.
        """
        if not body.group_id:
            return LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._gate.unserved(body.group_id)
            unknown = [ErrorCode.UNKNOWN_MEMBER_ID] * len(body.members)
            return LeaveGroupResponse(error, () if error else _each(body, unknown))
        if self._traits.leaves_at_once:
            errors = [self._leave_at_once(group, identity) for identity in body.members]
            return LeaveGroupResponse(ErrorCode.NONE, _each(body, errors))
        error, errors = self._leave_together(group, body)
        if error:
            return LeaveGroupResponse(error)
        answer = LeaveGroupResponse(ErrorCode.NONE, _each(body, errors))
        return self._waiting.answer(group.partition, request, answer)

    # One after the other

    def _leave_at_once(self, group: Group, identity: MemberIdentity) -> ErrorCode:
        member_id, instance_id = identity
        registered = None if instance_id is None else group.statics.get(instance_id)
        if registered is not None and member_id not in {NO_MEMBER_ID, registered}:
            return ErrorCode.FENCED_INSTANCE_ID
        if member_id in group.pending_members and member_id not in group.members:
            if instance_id is not None:
                raise UnexpectedError
            self._membership.expect_no_more(group, member_id)
            self._rebalance.maybe_complete(group)
            return ErrorCode.NONE
        if registered is None and member_id not in group.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        # A group.instance.id that nobody has is not looked at.
        member = group.members.get(registered or member_id)
        if member is None:
            raise UnexpectedError
        self._membership.remove(group, member)
        self._rebalance.prepare_or_complete(group)
        return ErrorCode.NONE

    # All together

    def _leave_together(
        self, group: Group, body: LeaveGroupRequest
    ) -> tuple[ErrorCode, list[ErrorCode]]:
        """Why it cannot be stored, if so, and what each is told if it can."""
        failed = ErrorCode.NONE
        errors = [self._leave_alone(group, identity) for identity in body.members]
        if ErrorCode.NONE in errors and group.state is not GroupState.EMPTY:
            self._rebalance.write_error = ErrorCode.NONE
            self._rebalance.prepare_or_complete(group)
            failed = self._rebalance.write_error
        return self._traits.group_errors.get(failed, failed), errors

    def _leave_alone(self, group: Group, identity: MemberIdentity) -> ErrorCode:
        """Let one member go, and nothing else."""
        member_id, instance_id = identity
        if member_id == NO_MEMBER_ID:
            member_id = group.statics.get(instance_id or "", NO_MEMBER_ID)
        elif self._membership.expect_no_more(group, member_id):
            return ErrorCode.NONE
        error = self._static_members.mistaken(group, member_id, instance_id)
        if not error:
            self._membership.remove(group, group.members[member_id])
        return error


def _each(body: LeaveGroupRequest, errors: list[ErrorCode]) -> tuple[MemberResponse, ...]:
    return tuple(
        MemberResponse(*identity, error)
        for identity, error in zip(body.members, errors, strict=True)
    )
