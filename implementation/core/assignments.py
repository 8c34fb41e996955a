"""Telling members what they are assigned, or that nothing will come of it. No rule of when."""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.shared import Shared
from groupcheck.model.vocabulary import ErrorCode, SyncGroupResponse


def hand_out(
    shared: Shared, group: Group, assignments: Mapping[str, bytes], error: ErrorCode
) -> None:
    """Assign to each member what is said, or nothing, and answer those whose SyncGroup waits."""
    is_good = error is ErrorCode.NONE
    protocol_type = group.protocol_type if is_good else None
    protocol_name = group.protocol_name if is_good else None
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
        request_id, member.sync_request_id = member.sync_request_id, None
        answer = SyncGroupResponse(error, protocol_type, protocol_name, member.assignment)
        if shared.answer(request_id, answer):
            shared.keep_alive(member)
