"""Heartbeat: by far the most frequent request, so nothing here depends on any size."""

from __future__ import annotations

from typing import Final

from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.static_members import StaticMembers
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


class HeartbeatApi:
    """Heartbeat."""

    __slots__ = ("_gate", "_groups", "_keep_alive", "_queues", "_static_members", "_waiting")

    def __init__(self, shared: Shared, gate: Gate, static_members: StaticMembers) -> None:
        self._groups = shared.groups.by_id
        self._keep_alive = shared.keep_alive
        self._waiting = shared.waiting
        self._queues = shared.waiting.queues
        self._gate = gate
        self._static_members = static_members

    def heartbeat(self, request: Request, body: HeartbeatRequest) -> ResponseBody | None:
        """Keep a member alive, and tell it whether to join again."""
        group_id, generation_id, member_id, instance_id = body
        group = self._groups.get(group_id)
        if group is None or not group_id:
            return self._unknown(group_id)
        member = group.members.get(member_id)
        if member is None or instance_id is not None:
            error = self._static_members.mistaken(group, member_id, instance_id)
            if error or member is None:
                return HeartbeatResponse(error)
        if generation_id != group.generation_id:
            return _OTHER_GENERATION
        self._keep_alive(member)
        answer = _REBALANCING if group.state is GroupState.PREPARING_REBALANCE else _ALIVE
        return self._waiting.answer(group.partition, request, answer) if self._queues else answer

    def _unknown(self, group_id: str) -> HeartbeatResponse:
        if not group_id:
            return _NO_GROUP_ID
        error = self._gate.unserved(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # Nothing is known of anybody yet, and nobody is to be worried.
            return _ALIVE
        return HeartbeatResponse(error or ErrorCode.UNKNOWN_MEMBER_ID)
