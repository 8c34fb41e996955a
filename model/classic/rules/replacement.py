"""A static member gets a new member id, and requests parked under the old one fail."""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Member, StaticAppend, put
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour
from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse, SyncGroupResponse

STAYS_NEW: Final = Behaviour(
    "rejoined-member-stays-new",
    "static members",
    "a static member that rejoins before its first generation begins is still a new member, "
    "whose session timer runs while its JoinGroup is parked",
    at("", "", "GM:319"),
)
LOSES_APPENDS: Final = Behaviour(
    "rejoined-member-loses-appends",
    "static members",
    "an append in flight for the old id of a static member answers no request when it completes",
    at("", "", "", "CG:577"),
)
KEEPS_IDS: Final = Behaviour(
    "static-members-keep-their-ids",
    "static members",
    "a static member that rejoins without its member id may keep it",
    at(),
)


def replace(step: Step, old: Member, member_id: str, *, revealed: bool = False) -> Member:
    """The member under its new id; `revealed` says whether an answer has revealed that id.

    Where the time to sync is limited, the SyncGroup of the old id is still waited for.

    Source: 2.7 GroupMetadata.scala:305, 4.1 ClassicGroup.java:567.
    """
    _fence_parked(step, old)
    group = step.existing
    renewed = old._replace(
        member_id=member_id,
        awaiting_join=None,
        awaiting_sync=None,
        revealed=revealed or (old.revealed and member_id == old.member_id),
        is_new=old.is_new and STAYS_NEW(step),
        unsynced=False,
    )
    others = (m for m in group.members if m.member_id != old.member_id)
    step.group = group._replace(
        members=tuple(sorted((*others, renewed))),
        leader=member_id if group.leader == old.member_id else group.leader,
        statics=put(group.statics, cast("str", old.group_instance_id), member_id),
        lost_sync=group.lost_sync or old.unsynced,
    )
    in_flight_for = None if LOSES_APPENDS(step) else member_id
    step.appends = tuple(
        a._replace(member_id=in_flight_for)
        if isinstance(a, StaticAppend) and a.member_id == old.member_id
        else a
        for a in step.appends
    )
    return renewed


def _fence_parked(step: Step, member: Member) -> None:
    """Answer FENCED_INSTANCE_ID to requests parked under the old id (GroupMetadata.scala:315)."""
    if member.awaiting_join is not None:
        refusal = JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=member.member_id)
        step.answer(member.awaiting_join, refusal)
    if member.awaiting_sync is not None:
        step.answer(member.awaiting_sync, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))


PARTS: Final = (STAYS_NEW, LOSES_APPENDS, KEEPS_IDS)
