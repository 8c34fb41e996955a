"""A member's session timer, and the answers to parked SyncGroups, which re-arm it."""

from __future__ import annotations

from groupcheck.model.state import Member
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import ErrorCode, SyncGroupResponse


def rearm_session(step: Step, member: Member) -> Member:
    """Start the member's session timer anew, and store it.

    A parked request counts as a heartbeat (MemberMetadata.scala:98), so no timer runs beside it; a
    new member is the exception, its parked JoinGroup does not keep it alive.
    """
    parked = member.awaiting_join is not None or member.awaiting_sync is not None
    left = None if parked and not member.is_new else member.session_timeout_ms
    member = member._replace(session_left_ms=left)
    step.group = step.existing.with_member(member)
    return member


def propagate_assignment(step: Step, error: ErrorCode) -> None:
    """Answer every parked SyncGroup and re-arm those members (GroupCoordinator.scala:935)."""
    group = step.existing
    for member in group.members:
        if member.awaiting_sync is None:
            continue
        answer = SyncGroupResponse(error)
        if error is ErrorCode.NONE:
            answer = SyncGroupResponse(
                error, group.protocol_type, group.protocol_name, member.assignment
            )
        step.answer(member.awaiting_sync, answer)
        rearm_session(step, member._replace(awaiting_sync=None))
