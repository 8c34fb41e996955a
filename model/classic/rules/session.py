"""A member's session timer, and the answers to parked SyncGroups, which restart it."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.rules.guards import member_of
from groupcheck.model.classic.state import Member
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Effect
from groupcheck.model.vocabulary import ErrorCode, SyncGroupResponse


def restart_session(step: Step, member: Member) -> Member:
    """Restart the member's session timer, and store the member.

    A parked request counts as a heartbeat (2.7 MemberMetadata.scala:98), so no session timer runs
    meanwhile. A new member is the exception: its parked JoinGroup does not keep it alive.
    """
    parked = member.awaiting_join is not None or member.awaiting_sync is not None
    left = None if parked and not member.is_new else member.session_timeout_ms
    member = member._replace(session_left_ms=left)
    step.group = step.existing.with_member(member)
    return member


def stop_session(step: Step, member: Member) -> None:
    """Stop the member's session timer while a request of it is parked."""
    step.group = step.existing.with_member(member._replace(session_left_ms=None))


RESTART_SESSION: Final = Effect(
    "restart the member's session timer",
    lambda step, request: restart_session(step, member_of(step, request)),
)


def answer_parked_syncs(step: Step, error: ErrorCode) -> None:
    """Answer every parked SyncGroup, and restart the session timers of those members.

    Source: 2.7 GroupCoordinator.scala:935.
    """
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
        restart_session(step, member._replace(awaiting_sync=None))
