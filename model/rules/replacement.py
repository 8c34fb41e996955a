"""A static member goes on under another id, and whoever waits under the one it had is fenced."""

from __future__ import annotations

from typing import cast

from groupcheck.model.state import Member, StaticAppend, put
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import ErrorCode, JoinGroupResponse, SyncGroupResponse


def replace(step: Step, old: Member, member_id: str, *, told: bool = False) -> Member:
    """The member under its other id, which clients have been `told` or not.

    Where the time to sync is limited, it is the id that it had which is still waited for.

    Source: GroupMetadata.scala:305, 4.1 ClassicGroup.java:567.
    """
    _fence_parked(step, old)
    group = step.existing
    renewed = old._replace(
        member_id=member_id,
        awaiting_join=None,
        awaiting_sync=None,
        told=told,
        is_new=old.is_new and step.profile.traits.returned_stay_new,
        unsynced=False,
    )
    others = (m for m in group.members if m.member_id != old.member_id)
    step.group = group._replace(
        members=tuple(sorted((*others, renewed))),
        leader=member_id if group.leader == old.member_id else group.leader,
        statics=put(group.statics, cast("str", old.group_instance_id), member_id),
        lost_sync=group.lost_sync or old.unsynced,
    )
    under_way = None if step.profile.traits.returned_are_others else member_id
    step.appends = tuple(
        a._replace(member_id=under_way)
        if isinstance(a, StaticAppend) and a.member_id == old.member_id
        else a
        for a in step.appends
    )
    return renewed


def _fence_parked(step: Step, member: Member) -> None:
    """Whoever waits under the old id is told that it is fenced (GroupMetadata.scala:315)."""
    if member.awaiting_join is not None:
        refusal = JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=member.member_id)
        step.answer(member.awaiting_join, refusal)
    if member.awaiting_sync is not None:
        step.answer(member.awaiting_sync, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
