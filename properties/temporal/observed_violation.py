"""The property that the last step of a finding violates, as it was observed.

This only names what is wrong; the oracle has already decided that the step is not allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from groupcheck.model.classic.state import Coordinator, Group, Member
from groupcheck.model.classic.step import Outcome
from groupcheck.model.vocabulary import GroupState, GroupView, Response
from groupcheck.properties.compare import UNREVEALED
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import view_of
from groupcheck.properties.temporal.property import Property
from groupcheck.properties.temporal.safety import violated
from groupcheck.properties.temporal.step import CheckedStep


def violated_property(
    finding: Finding, outcome: Outcome, instead: list[Outcome]
) -> Property | None:
    """The first property that the observed step violates and Kafka's outcome does not.

    `instead` are the outcomes of rules that would explain what was observed. On a real clock the
    order within a step is not known, and the result is None.
    """
    before = finding.rejection.states if finding.rejection else ()
    if len(before) != 1 or finding.config.timer_late_ms:
        return None
    allowed = set(_violated(_checked_step(finding, outcome, outcome.responses)))
    answered = finding.answered(finding.exchanges[-1])
    observed = [_checked_step(finding, other, answered) for other in instead]
    if finding.difference is not None and finding.difference.kind != "no answer":
        shown = outcome._replace(coordinator=_as_shown(finding, outcome))
        observed.append(_checked_step(finding, shown, answered))
    found = (prop for step in observed for prop in _violated(step))
    return next((prop for prop in found if prop not in allowed), None)


def _violated(step: CheckedStep) -> list[Property]:
    found: list[Property] = []
    with suppress(Exception):  # properties expect states of the model, and this may be any state
        found = list(violated(step))
    return found


def _checked_step(
    finding: Finding, outcome: Outcome, responses: tuple[Response, ...]
) -> CheckedStep:
    (before,) = finding.rejection.states if finding.rejection else ()
    profile = finding.sequence.model
    given = finding.sequence.steps[-1]
    return CheckedStep(
        -1, before, given, outcome.coordinator, responses, outcome.applied, profile, finding.config
    )


def _as_shown(finding: Finding, outcome: Outcome) -> Coordinator:
    """The state after an outcome, with what the port shows: an answered request is not parked."""
    after, seen = outcome.coordinator, finding.exchanges[-1].seen
    answered = {response.request_id for response in seen.responses}
    group = after.group
    if group is not None:
        members = tuple(_without(member, answered) for member in group.members)
        group = group._replace(members=members)
    if seen.groups is not None:
        group = _patched(group, view_of(seen.groups), finding.names)
    return after._replace(group=group)


def _without(member: Member, answered: set[int]) -> Member:
    return member._replace(
        awaiting_join=None if member.awaiting_join in answered else member.awaiting_join,
        awaiting_sync=None if member.awaiting_sync in answered else member.awaiting_sync,
    )


def _patched(group: Group | None, view: GroupView | None, names: Mapping[str, str]) -> Group | None:
    """The group with the fields that the port shows."""
    if view is None or group is None:
        return None if view is None else group
    shown: dict[str, object] = {
        "generation_id": view.generation_id,
        "protocol_type": view.protocol_type,
        "protocol_name": view.protocol_name,
        "leader": _leader(group, view, names),
        "members": None if view.members is None else tuple(_members(group, view, names)),
    }
    if view.state in set(GroupState):
        shown["state"] = GroupState(view.state)
    return group._replace(**{k: v for k, v in shown.items() if v is not None})  # type: ignore[arg-type]


def _leader(group: Group, view: GroupView, names: Mapping[str, str]) -> str | None:
    """The leader that the port shows; None if no response has revealed the id of the leader."""
    if view.leader is None or (group.leader and group.leader not in names.values()):
        return None
    return names.get(view.leader, UNREVEALED)


def _members(group: Group, view: GroupView, names: Mapping[str, str]) -> Iterator[Member]:
    """The members that the port shows, and those whose ids no response has revealed."""
    shown = {names.get(m.member_id, UNREVEALED): m for m in view.members or ()}
    for member in group.members:
        if member.member_id not in names.values():
            yield member
        elif member.member_id in shown:
            seen = shown[member.member_id]
            yield member._replace(
                awaiting_join=None if seen.awaiting_join is False else member.awaiting_join,
                awaiting_sync=None if seen.awaiting_sync is False else member.awaiting_sync,
            )
