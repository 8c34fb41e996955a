"""Static members (KIP-345): checks of a group.instance.id, and replacement of a member."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.log_records import group_record
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.shared import Component, Shared, UnexpectedError
from groupcheck.implementation.log.records import Batch
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request


class Replacement(NamedTuple):
    """A static member that is replaced in a stable group, until that is persisted."""

    group: Group
    member: Member
    old_id: str
    new_id: str
    leader_id: str | None  # the leader before the replacement
    protocols: tuple[kafka.Protocol, ...]  # restored if the append fails, with the timeouts
    session_timeout_ms: int
    rebalance_timeout_ms: int
    skips_assignment: bool


class StaticMembers(Component):
    """Static members of all groups."""

    __slots__ = ("_membership", "_rebalance")

    def __init__(self, shared: Shared, rebalance: Rebalance, membership: Membership) -> None:
        super().__init__(shared)
        self._rebalance = rebalance
        self._membership = membership

    def validate_member(
        self, group: Group, member_id: str, instance_id: str | None, *, strict: bool = False
    ) -> ErrorCode:
        """The error if the request is not from a current member.

        A group.instance.id of another member returns FENCED_INSTANCE_ID. An unknown one is an error
        in some versions, or if `strict`.
        """
        if instance_id is not None:
            registered = group.static_members.get(instance_id)
            if registered is None:
                if strict or self._behaviour.unknown_instance_fails:
                    return ErrorCode.UNKNOWN_MEMBER_ID
            elif registered != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID

    def replace(
        self, group: Group, new_id: str, request: Request, body: kafka.JoinGroupRequest
    ) -> None:
        """Give the static member of the group.instance.id a new member id, and let it rejoin.

        Raises:
            UnexpectedError: the group.instance.id is known, but its member has been removed.
        """
        old_id = group.static_members[body.group_instance_id or ""]
        member = group.members.get(old_id)
        if member is None:
            raise UnexpectedError
        leader_id = group.leader_id
        self._replace_id(group, member, new_id)
        restored = _settings_of(member)
        self._membership.update(group, member, body, request.request_id)
        if not self._behaviour.failed_appends_roll_back:
            # This version reads the values to restore after it has changed them.
            restored = _settings_of(member)
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._rebalance.prepare(group)
        elif group.state is GroupState.STABLE and self._selects_the_same(group):
            skips = request.api_version >= self._behaviour.skip_assignment_since
            self._append(Replacement(group, member, old_id, new_id, leader_id, *restored, skips))
        else:
            self._rebalance.prepare_or_complete(group)

    def _selects_the_same(self, group: Group) -> bool:
        return group.select_protocol(self._shared.choose) == group.protocol_name

    def _replace_id(self, group: Group, member: Member, new_id: str) -> None:
        """Change a member's id; parked requests under the old id return FENCED_INSTANCE_ID."""
        old_id = member.member_id
        self._shared.answer(
            group.unpark_join(member),
            kafka.JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=old_id),
        )
        request_id, member.sync_request_id = member.sync_request_id, None
        self._shared.answer(request_id, kafka.SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
        group.rename(member, new_id)
        if not self._behaviour.replaced_member_stays_new:
            member.is_new = False
        self._shared.keep_alive(member)

    # Persisting the new id

    def _append(self, replacement: Replacement) -> None:
        group = replacement.group
        assignments = {m.member_id: m.assignment for m in group.members.values()}
        completed = self._appended(replacement)
        batch = Batch((group_record(group, assignments),))
        self._shared.append_and_wait(
            group.partition, batch, completed, lambda error: self._answer_failed(replacement, error)
        )

    def _appended(self, replacement: Replacement) -> Callable[[ErrorCode], None]:
        def completed(error: ErrorCode) -> None:
            if error:
                self._roll_back(replacement, self._behaviour.group_error(error))
            else:
                self._answer_committed(replacement)

        return completed

    def _answer_committed(self, replacement: Replacement) -> None:
        """Answer the replaced member's parked JoinGroup, unless it has been answered.

        That may be a later request than the one that caused the replacement.
        """
        group = replacement.group
        if not self._is_current(replacement):
            return
        if _lists_members(replacement) and group.state is GroupState.PREPARING_REBALANCE:
            # Members have not chosen a protocol yet, and Kafka throws.
            return
        self._shared.answer(group.unpark_join(replacement.member), self._response(replacement))

    def _is_current(self, replacement: Replacement) -> bool:
        """Whether the member has not been replaced again."""
        if not self._behaviour.replacement_is_new_member:
            return True
        return replacement.group.members.get(replacement.new_id) is replacement.member

    def _answer_failed(self, replacement: Replacement, error: ErrorCode) -> None:
        """Answer the member's parked JoinGroup with the error of a deferred append."""
        if self._is_current(replacement):
            self._shared.answer(
                replacement.group.unpark_join(replacement.member), _error(replacement, error)
            )

    @staticmethod
    def _response(replacement: Replacement) -> kafka.JoinGroupResponse:
        group = replacement.group
        lists_members = _lists_members(replacement)
        return kafka.JoinGroupResponse(
            ErrorCode.NONE,
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
            (group.leader_id if replacement.skips_assignment else replacement.leader_id) or "",
            replacement.new_id,
            group.listed_members() if lists_members else (),
            lists_members,
        )

    def _roll_back(self, replacement: Replacement, error: ErrorCode) -> None:
        """Restore the member's old id, unless it has been replaced again."""
        group, member = replacement.group, replacement.member
        if group.members.get(member.member_id) is not member:
            return
        group.update_protocols(member, replacement.protocols)
        group.set_timeouts(member, replacement.session_timeout_ms, replacement.rebalance_timeout_ms)
        request_id = group.unpark_join(member)
        if member.member_id != replacement.new_id:
            return
        self._replace_id(group, member, replacement.old_id)
        self._shared.answer(request_id, _error(replacement, error))


def _lists_members(replacement: Replacement) -> bool:
    """Whether the response lists the members, because the leader was replaced (KIP-814)."""
    return replacement.skips_assignment and replacement.group.leader_id == replacement.new_id


def _error(replacement: Replacement, error: ErrorCode) -> kafka.JoinGroupResponse:
    group = replacement.group
    return kafka.JoinGroupResponse(
        error,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        replacement.leader_id or "",
    )


def _settings_of(member: Member) -> tuple[tuple[kafka.Protocol, ...], int, int]:
    return member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms
