"""Applies other rules instead of the one that was applied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from groupcheck.model.classic.state import Coordinator, Group, Member
from groupcheck.model.classic.step import Outcome, Profile, Step
from groupcheck.model.classic.transition import successors, tables_of
from groupcheck.model.engine.edits import Alone
from groupcheck.model.engine.rules import Guard, VersionRule
from groupcheck.model.vocabulary import GroupState, LeaveGroupRequest, Request, RequestBody
from groupcheck.properties.findings.finding import Finding


class Unapplied(NamedTuple):
    """A rule by which the answer would be correct, and why it was not applied.

    An `earlier_rule` of the table applies, or the guard does not hold, or both. If the rule is that
    a timer expires, `timer_left_ms` is the time left.
    """

    rule: VersionRule
    earlier_rule: VersionRule | None = None
    guard_holds: bool = False
    timer_left_ms: int | None = None


class Trial:
    """One request in one state: the guards that were evaluated, and the outcomes of other rules."""

    def __init__(
        self, state: Coordinator, request: Request, profile: Profile, finding: Finding
    ) -> None:
        self._state = state
        self._request = request
        self._profile = profile
        self._config = finding.config
        self._reason = finding.reason
        self._guards: dict[str, bool] = {}
        self._tables = tables_of(request.api)
        version = profile.version
        noting = {name: tuple(map(self._noting, version.tables[name])) for name in self._tables}
        self._outcomes(state, profile.of(version._replace(tables={**version.tables, **noting})))
        self._rules = {rule.id: rule for name in self._tables for rule in version.tables[name]}
        self._applied = next((n for n, holds in self._guards.items() if holds), "")

    def _noting(self, rule: VersionRule) -> VersionRule:
        """The rule with a guard that records its first value."""

        def holds(step: Step, request: Request) -> bool:
            value = rule.holds(step, request)
            self._guards.setdefault(rule.id, value)
            return value

        return rule._replace(guards=(Guard(rule.words, holds),))

    def forced(self) -> Iterator[tuple[Unapplied, Outcome]]:
        """Each rule that was not applied, with the outcomes it would have."""
        for rule in self._rules.values():
            if rule.id == self._applied:
                continue
            found: list[Outcome] = []
            with suppress(Exception):  # the member or group that it acts on may not exist
                found = self._outcomes(
                    self._state, self._profile.edited(Alone(rule.id, self._tables))
                )
            yield from ((self._unapplied(rule), after) for after in found)

    def _outcomes(self, state: Coordinator, profile: Profile) -> list[Outcome]:
        return successors(state, self._request, profile, self._config)

    def _unapplied(self, rule: VersionRule) -> Unapplied:
        """Why a rule was not applied."""
        if self._guards.get(rule.id) is False:
            return Unapplied(rule)
        earlier = self._profile.rules.get(self._applied if rule.id in self._rules else self._reason)
        holds = False
        with suppress(Exception):  # a guard may assume that the earlier rules do not apply
            holds = rule.holds(Step(self._state, self._profile, self._config, ()), self._request)
        return Unapplied(rule, earlier, guard_holds=holds)

    def with_member(self) -> Iterator[tuple[Unapplied, Outcome]]:
        """The rules that need the member, with their outcomes if it existed."""
        for state in _with_member(self._state, self._request.body):
            found: list[Outcome] = []
            with suppress(Exception):  # the state may be unreachable
                found = self._outcomes(state, self._profile)
            for after in found:
                reasons = zip(after.responses, after.reasons, strict=True)
                own = [why for r, why in reasons if r.request_id == self._request.request_id]
                # With deviations an outcome may apply no rule.
                name = next(iter((*own, *after.applied)), self._applied)
                if name not in {self._applied, self._reason}:
                    yield self._unapplied(self._profile.rules[name]), after


def _with_member(state: Coordinator, body: RequestBody) -> Iterator[Coordinator]:
    """The state with the member that a request names, in each state of the group."""
    group = state.group or Group()
    member_id: str = getattr(body, "member_id", "")
    if isinstance(body, LeaveGroupRequest) and len(body.members) == 1:
        member_id = body.members[0].member_id
    if not member_id or group.member(member_id) is not None:
        return
    protocols = group.members[0].protocols if group.members else ()
    member = Member(
        member_id,
        "",
        "",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocols=protocols,
        is_new=False,
        revealed=True,
        session_left_ms=10_000,
    )
    for at in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE):
        members = tuple(sorted((*group.members, member)))
        pending = tuple(each for each in group.pending if each.member_id != member_id)
        leader = group.leader or member_id
        there = group._replace(state=at, members=members, pending=pending, leader=leader)
        yield state._replace(group=there)
