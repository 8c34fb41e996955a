"""JoinGroup: who is refused, who is given an id, and who is let in. The rebalance is elsewhere.

The order of the checks is Kafka's, since it decides which of several errors is answered.
"""

from __future__ import annotations

from functools import partial

from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.storing import new_group_record
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import (
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
)

# The version from which a client is given an id before it becomes a member (KIP-394).
ID_REQUIRED_SINCE = 4


class JoinApi:
    """JoinGroup; answered at once, or when the rebalance it takes part in completes."""

    __slots__ = (
        "_config",
        "_gate",
        "_groups",
        "_membership",
        "_rebalance",
        "_shared",
        "_static_members",
        "_traits",
    )

    def __init__(
        self,
        shared: Shared,
        gate: Gate,
        rebalance: Rebalance,
        membership: Membership,
        static_members: StaticMembers,
    ) -> None:
        self._shared = shared
        self._config = shared.config
        self._groups = shared.groups.by_id
        self._traits = shared.traits
        self._gate = gate
        self._rebalance = rebalance
        self._membership = membership
        self._static_members = static_members

    def join(self, request: Request, body: JoinGroupRequest) -> JoinGroupResponse | None:
        """Let a member join; None if the answer comes later."""
        group = self._groups.get(body.group_id)
        refusal = self._refused_at_the_gate(body, group)
        if refusal is not None:
            return refusal
        if group is not None:
            return self._park(group, request, self._join(group, request, body))
        if body.member_id != NO_MEMBER_ID:
            return refused(ErrorCode.UNKNOWN_MEMBER_ID, body.member_id)
        # The group is there from now on, even if the join is refused below.
        group = self._shared.create(body.group_id)
        answer = self._join(group, request, body)
        if self._traits.new_groups_are_written:
            self._write_new(group, None if answer else request.request_id)
        return self._park(group, request, answer)

    def _park(
        self, group: Group, request: Request, answer: JoinGroupResponse | None
    ) -> JoinGroupResponse | None:
        """Let a request that waits for its group learn if the partition is lost."""
        waiting, outbox = self._shared.waiting, self._shared.outbox
        if waiting.queues and answer is None:
            request_id = request.request_id
            if all(response.request_id != request_id for response in outbox):
                waiting.park(group.partition, request_id, JoinGroupResponse)
        return answer

    def _refused_at_the_gate(
        self, body: JoinGroupRequest, group: Group | None
    ) -> JoinGroupResponse | None:
        """What it is refused with before the group is looked at; None if it is not."""
        if not body.group_id:
            return refused(ErrorCode.INVALID_GROUP_ID, body.member_id)
        lowest_ms = self._config.group_min_session_timeout_ms
        highest_ms = self._config.group_max_session_timeout_ms
        in_range = lowest_ms <= body.session_timeout_ms <= highest_ms
        unserved = ErrorCode.NONE if group else self._gate.unserved(body.group_id)
        if unserved and (in_range or not self._traits.session_first):
            nameless = self._traits.gate_forgets_member
            return refused(unserved, NO_MEMBER_ID if nameless else body.member_id)
        if not in_range:
            return refused(ErrorCode.INVALID_SESSION_TIMEOUT, body.member_id)
        return None

    def _write_new(self, group: Group, request_id: int | None) -> None:
        """Write that there is such a group; who waits is told if that fails."""
        batch = Batch((new_group_record(group),))
        self._shared.append(group.partition, batch, partial(self._told_new, group, request_id))

    def _told_new(self, group: Group, request_id: int | None, error: ErrorCode) -> None:
        if error and request_id is not None:
            for member in group.members.values():
                group.unpark_join(member)
            answer = refused(self._traits.group_errors.get(error, error), NO_MEMBER_ID)
            self._shared.answer(request_id, answer)

    def _join(
        self, group: Group, request: Request, body: JoinGroupRequest
    ) -> JoinGroupResponse | None:
        if not self._has_room(group, body.member_id):
            self._turn_away(group, body)
            answer: JoinGroupResponse | None = refused(
                ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID
            )
        elif not group.supports(body.protocol_type, body.protocols):
            answer = refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, body.member_id)
        elif body.member_id == NO_MEMBER_ID:
            answer = self._join_unknown(group, request, body)
        else:
            answer = self._join_known(group, request, body)
        if self._traits.refused_joins_complete:
            self._rebalance.maybe_complete(group)
        return answer

    def _has_room(self, group: Group, member_id: str) -> bool:
        """Whether the group, limited in size, has room for a member, or for one that it has."""
        limit = self._config.group_max_size
        if group.state is GroupState.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            if member is not None and member.join_request_id is not None:
                return True
            return group.awaiting_join < limit
        return member is not None or len(group.members) < limit

    def _turn_away(self, group: Group, body: JoinGroupRequest) -> None:
        """Forget whoever finds the group full."""
        member = group.members.get(body.member_id)
        keeps = self._traits.turned_away_keeps_pending
        if member is not None:
            group.remove((member,), self._shared.choose, keep_instances=keeps)
        if not keeps:
            self._membership.expect_no_more(group, body.member_id)
        elif body.group_instance_id is not None:
            group.statics.pop(body.group_instance_id, None)

    def _join_unknown(
        self, group: Group, request: Request, body: JoinGroupRequest
    ) -> JoinGroupResponse | None:
        """Make a member id, and a member of it unless the client can be asked to come back."""
        instance_id = body.group_instance_id
        member_id = self._shared.new_member_id(instance_id or request.client_id)
        if instance_id is not None and instance_id in group.statics:
            self._static_members.come_back(group, member_id, request, body)
            return None
        if instance_id is None and request.api_version >= ID_REQUIRED_SINCE:
            self._membership.expect(group, member_id, body.session_timeout_ms)
            return refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        self._membership.add(group, member_id, request, body)
        return None

    def _join_known(
        self, group: Group, request: Request, body: JoinGroupRequest
    ) -> JoinGroupResponse | None:
        """Let a member join again, or join at last."""
        member_id = body.member_id
        if member_id in group.pending_members and member_id not in group.members:
            if body.group_instance_id is not None:
                return refused(ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID)
            self._membership.add(group, member_id, request, body)
            return None
        error = self._static_members.mistaken(group, member_id, body.group_instance_id, strict=True)
        if error:
            return refused(error, member_id)
        member = group.members[member_id]
        if self._is_repeated(group, member, body):
            return self._rebalance.joined(group, member)
        self._membership.update(group, member, body, request.request_id)
        self._rebalance.prepare_or_complete(group)
        return None

    @staticmethod
    def _is_repeated(group: Group, member: Member, body: JoinGroupRequest) -> bool:
        """Whether the member may only have missed its answer: it gets it again.

        From the leader of a stable group it means that assignments are to be made anew.
        """
        if group.state is GroupState.PREPARING_REBALANCE or member.protocols != body.protocols:
            return False
        is_stable = group.state is GroupState.STABLE
        return not (is_stable and member.member_id == group.leader_id)


def refused(error: ErrorCode, member_id: str) -> JoinGroupResponse:
    """A JoinGroup that does not come to a generation."""
    return JoinGroupResponse(error, member_id=member_id)
