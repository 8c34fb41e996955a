"""What other rules would have come to: each tried in the place of the one that was applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from groupcheck.model.state import Coordinator, Group, Member
from groupcheck.model.step import Outcome, Profile, Rule, Step
from groupcheck.model.transition import successors
from groupcheck.model.vocabulary import GroupState, LeaveGroupRequest, Request, RequestBody
from groupcheck.properties.findings.finding import Finding


class Refusal(NamedTuple):
    """A rule by which what was seen would be right, and why it was not applied.

    Another rule comes `first`, or what the rule says is not `so`, or both. If it is a timer that
    ends, `left_ms` is what it has left.
    """

    rule: Rule
    first: Rule | None = None
    so: bool = False
    left_ms: int | None = None


# The tables that a request is decided by, in the order in which they are asked.
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
    """One request in one state: which rules were asked, and what others would have come to."""

    def __init__(
        self, state: Coordinator, request: Request, profile: Profile, finding: Finding
    ) -> None:
        self._state = state
        self._request = request
        self._profile = profile
        self._config = finding.config
        self._reason = finding.reason
        self._asked: dict[str, bool] = {}
        self._tables: dict[str, tuple[Rule, ...]] = {
            name: getattr(profile, name) for name in TABLES[request.api]
        }
        noting = {name: tuple(map(self._noting, table)) for name, table in self._tables.items()}
        self._outcomes(state, noting)
        rules = (rule for table in self._tables.values() for rule in table)
        self._rules = {rule.name: rule for rule in rules}
        self._applied = next((n for n, holds in self._asked.items() if holds), "")

    def _noting(self, rule: Rule) -> Rule:
        """The rule, which leaves word of what its guard said first."""

        def when(step: Step, request: Request) -> bool:
            holds = rule.when(step, request)
            self._asked.setdefault(rule.name, holds)
            return holds

        return rule._replace(when=when)

    def forced(self) -> Iterator[tuple[Refusal, Outcome]]:
        """Each rule of the tables that was not applied, and what would have come of it here."""
        for rule in self._rules.values():
            if rule.name == self._applied:
                continue
            found: list[Outcome] = []
            with suppress(Exception):  # what it acts on may not be there: a member, or the group
                found = self._outcomes(self._state, self._with(rule))
            yield from ((self._refusal(rule), after) for after in found)

    def _outcomes(
        self, state: Coordinator, tables: Mapping[str, tuple[Rule, ...]]
    ) -> list[Outcome]:
        profile = self._profile._replace(**tables)  # type: ignore[arg-type]
        return successors(state, self._request, profile, self._config)

    def _with(self, rule: Rule) -> dict[str, tuple[Rule, ...]]:
        """The tables, with nothing but that rule, and with no guard before it."""
        alone = (rule._replace(when=lambda _step, _request: True),)
        gate = "join_gate"
        if gate in self._tables and rule not in self._tables[gate]:
            return {name: () if name == gate else alone for name in self._tables}
        return dict.fromkeys(self._tables, alone)

    def _refusal(self, rule: Rule) -> Refusal:
        """Why a rule was not applied."""
        if self._asked.get(rule.name) is False:
            return Refusal(rule)
        first = self._profile.rules.get(self._applied if rule.name in self._rules else self._reason)
        so = False
        with suppress(Exception):  # its guard presumes that those before it did not hold
            so = rule.when(Step(self._state, self._profile, self._config, ()), self._request)
        return Refusal(rule, first, so=so)

    def obliged(self) -> Iterator[tuple[Refusal, Outcome]]:
        """What the rules come to that need the member to be there, as if it were."""
        for state in _with_member(self._state, self._request.body):
            found: list[Outcome] = []
            with suppress(Exception):  # it is a state that may not be reached
                found = self._outcomes(state, {})
            for after in found:
                reasons = zip(after.responses, after.reasons, strict=True)
                own = [why for r, why in reasons if r.request_id == self._request.request_id]
                name = own[0] if own else after.fired[0]
                if name not in {self._applied, self._reason}:
                    yield self._refusal(self._profile.rules[name]), after


def _with_member(state: Coordinator, body: RequestBody) -> Iterator[Coordinator]:
    """The state as if the one that a request is about were a member, whatever the group is at."""
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
