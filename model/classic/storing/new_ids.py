"""The effects of the completion of the append of a static member's new id."""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model.classic.rules.guards import PREPARING
from groupcheck.model.classic.rules.members import listed_members
from groupcheck.model.classic.rules.replacement import replace
from groupcheck.model.classic.rules.session import restart_session
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Group, Member, StaticAppend
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Effect, Guard, rule, table
from groupcheck.model.vocabulary import NO_MEMBER_ID, ErrorCode, JoinGroupResponse

AREA: Final = "log"


def error_to_group(step: Step, error: ErrorCode) -> ErrorCode:
    """The answer of SyncGroup and JoinGroup to the error of an append."""
    return step.profile.group_errors.get(error, error)


APPEND_FAILED: Final = Guard("the append failed", lambda _step, e: e.error is not ErrorCode.NONE)


def _rejoined(step: Step, entry: StaticAppend) -> Member | None:
    """The static member that rejoined, with its current id."""
    if entry.member_id is None or step.group is None:
        return None
    return step.group.member(entry.member_id)


def _is_outdated(step: Step, entry: StaticAppend) -> bool:
    if entry.after_unload is not None:
        return False
    group, member = step.group or Group(), _rejoined(step, entry)
    if member is None:
        return True
    if entry.error is not ErrorCode.NONE:
        return member.member_id != entry.revealed
    # While a rebalance is prepared Kafka fails to list the members (4.1 ClassicGroup.java:1311).
    unlisted = _leads_by_now(group, entry) and group.state is PREPARING
    return member.awaiting_join is None or unlisted


def _drop_parked(step: Step, entry: StaticAppend) -> None:
    """On an error, Kafka restores the member's old protocols, then fails and drops its JoinGroup.

    Source: 2.7 GroupCoordinator.scala:1061.
    """
    member = _rejoined(step, entry)
    if member is not None and entry.error is not ErrorCode.NONE:
        member = _with_old_protocols(entry, member)
        step.group = step.existing.with_member(member._replace(awaiting_join=None))


def _with_old_protocols(entry: StaticAppend, member: Member) -> Member:
    """Kafka saves the protocols to restore only after the new ones have replaced them."""
    return member if entry.before is not None else member._replace(protocols=entry.offered)


def _revert(step: Step, entry: StaticAppend) -> None:
    """Restore the member's old id; where failures are rolled back, restore the whole group."""
    if entry.after_unload is not None:
        request_id, answer = entry.after_unload
        step.answer(request_id, _not_stored(step, entry, answer))
        return
    member = _with_old_protocols(entry, cast("Member", _rejoined(step, entry)))
    refuse_new_id(step, entry)
    if entry.before is not None:
        _restore(step, entry.before, entry.replaced)
        return
    answered = member._replace(awaiting_join=None)
    restart_session(step, replace(step, answered, entry.replaced, revealed=entry.was_revealed))


def _restore(step: Step, before: Group, member_id: str) -> None:
    """Restore the group; no request of the member is parked, and its session timer restarts.

    Source: 4.1 GroupMetadataManager.java:7254.
    """
    step.group = before
    old = cast("Member", before.member(member_id))
    restart_session(step, old._replace(awaiting_join=None, awaiting_sync=None))


def _reveal_new_id(step: Step, entry: StaticAppend) -> None:
    if entry.after_unload is not None:
        step.answer(*entry.after_unload)
        return
    group, member = step.existing, cast("Member", _rejoined(step, entry))
    step.answer(member.awaiting_join, new_id_answer(group, entry))
    revealed = (
        member.revealed or entry.revealed == member.member_id
    )  # it may be an earlier id's answer
    step.group = group.with_member(member._replace(awaiting_join=None, revealed=revealed))


# Answered if it still waits, whatever the group's state: 2.7 GroupCoordinator.scala:1073.
NEW_ID_APPENDED: Final = table(
    "The append of a static member's new id completes",
    AREA,
    rule(
        "log/new-id-outdated",
        "the append of a static member's new id completes after its JoinGroup was answered or "
        "dropped",
        at("", "", "GM:513", "CG:1228"),
        Guard("the member's JoinGroup is no longer parked", _is_outdated),
        Effect("if the append failed, drop the member's parked JoinGroup", _drop_parked),
        words_of={
            "4.1": "the append of a static member's new id completes after its JoinGroup was "
            "answered or dropped, or the member is the leader and a rebalance is being "
            "prepared, where Kafka throws an exception as it lists the members"
        },
    ),
    rule(
        "log/new-id-failed",
        "the new id of a static member cannot be stored: its old id is restored, and the request "
        "fails",
        at("", "", "GC:1062", "GMM:7254"),
        APPEND_FAILED,
        Effect("answer with the mapped error and restore the member's old id", _revert),
    ),
    rule(
        "log/new-id-stored",
        "the new id of a static member is stored, and its JoinGroup is answered with it",
        at("", "", "GC:1073", "GMM:7274"),
        Effect("answer with the new id", _reveal_new_id),
    ),
)


def new_id_answer(group: Group, entry: StaticAppend) -> JoinGroupResponse:
    """The answer to a static member that rejoined, once its new id is stored."""
    leader = group.leader if entry.current else entry.leader
    leads = _leads_by_now(group, entry)
    return JoinGroupResponse(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        leader or NO_MEMBER_ID,
        entry.revealed,
        listed_members(group) if leads else (),
        leads,
    )


def _leads_by_now(group: Group, entry: StaticAppend) -> bool:
    """Whether the answer lists the members, as the member leads when the append completes."""
    return entry.current and group.leader == entry.revealed


def _not_stored(step: Step, entry: StaticAppend, answer: JoinGroupResponse) -> JoinGroupResponse:
    return answer._replace(
        error_code=error_to_group(step, entry.error),
        leader=entry.leader or NO_MEMBER_ID,
        member_id=NO_MEMBER_ID,
        members=(),
        skip_assignment=False,
    )


def refuse_new_id(step: Step, entry: StaticAppend) -> None:
    """Answer the mapped error to a static member that rejoined and still waits."""
    group = step.existing
    member = _rejoined(step, entry)
    if member is not None and member.awaiting_join is not None:
        granted = new_id_answer(group, entry._replace(current=False))
        step.answer(member.awaiting_join, _not_stored(step, entry, granted))
