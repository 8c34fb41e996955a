"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: which requests are refused, which acted upon.

The order of the checks is Kafka's, since it decides which of several errors is answered. What
acting upon a request does to the group is `rebalance`'s business.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from groupcheck.implementation.appends import Appends
from groupcheck.implementation.config import Config, NewMemberId
from groupcheck.implementation.group import Group
from groupcheck.implementation.rebalance import Rebalance
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)

_ALIVE: Final = HeartbeatResponse(ErrorCode.NONE)
_REBALANCING: Final = HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
_UNKNOWN: Final = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
_OTHER_GENERATION: Final = HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)
_NO_GROUP_ID: Final = HeartbeatResponse(ErrorCode.INVALID_GROUP_ID)


class MembershipApis:
    """The APIs of group members; each returns its answer, or None if that comes later."""

    __slots__ = ("_appends", "_config", "_groups", "_new_member_id", "_rebalance")

    def __init__(
        self,
        config: Config,
        groups: dict[str, Group],
        rebalance: Rebalance,
        appends: Appends,
        new_member_id: NewMemberId,
    ) -> None:
        self._config = config
        self._groups = groups
        self._rebalance = rebalance
        self._appends = appends
        self._new_member_id = new_member_id

    def join(self, request: Request, body: JoinGroupRequest) -> JoinGroupResponse | None:
        """JoinGroup; answered when the rebalance it starts or takes part in completes."""
        config = self._config
        member_id = body.member_id
        if not body.group_id:
            return _refused(ErrorCode.INVALID_GROUP_ID, member_id)
        if not (
            config.group_min_session_timeout_ms
            <= body.session_timeout_ms
            <= config.group_max_session_timeout_ms
        ):
            return _refused(ErrorCode.INVALID_SESSION_TIMEOUT, member_id)
        group = self._groups.get(body.group_id)
        if group is None:
            if member_id != NO_MEMBER_ID:
                return _refused(ErrorCode.UNKNOWN_MEMBER_ID, member_id)
            # The group is there from now on, even if the join is refused below.
            group = self._groups[body.group_id] = Group(body.group_id)
        if not group.supports(body.protocol_type, body.protocols):
            return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
        if member_id == NO_MEMBER_ID:
            answer = self._join_unknown(group, request, body)
        else:
            answer = self._join_known(group, request, body)
        self._rebalance.maybe_complete_join(group)
        return answer

    def _join_unknown(
        self, group: Group, request: Request, body: JoinGroupRequest
    ) -> JoinGroupResponse | None:
        """Make a member id, and a member of it unless the client can be asked to come back."""
        member_id = self._new_member_id(request.client_id)
        if request.api_version >= 4:
            self._rebalance.add_pending_member(group, member_id, body.session_timeout_ms)
            return _refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        self._rebalance.add_member(group, member_id, request, body)
        return None

    def _join_known(
        self, group: Group, request: Request, body: JoinGroupRequest
    ) -> JoinGroupResponse | None:
        """Let a member join again, or join at last."""
        member_id = body.member_id
        if member_id in group.pending_members:
            self._rebalance.add_member(group, member_id, request, body)
            return None
        member = group.members.get(member_id)
        if member is None:
            return _refused(ErrorCode.UNKNOWN_MEMBER_ID, member_id)
        # With nothing changed the member may only have missed its answer: it gets it again. But
        # from the leader of a stable group it means that assignments are to be made anew.
        is_repeated = member.protocols == body.protocols and (
            group.state is GroupState.COMPLETING_REBALANCE
            or (group.state is GroupState.STABLE and member_id != group.leader_id)
        )
        if is_repeated:
            return self._rebalance.joined(group, member)
        self._rebalance.update_member(group, member, body.protocols, request.request_id)
        return None

    def sync(self, request: Request, body: SyncGroupRequest) -> SyncGroupResponse | None:
        """SyncGroup; answered when the leader's assignment has been stored."""
        error = self._check_sync(request, body)
        if error:
            return SyncGroupResponse(error)
        group = self._groups[body.group_id]
        member = group.members[body.member_id]
        if group.state is GroupState.STABLE:
            self._rebalance.keep_alive(member)
            return SyncGroupResponse(
                ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment
            )
        self._rebalance.park_sync(member, request.request_id)
        if body.member_id == group.leader_id:
            assignments = dict(body.assignments)
            self._appends.append(
                partial(self._rebalance.complete_sync, group, group.generation_id, assignments)
            )
        return None

    def _check_sync(self, request: Request, body: SyncGroupRequest) -> ErrorCode:
        if request.api_version >= 5 and None in (body.protocol_type, body.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not body.group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._groups.get(body.group_id)
        if group is None or body.member_id not in group.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if body.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        is_same_type = body.protocol_type in (None, group.protocol_type)
        if not is_same_type or body.protocol_name not in (None, group.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        is_preparing = group.state is GroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE

    def heartbeat(self, _request: Request, body: HeartbeatRequest) -> HeartbeatResponse:
        """Heartbeat: by far the most frequent request, so nothing here depends on the size."""
        group = self._groups.get(body.group_id)
        if group is None:
            return _UNKNOWN if body.group_id else _NO_GROUP_ID
        member = group.members.get(body.member_id)
        if member is None:
            return _UNKNOWN if body.group_id else _NO_GROUP_ID
        if body.generation_id != group.generation_id:
            return _OTHER_GENERATION
        self._rebalance.keep_alive(member)
        return _REBALANCING if group.state is GroupState.PREPARING_REBALANCE else _ALIVE

    def leave(self, _request: Request, body: LeaveGroupRequest) -> LeaveGroupResponse:
        """LeaveGroup: each member named leaves before the next one is looked at."""
        if not body.group_id:
            return LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        return LeaveGroupResponse(
            ErrorCode.NONE,
            tuple(
                MemberResponse(
                    member_id,
                    group_instance_id,
                    ErrorCode.UNKNOWN_MEMBER_ID if group is None else self._leave(group, member_id),
                )
                for member_id, group_instance_id in body.members
            ),
        )

    def _leave(self, group: Group, member_id: str) -> ErrorCode:
        if member_id in group.pending_members:
            self._rebalance.remove_pending_member(group, member_id)
        elif member_id in group.members:
            self._rebalance.remove_member(group, group.members[member_id])
        else:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE


def _refused(error: ErrorCode, member_id: str) -> JoinGroupResponse:
    return JoinGroupResponse(error, member_id=member_id)
