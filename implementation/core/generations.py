"""SyncGroup and Heartbeat, which the members of a generation send.

The leader's assignments are persisted and then returned to the members. Heartbeat is the most
frequent request: it takes constant time, whatever the size of the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.handler import Components, Handler
from groupcheck.implementation.core.log_records import group_record
from groupcheck.implementation.core.preconditions import lacks_protocol
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.log.records import Batch
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request, ResponseBody


class SyncApi(Handler):
    """SyncGroup; answered at once, or when the leader's assignments are persisted."""

    __slots__ = ()

    def sync(
        self, request: Request, body: kafka.SyncGroupRequest
    ) -> kafka.SyncGroupResponse | None:
        """Return a member's assignment; None if the response comes later."""
        if lacks_protocol(request, body):
            return kafka.SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not body.group_id:
            return kafka.SyncGroupResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            return kafka.SyncGroupResponse(self._unknown(body.group_id))
        error = self._error(group, body)
        if error:
            return kafka.SyncGroupResponse(error)
        member = group.members[body.member_id]
        if self._behaviour.has_sync_timeout:
            self._has_synced(group, body.member_id)
        if group.state is GroupState.STABLE:
            if self._behaviour.stable_sync_restarts_session:
                self._shared.keep_alive(member)
            return kafka.SyncGroupResponse(
                ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment
            )
        member.sync_request_id = request.request_id
        if body.member_id == group.leader_id:
            self._append_assignments(group, dict(body.assignments))
        if member.sync_request_id == request.request_id:
            self._deferred.park(group.partition, request.request_id, kafka.SyncGroupResponse)
        return None

    def _unknown(self, group_id: str) -> ErrorCode:
        error = self._preconditions.partition_error(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return self._behaviour.sync_loading_error
        return error or ErrorCode.UNKNOWN_MEMBER_ID

    def _error(self, group: Group, body: kafka.SyncGroupRequest) -> ErrorCode:
        strict = self._behaviour.sync_checks_chosen_protocol_only
        if strict and group.state is GroupState.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self._static_members.validate_member(group, body.member_id, body.group_instance_id)
        if error:
            return error
        if body.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        for requested, current in (
            (body.protocol_type, group.protocol_type),
            (body.protocol_name, group.protocol_name),
        ):
            if requested not in {None, current} and not (strict and current is None):
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        is_preparing = group.state is GroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE

    def _has_synced(self, group: Group, member_id: str) -> None:
        group.unsynced.discard(member_id)
        if not group.unsynced:
            self._shared.timers.cancel(group.sync_timer)

    def _append_assignments(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        generation_id = group.generation_id
        self._shared.append_and_wait(
            group.partition,
            Batch((group_record(group, assignments),)),
            partial(self._appended, group, generation_id, assignments),
            partial(self._append_failed, group, generation_id),
        )

    def _appended(
        self, group: Group, generation_id: int, assignments: Mapping[str, bytes], error: ErrorCode
    ) -> None:
        """Propagate the leader's assignments, which are now persisted."""
        if not _awaits(group, generation_id):
            return
        if error:
            self._rebalance.propagate_assignments(group, {}, self._behaviour.group_error(error))
            self._rebalance.prepare(group)
        else:
            self._rebalance.propagate_assignments(group, assignments, ErrorCode.NONE)
            group.transition_to(GroupState.STABLE, self._shared.timers.now_ms)

    def _append_failed(self, group: Group, generation_id: int, error: ErrorCode) -> None:
        """Fail the parked SyncGroups after the append failed, except those answered meanwhile.

        A member that synced after an earlier append, but before the leader, waits for that append,
        too.
        """
        if _awaits(group, generation_id):
            answered = {response.request_id for response in self._shared.outbox}
            for member in group.members.values():
                if member.sync_request_id in answered:
                    member.sync_request_id = None
            self._rebalance.propagate_assignments(group, {}, error)


def _awaits(group: Group, generation_id: int) -> bool:
    """Whether a group still waits for the assignments of a generation.

    Meanwhile another rebalance may have begun, or the leader may have repeated its SyncGroup and
    the first append have completed.
    """
    is_completing = group.state is GroupState.COMPLETING_REBALANCE
    return is_completing and group.generation_id == generation_id


_ALIVE: Final = kafka.HeartbeatResponse(ErrorCode.NONE)
_REBALANCING: Final = kafka.HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
_OTHER_GENERATION: Final = kafka.HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)
_NO_GROUP_ID: Final = kafka.HeartbeatResponse(ErrorCode.INVALID_GROUP_ID)


class HeartbeatApi(Handler):
    """Heartbeat."""

    __slots__ = ("_keep_alive", "_queues")

    def __init__(self, shared: Shared, components: Components) -> None:
        super().__init__(shared, components)
        # Attributes of its own, because every heartbeat uses them.
        self._keep_alive = shared.keep_alive
        self._queues = shared.deferred.queues

    def heartbeat(self, request: Request, body: kafka.HeartbeatRequest) -> ResponseBody | None:
        """Restart a member's session, and return REBALANCE_IN_PROGRESS if it has to rejoin."""
        group_id, generation_id, member_id, instance_id = body
        group = self._groups.get(group_id)
        if group is None or not group_id:
            return self._unknown(group_id)
        member = group.members.get(member_id)
        if member is None or instance_id is not None:
            error = self._static_members.validate_member(group, member_id, instance_id)
            if error or member is None:
                return kafka.HeartbeatResponse(error)
        if generation_id != group.generation_id:
            return _OTHER_GENERATION
        self._keep_alive(member)
        answer = _REBALANCING if group.state is GroupState.PREPARING_REBALANCE else _ALIVE
        return self._deferred.answer(group.partition, request, answer) if self._queues else answer

    def _unknown(self, group_id: str) -> kafka.HeartbeatResponse:
        if not group_id:
            return _NO_GROUP_ID
        error = self._preconditions.partition_error(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The members are not known yet, and the clients need not rejoin.
            return _ALIVE
        return kafka.HeartbeatResponse(error or ErrorCode.UNKNOWN_MEMBER_ID)
