"""Applies other rules in the place of the one that was applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from groupcheck.model.state import Coordinator, Group, Member
from groupcheck.model.step import Outcome, Profile, Rule, Step
from groupcheck.model.transition import successors
from groupcheck.model.vocabulary import GroupState, LeaveGroupRequest, Request, RequestBody
from groupcheck.properties.findings.finding import Finding


class Unapplied(NamedTuple):
    """A rule by which the answer would be correct, and why it was not applied.

    An `earlier_rule` of the table applies, or the guard does not hold, or both. If the rule is that
    a timer expires, `timer_left_ms` is the time left.
    """

    rule: Rule
    earlier_rule: Rule | None = None
    guard_holds: bool = False
    timer_left_ms: int | None = None


# The tables of each API, in the order in which they are tried.
TABLES: Final = {
    "JoinGroup": ("join_gate", "join_unknown", "join_known"),
    "SyncGroup": ("sync_group",),
    "Heartbeat": ("heartbeat",),
    "LeaveGroup": ("leave_group",),
    "OffsetCommit": ("offset_commit",),
    "OffsetFetch": ("offset_fetch",),
    "DescribeGroups": ("describe_groups",),
    "TxnOffsetCommit": ("txn_offset_commit",),
    "EndTxn": ("end_txn",),
    "ListGroups": ("list_groups",),
    "DeleteGroups": ("delete_groups",),
    "OffsetDelete": ("offset_delete",),
}


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
        self._tables: dict[str, tuple[Rule, ...]] = {
            name: getattr(profile, name) for name in TABLES[request.api]
        }
        noting = {name: tuple(map(self._noting, table)) for name, table in self._tables.items()}
        self._outcomes(state, noting)
        rules = (rule for table in self._tables.values() for rule in table)
        self._rules = {rule.name: rule for rule in rules}
        self._applied = next((n for n, holds in self._guards.items() if holds), "")

    def _noting(self, rule: Rule) -> Rule:
        """The rule with a guard that records its first value."""

        def when(step: Step, request: Request) -> bool:
            holds = rule.when(step, request)
            self._guards.setdefault(rule.name, holds)
            return holds

        return rule._replace(when=when)

    def forced(self) -> Iterator[tuple[Unapplied, Outcome]]:
        """Each rule that was not applied, with the outcomes it would have."""
        for rule in self._rules.values():
            if rule.name == self._applied:
                continue
            found: list[Outcome] = []
            with suppress(Exception):  # the member or group that it acts on may not exist
                found = self._outcomes(self._state, self._with(rule))
            yield from ((self._unapplied(rule), after) for after in found)

    def _outcomes(
        self, state: Coordinator, tables: Mapping[str, tuple[Rule, ...]]
    ) -> list[Outcome]:
        profile = self._profile._replace(**tables)  # type: ignore[arg-type]
        return successors(state, self._request, profile, self._config)

    def _with(self, rule: Rule) -> dict[str, tuple[Rule, ...]]:
        """The tables with that rule alone, and without its guard."""
        alone = (rule._replace(when=lambda _step, _request: True),)
        checks = "join_gate"
        if checks in self._tables and rule not in self._tables[checks]:
            return {name: () if name == checks else alone for name in self._tables}
        return dict.fromkeys(self._tables, alone)

    def _unapplied(self, rule: Rule) -> Unapplied:
        """Why a rule was not applied."""
        if self._guards.get(rule.name) is False:
            return Unapplied(rule)
        earlier = self._profile.rules.get(
            self._applied if rule.name in self._rules else self._reason
        )
        holds = False
        with suppress(Exception):  # a guard assumes that the earlier ones do not hold
            holds = rule.when(Step(self._state, self._profile, self._config, ()), self._request)
        return Unapplied(rule, earlier, guard_holds=holds)

    def with_member(self) -> Iterator[tuple[Unapplied, Outcome]]:
        """The rules that need the member, with their outcomes if it existed."""
        for state in _with_member(self._state, self._request.body):
            found: list[Outcome] = []
            with suppress(Exception):  # the state may be unreachable
                found = self._outcomes(state, {})
            for after in found:
                reasons = zip(after.responses, after.reasons, strict=True)
                own = [why for r, why in reasons if r.request_id == self._request.request_id]
                name = own[0] if own else after.fired[0]
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
        told=True,
        session_left_ms=10_000,
    )
    for at in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE):
        members = tuple(sorted((*group.members, member)))
        pending = tuple(each for each in group.pending if each.member_id != member_id)
        leader = group.leader or member_id
        there = group._replace(state=at, members=members, pending=pending, leader=leader)
        yield state._replace(group=there)
