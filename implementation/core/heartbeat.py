"""Heartbeat, the most frequent request: constant time, whatever the size of the group."""

from __future__ import annotations

from typing import Final

from groupcheck.implementation.core.handler import Handler, Parts
from groupcheck.implementation.core.shared import Shared
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    Request,
    ResponseBody,
)

_ALIVE: Final = HeartbeatResponse(ErrorCode.NONE)
_REBALANCING: Final = HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
_OTHER_GENERATION: Final = HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)
_NO_GROUP_ID: Final = HeartbeatResponse(ErrorCode.INVALID_GROUP_ID)


class HeartbeatApi(Handler):
    """Heartbeat."""

    __slots__ = ("_keep_alive", "_queues")

    def __init__(self, shared: Shared, parts: Parts) -> None:
        super().__init__(shared, parts)
        # Attributes of its own, because every heartbeat uses them.
        self._keep_alive = shared.keep_alive
        self._queues = shared.deferred.queues

    def heartbeat(self, request: Request, body: HeartbeatRequest) -> ResponseBody | None:
        """Restart a member's session, and return REBALANCE_IN_PROGRESS if it has to rejoin."""
        group_id, generation_id, member_id, instance_id = body
        group = self._groups.get(group_id)
        if group is None or not group_id:
            return self._unknown(group_id)
        member = group.members.get(member_id)
        if member is None or instance_id is not None:
            error = self._static_members.validate_member(group, member_id, instance_id)
            if error or member is None:
                return HeartbeatResponse(error)
        if generation_id != group.generation_id:
            return _OTHER_GENERATION
        self._keep_alive(member)
        answer = _REBALANCING if group.state is GroupState.PREPARING_REBALANCE else _ALIVE
        return self._deferred.answer(group.partition, request, answer) if self._queues else answer

    def _unknown(self, group_id: str) -> HeartbeatResponse:
        if not group_id:
            return _NO_GROUP_ID
        error = self._preconditions.partition_error(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The members are not known yet, and the clients need not rejoin.
            return _ALIVE
        return HeartbeatResponse(error or ErrorCode.UNKNOWN_MEMBER_ID)
