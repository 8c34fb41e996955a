"""SyncGroup: the leader's assignments are stored, then told. The join phase is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from groupcheck.implementation.core.assignments import hand_out
from groupcheck.implementation.core.gate import Gate, lacks_protocol
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.storing import group_record
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)


class SyncApi:
    """SyncGroup; answered at once, or when the leader's assignments have been stored."""

    __slots__ = ("_gate", "_groups", "_rebalance", "_shared", "_static_members", "_traits")

    def __init__(
        self, shared: Shared, gate: Gate, rebalance: Rebalance, static_members: StaticMembers
    ) -> None:
        self._shared = shared
        self._groups = shared.groups.by_id
        self._traits = shared.traits
        self._gate = gate
        self._rebalance = rebalance
        self._static_members = static_members

    def sync(self, request: Request, body: SyncGroupRequest) -> SyncGroupResponse | None:
        """Tell a member its assignment; None if the answer comes later."""
        if lacks_protocol(request, body):
            return SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not body.group_id:
            return SyncGroupResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            return SyncGroupResponse(self._unknown(body.group_id))
        error = self._refusal(group, body)
        if error:
            return SyncGroupResponse(error)
        member = group.members[body.member_id]
        if self._traits.syncs_expire:
            self._has_synced(group, body.member_id)
        if group.state is GroupState.STABLE:
            if self._traits.sync_keeps_alive:
                self._shared.keep_alive(member)
            return SyncGroupResponse(
                ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment
            )
        member.sync_request_id = request.request_id
        if body.member_id == group.leader_id:
            self._store(group, dict(body.assignments))
        if member.sync_request_id == request.request_id:
            self._shared.waiting.park(group.partition, request.request_id, SyncGroupResponse)
        return None

    def _unknown(self, group_id: str) -> ErrorCode:
        error = self._gate.unserved(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return self._traits.sync_while_loading
        return error or ErrorCode.UNKNOWN_MEMBER_ID

    def _refusal(self, group: Group, body: SyncGroupRequest) -> ErrorCode:
        strict = self._traits.sync_compares_known
        if strict and group.state is GroupState.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self._static_members.mistaken(group, body.member_id, body.group_instance_id)
        if error:
            return error
        if body.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        for said, known in (
            (body.protocol_type, group.protocol_type),
            (body.protocol_name, group.protocol_name),
        ):
            if said not in {None, known} and not (strict and known is None):
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        is_preparing = group.state is GroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE

    def _has_synced(self, group: Group, member_id: str) -> None:
        group.unsynced.discard(member_id)
        if not group.unsynced:
            self._shared.timers.cancel(group.sync_timer)

    def _store(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        generation_id = group.generation_id
        self._shared.append_and_wait(
            group.partition,
            Batch((group_record(group, assignments),)),
            partial(self._stored, group, generation_id, assignments),
            partial(self._lost, group, generation_id),
        )

    def _stored(
        self,
        group: Group,
        generation_id: int,
        assignments: Mapping[str, bytes],
        error: ErrorCode,
    ) -> None:
        """Hand out the leader's assignments, now stored; members it does not name get none."""
        if not _awaits(group, generation_id):
            return
        if error:
            hand_out(self._shared, group, {}, self._traits.group_errors.get(error, error))
            self._rebalance.prepare(group)
        else:
            hand_out(self._shared, group, assignments, ErrorCode.NONE)
            group.move(GroupState.STABLE, self._shared.timers.now_ms)

    def _lost(self, group: Group, generation_id: int, error: ErrorCode) -> None:
        """Tell the members that nothing comes of the leader's assignments, unless they were told.

        Who had synced before the leader, after something else was written, waits for that, too.
        """
        if _awaits(group, generation_id):
            told = {response.request_id for response in self._shared.outbox}
            for member in group.members.values():
                if member.sync_request_id in told:
                    member.sync_request_id = None
            hand_out(self._shared, group, {}, error)


def _awaits(group: Group, generation_id: int) -> bool:
    """Whether a group still waits for the assignments of a generation.

    While the append was under way another rebalance may have begun, or the leader may have sent its
    SyncGroup again and the first append have done it all.
    """
    is_completing = group.state is GroupState.COMPLETING_REBALANCE
    return is_completing and group.generation_id == generation_id
