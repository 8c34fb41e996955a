"""JoinGroup: checks, member ids, new and rejoining members.

The checks are in Kafka's order, which decides the error code.
"""

from __future__ import annotations

from functools import partial

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.handler import Handler
from groupcheck.implementation.core.log_records import new_group_record
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.log.records import Batch
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request

# The first version that returns MEMBER_ID_REQUIRED to a new member (KIP-394).
ID_REQUIRED_SINCE = 4


class JoinApi(Handler):
    """JoinGroup; answered at once, or when the join phase completes."""

    __slots__ = ()

    def join(
        self, request: Request, body: kafka.JoinGroupRequest
    ) -> kafka.JoinGroupResponse | None:
        """Handle JoinGroup; None if the response comes later."""
        group = self._groups.get(body.group_id)
        error = self._precondition_error(body, group)
        if error is not None:
            return error
        if group is not None:
            return self._park(group, request, self._join(group, request, body))
        if body.member_id != kafka.NO_MEMBER_ID:
            return join_error(ErrorCode.UNKNOWN_MEMBER_ID, body.member_id)
        # The group exists from now on, even if the join fails below.
        group = self._shared.create(body.group_id)
        answer = self._join(group, request, body)
        if self._behaviour.join_appends_group:
            self._append_new_group(group, None if answer else request.request_id)
        return self._park(group, request, answer)

    def _park(
        self, group: Group, request: Request, answer: kafka.JoinGroupResponse | None
    ) -> kafka.JoinGroupResponse | None:
        """Answer the request if the partition fails while it is parked."""
        outbox = self._shared.outbox
        if self._deferred.queues and answer is None:
            request_id = request.request_id
            if all(response.request_id != request_id for response in outbox):
                self._deferred.park(group.partition, request_id, kafka.JoinGroupResponse)
        return answer

    def _precondition_error(
        self, body: kafka.JoinGroupRequest, group: Group | None
    ) -> kafka.JoinGroupResponse | None:
        """The error response of the checks that need no group; None if they pass."""
        if not body.group_id:
            return join_error(ErrorCode.INVALID_GROUP_ID, body.member_id)
        lowest_ms = self._config.group_min_session_timeout_ms
        highest_ms = self._config.group_max_session_timeout_ms
        in_range = lowest_ms <= body.session_timeout_ms <= highest_ms
        partition_error = (
            ErrorCode.NONE if group else self._preconditions.partition_error(body.group_id)
        )
        if partition_error and (in_range or not self._behaviour.session_timeout_before_partition):
            drops_id = self._behaviour.partition_error_drops_member_id
            return join_error(partition_error, kafka.NO_MEMBER_ID if drops_id else body.member_id)
        if not in_range:
            return join_error(ErrorCode.INVALID_SESSION_TIMEOUT, body.member_id)
        return None

    def _append_new_group(self, group: Group, request_id: int | None) -> None:
        """Append the record of a new group; if that fails, answer the parked request."""
        batch = Batch((new_group_record(group),))
        self._shared.append(
            group.partition, batch, partial(self._new_group_appended, group, request_id)
        )

    def _new_group_appended(self, group: Group, request_id: int | None, error: ErrorCode) -> None:
        if error and request_id is not None:
            for member in group.members.values():
                group.unpark_join(member)
            answer = join_error(self._behaviour.group_error(error), kafka.NO_MEMBER_ID)
            self._shared.answer(request_id, answer)

    def _join(
        self, group: Group, request: Request, body: kafka.JoinGroupRequest
    ) -> kafka.JoinGroupResponse | None:
        if not self._accepts_member(group, body.member_id):
            self._reject_max_size(group, body)
            answer: kafka.JoinGroupResponse | None = join_error(
                ErrorCode.GROUP_MAX_SIZE_REACHED, kafka.NO_MEMBER_ID
            )
        elif not group.supports(body.protocol_type, body.protocols):
            answer = join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, body.member_id)
        elif body.member_id == kafka.NO_MEMBER_ID:
            answer = self._join_unknown(group, request, body)
        else:
            answer = self._join_known(group, request, body)
        if self._behaviour.failed_join_completes_phase:
            self._rebalance.maybe_complete(group)
        return answer

    def _accepts_member(self, group: Group, member_id: str) -> bool:
        """Whether group.max.size permits the member."""
        limit = self._config.group_max_size
        if group.state is GroupState.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            if member is not None and member.join_request_id is not None:
                return True
            return group.awaiting_join < limit
        return member is not None or len(group.members) < limit

    def _reject_max_size(self, group: Group, body: kafka.JoinGroupRequest) -> None:
        """Remove the member that exceeds group.max.size."""
        member = group.members.get(body.member_id)
        keeps_pending_id = self._behaviour.full_group_keeps_pending_id
        if member is not None:
            group.remove((member,), self._shared.choose, keep_instances=keeps_pending_id)
        if not keeps_pending_id:
            self._membership.remove_pending(group, body.member_id)
        elif body.group_instance_id is not None:
            group.static_members.pop(body.group_instance_id, None)

    def _join_unknown(
        self, group: Group, request: Request, body: kafka.JoinGroupRequest
    ) -> kafka.JoinGroupResponse | None:
        """Make a member id; add a member unless the client has to send the id first."""
        instance_id = body.group_instance_id
        member_id = self._shared.new_member_id(instance_id or request.client_id)
        if instance_id is not None and instance_id in group.static_members:
            self._static_members.replace(group, member_id, request, body)
            return None
        if instance_id is None and request.api_version >= ID_REQUIRED_SINCE:
            self._membership.add_pending(group, member_id, body.session_timeout_ms)
            return join_error(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        self._membership.add(group, member_id, request, body)
        return None

    def _join_known(
        self, group: Group, request: Request, body: kafka.JoinGroupRequest
    ) -> kafka.JoinGroupResponse | None:
        """Let a member rejoin, or a pending member join."""
        member_id = body.member_id
        if member_id in group.pending_members and member_id not in group.members:
            if body.group_instance_id is not None:
                return join_error(ErrorCode.UNKNOWN_SERVER_ERROR, kafka.NO_MEMBER_ID)
            self._membership.add(group, member_id, request, body)
            return None
        error = self._static_members.validate_member(
            group, member_id, body.group_instance_id, strict=True
        )
        if error:
            return join_error(error, member_id)
        member = group.members[member_id]
        if self._is_repeated(group, member, body):
            return self._rebalance.join_response(group, member)
        self._membership.update(group, member, body, request.request_id)
        self._rebalance.prepare_or_complete(group)
        return None

    @staticmethod
    def _is_repeated(group: Group, member: Member, body: kafka.JoinGroupRequest) -> bool:
        """Whether the request repeats one whose response may have been lost.

        The leader of a stable group rejoins to have assignments computed again.
        """
        if group.state is GroupState.PREPARING_REBALANCE or member.protocols != body.protocols:
            return False
        is_stable = group.state is GroupState.STABLE
        return not (is_stable and member.member_id == group.leader_id)


def join_error(error: ErrorCode, member_id: str) -> kafka.JoinGroupResponse:
    """A JoinGroup response with an error."""
    return kafka.JoinGroupResponse(error, member_id=member_id)
