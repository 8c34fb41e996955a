"""Which law a port breaks with what it showed: the step as it would have been, held to the laws.

Nothing here decides whether what was seen is right; a law only names what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Coordinator, Group, Member
from groupcheck.model.step import Outcome
from groupcheck.model.vocabulary import GroupState, GroupView, Response
from groupcheck.properties.compare import UNREVEALED
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import view_of
from groupcheck.properties.temporal.safety import violated
from groupcheck.properties.temporal.step import CheckedStep, Property


def violated_property(
    finding: Finding, outcome: Outcome, instead: list[Outcome]
) -> Property | None:
    """The first law that the last step breaks as it was seen, and as Kafka does it does not.

    `outcome` is what Kafka does, `instead` are outcomes that are what was seen, if rules are known
    by which it would be. On a real clock nobody knows what came before what within a step, and no
    prop is named.
    """
    before = finding.rejection.states if finding.rejection else ()
    if len(before) != 1 or finding.config.timer_late_ms:
        return None
    kept = set(_violated(_taken(finding, outcome, outcome.responses)))
    seen = [_taken(finding, other, finding.answered(finding.exchanges[-1])) for other in instead]
    if finding.difference is not None and finding.difference.kind != "no answer":
        shown = outcome._replace(coordinator=_as_shown(finding, outcome))
        seen.append(_taken(finding, shown, finding.answered(finding.exchanges[-1])))
    broken = (prop for step in seen for prop in _violated(step))
    return next((prop for prop in broken if prop not in kept), None)


def _violated(step: CheckedStep) -> list[Property]:
    broken: list[Property] = []
    with suppress(Exception):  # a law is said of what the model can be, and this may be anything
        broken = list(violated(step))
    return broken


def _taken(finding: Finding, outcome: Outcome, responses: tuple[Response, ...]) -> CheckedStep:
    (before,) = finding.rejection.states if finding.rejection else ()
    profile = PROFILES[finding.sequence.profile]
    given = finding.sequence.steps[-1]
    return CheckedStep(
        -1, before, given, outcome.coordinator, responses, outcome.fired, profile, finding.config
    )


def _as_shown(finding: Finding, outcome: Outcome) -> Coordinator:
    """The state after a lawful outcome, but as it shows: who was answered waits no more."""
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
    """The group with what a port shows of it in the place of the model's."""
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
    """Who leads; if nobody was told the id of the leader, it may be the right one that is shown."""
    if view.leader is None or (group.leader and group.leader not in names.values()):
        return None
    return names.get(view.leader, UNREVEALED)


def _members(group: Group, view: GroupView, names: Mapping[str, str]) -> Iterator[Member]:
    """The members that are shown, as far as they are known."""
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
