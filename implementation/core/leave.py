"""LeaveGroup: members leave by member id or by group.instance.id."""

from __future__ import annotations

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.handler import Handler
from groupcheck.implementation.core.shared import UnexpectedError
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request, ResponseBody


class LeaveApi(Handler):
    """LeaveGroup."""

    __slots__ = ()

    def leave(self, request: Request, body: kafka.LeaveGroupRequest) -> ResponseBody | None:
        """Remove the members that the request names.

        Raises:
            UnexpectedError: Kafka throws for a member named in this way.
        """
        if not body.group_id:
            return kafka.LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._preconditions.partition_error(body.group_id)
            unknown = [ErrorCode.UNKNOWN_MEMBER_ID] * len(body.members)
            return kafka.LeaveGroupResponse(error, () if error else _responses(body, unknown))
        if self._behaviour.leaves_one_by_one:
            errors = [self._leave_one(group, identity) for identity in body.members]
            return kafka.LeaveGroupResponse(ErrorCode.NONE, _responses(body, errors))
        error, errors = self._leave_batch(group, body)
        if error:
            return kafka.LeaveGroupResponse(error)
        answer = kafka.LeaveGroupResponse(ErrorCode.NONE, _responses(body, errors))
        return self._deferred.answer(group.partition, request, answer)

    # One by one

    def _leave_one(self, group: Group, identity: kafka.MemberIdentity) -> ErrorCode:
        member_id, instance_id = identity
        registered = None if instance_id is None else group.static_members.get(instance_id)
        if registered is not None and member_id not in {kafka.NO_MEMBER_ID, registered}:
            return ErrorCode.FENCED_INSTANCE_ID
        if member_id in group.pending_members and member_id not in group.members:
            if instance_id is not None:
                raise UnexpectedError
            self._membership.remove_pending(group, member_id)
            self._rebalance.maybe_complete(group)
            return ErrorCode.NONE
        if registered is None and member_id not in group.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        # An unknown group.instance.id is ignored.
        member = group.members.get(registered or member_id)
        if member is None:
            raise UnexpectedError
        self._membership.remove(group, member)
        self._rebalance.prepare_or_complete(group)
        return ErrorCode.NONE

    # As a batch

    def _leave_batch(
        self, group: Group, body: kafka.LeaveGroupRequest
    ) -> tuple[ErrorCode, list[ErrorCode]]:
        """The error of the append, and the errors of the members."""
        append_error = ErrorCode.NONE
        errors = [self._remove_member(group, identity) for identity in body.members]
        if ErrorCode.NONE in errors and group.state is not GroupState.EMPTY:
            self._rebalance.append_error = ErrorCode.NONE
            self._rebalance.prepare_or_complete(group)
            append_error = self._rebalance.append_error
        return self._behaviour.group_error(append_error), errors

    def _remove_member(self, group: Group, identity: kafka.MemberIdentity) -> ErrorCode:
        """Remove one member, without a rebalance."""
        member_id, instance_id = identity
        if member_id == kafka.NO_MEMBER_ID:
            member_id = group.static_members.get(instance_id or "", kafka.NO_MEMBER_ID)
        elif self._membership.remove_pending(group, member_id):
            return ErrorCode.NONE
        error = self._static_members.validate_member(group, member_id, instance_id)
        if not error:
            self._membership.remove(group, group.members[member_id])
        return error


def _responses(
    body: kafka.LeaveGroupRequest, errors: list[ErrorCode]
) -> tuple[kafka.MemberResponse, ...]:
    return tuple(
        kafka.MemberResponse(*identity, error)
        for identity, error in zip(body.members, errors, strict=True)
    )
