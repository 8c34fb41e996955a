"""Laws of assignments: each member gets what its leader sent for it, in Stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.state import (
    Group,
    GroupAppend,
)
from groupcheck.model.vocabulary import (
    GroupState,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupcheck.properties.temporal.step import CheckedStep, Property, appended

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
COMPLETING, STABLE = GroupState.COMPLETING_REBALANCE, GroupState.STABLE
WITHOUT_MEMBERS: Final = frozenset({EMPTY, GroupState.DEAD})


def _assigned_only_in_stable(group: Group) -> bool:
    return group.state is STABLE or not any(m.assignment for m in group.members)


def _sent(step: CheckedStep) -> dict[str, bytes] | None:
    """The assignments that stand after the step, as the leader sent them; None if it has not."""
    body = step.body
    if "log/assignments-stored" not in step.fired:
        stable = step.old.state is STABLE
        names = step.renamed
        assigned = {names.get(m.member_id, m.member_id): m.assignment for m in step.old.members}
        return assigned if stable else None
    if isinstance(body, SyncGroupRequest):
        return dict(body.assignments) if body.member_id == step.old.leader else None
    held = (
        dict(entry.assignments)
        for entry in step.before.appends
        if isinstance(entry, GroupAppend) and entry.generation_id == step.old.generation_id
    )
    return next(held, None)


def _assigned_as_sent(step: CheckedStep) -> bool:
    """What members are answered, and what the group holds for them."""
    waits = {m.awaiting_sync: m.member_id for m in step.old.members}
    if isinstance(step.given, Request) and isinstance(step.given.body, SyncGroupRequest):
        waits[step.given.request_id] = step.given.body.member_id
    got = [
        (waits[response.request_id], response.body.assignment)
        for response in step.responses
        if isinstance(response.body, SyncGroupResponse) and response.body.error_code == 0
    ]
    if step.new.state is STABLE:
        got += [(m.member_id, m.assignment) for m in step.new.members]
    if not got:
        return True
    sent = _sent(step)
    return sent is not None and all(sent.get(who, b"") == assignment for who, assignment in got)


def _appended_as_sent(step: CheckedStep) -> bool:
    """The log gets what the leader sent, with nothing for those it forgot."""
    entries = [entry for entry in appended(step) if isinstance(entry, GroupAppend)]
    body = step.body
    if not entries:
        return True
    if not isinstance(body, SyncGroupRequest) or body.member_id != step.old.leader:
        return False
    sent = dict(body.assignments)
    given = {m.member_id: sent.get(m.member_id, b"") for m in step.old.members}
    return [(e.generation_id, dict(e.assignments)) for e in entries] == [
        (step.old.generation_id, given)
    ]


INVARIANTS: Final[dict[Property, Callable[[Group], bool]]] = {
    Property(
        "assigned-only-in-stable",
        "no member has an assignment that counts before the group is Stable",
        "GroupCoordinator.scala:924",
    ): _assigned_only_in_stable,
}

ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "assigned-as-sent",
        "each member gets what the leader of the generation sent for it, nothing if it sent none, "
        "and not before the leader did",
        "GroupCoordinator.scala:923",
    ): _assigned_as_sent,
    Property(
        "appended-as-sent",
        "what is appended to the log is what the leader sent, and nothing for the members it "
        "forgot",
        "GroupCoordinator.scala:415",
    ): _appended_as_sent,
}
