"""Mid-stream start: checks a group without its beginning, as soon as its state is revealed.

The state of such a group is unknown. But the end of a join phase reveals all members of the model:
the leader's response names them, and their JoinGroups have their metadata. Then only a few states
are possible, and checking starts with these. The checker never guesses:

- The leader's SyncGroup has to get the model's response before anything counts: otherwise the
  group was in none of these states.
- A member that existed before has the timeouts of its first JoinGroup (up to 3.x), which are
  unknown. If it is silent for longer than the shortest possible session, the state is unknown again
  until the next join phase ends. (A rebalance timeout of 0 is not considered: no client sends it.)
- If time ended the join phase, it is unknown when, and which assigned ids are still unused. A
  difference counts only after the timers of both are over.
- Offsets, and pending offsets of transactions, may be any; responses about them are not checked.
- In versions where the timers of removed members run on (0.10) nothing is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.rules.members import PARK_JOIN, TAKE_TIMEOUTS
from groupcheck.model.classic.rules.timers import due
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Coordinator,
    Group,
    HoldAppends,
    JoinTimer,
    Member,
    ReleaseAppends,
)
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    GroupState,
    JoinGroupRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    RequestBody,
    Response,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.histories.membership import Joined, Membership
from groupcheck.properties.histories.recorded_replay import ExchangeChecker
from groupcheck.properties.run import FoundError

SINCE_BEFORE: Final = "?"  # the host of a member that existed before; not a valid host
MOST_STARTS: Final = 64  # initial states
# Requests about offsets and transactions.
OF_OFFSETS = (OffsetFetchRequest, OffsetDeleteRequest, TxnOffsetCommitRequest, EndTxnRequest)


class MidStreamChecker(ExchangeChecker):
    """Checks the exchanges of a group that existed before.

    The caller sets `now_ms` before each exchange.
    """

    def __init__(self, profile: str, broker: Mapping[str, int], now_ms: int = 0) -> None:
        super().__init__(profile, broker)
        self._profile = EVERY_PROFILE[profile]
        self._broker = broker
        self.now_ms = now_ms
        self._holding = False
        self.ever = False  # whether the state was known at any time
        self.checked = False  # whether the last exchange was checked
        self.gap()

    def gap(self) -> None:
        """Events may be missing."""
        self._membership = Membership(self.now_ms)
        self._holding = False
        self._lose()

    def take(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        """Check the next exchange; see `ExchangeChecker`.

        Raises:
            FoundError: none of the possible states allows it.
        """
        self._membership.add(given)
        if isinstance(given, HoldAppends | ReleaseAppends):
            self._holding = isinstance(given, HoldAppends)
        self.checked = False
        if self.run.oracle.states and self._is_open(given):
            self._lose()
        if not self.run.oracle.states:
            self._begin(given, answers, held)
        elif not self._is_any(given):
            self._go_on(given, answers, held)
        self._membership.add_responses(answers, self.now_ms)

    def _lose(self) -> None:
        """The state is unknown from now on."""
        self.begin(self._profile.name, self._broker)
        self.run.oracle.states = []
        self._known = False
        self._open_until_ms = -1
        self._instances: set[str] = set()  # whose members are known

    def _go_on(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        asked = self.run.oracle.requests
        number = given.request_id if isinstance(given, Request) else None
        of_known = [a for a in answers if a.request_id in asked or a.request_id == number]
        if self._known and self.now_ms > self._open_until_ms:
            super().take(given, of_known, held)
        elif not self._is_allowed(given, of_known, held):
            self._begin(given, answers, held)
            return
        self.checked = self._known
        if not self._known:
            self._known = all(map(_is_settled, self.run.oracle.states))
            self.ever = self.ever or self._known

    def _is_allowed(self, given: Input, answers: list[Response], held: list[Response]) -> bool:
        """Whether the possible states allow an exchange; if not, the state is unknown again."""
        try:
            super().take(given, answers, held)
        except FoundError:
            self._lose()
            return False
        return True

    def _is_any(self, given: Input) -> bool:
        """Whether it may have any response, and changes no member."""
        if isinstance(given, Cleanup):
            return True
        if not isinstance(given, Request):
            return False
        if isinstance(given.body, DescribeGroupsRequest):  # shows the first host of a member
            return any(m.client_host == SINCE_BEFORE for m in self._members())
        return isinstance(given.body, OF_OFFSETS)

    def _is_open(self, given: Input) -> bool:
        """Whether its effect is unknown."""
        states = self.run.oracle.states
        if isinstance(given, Advance):
            any_due = self.now_ms <= self._open_until_ms
            return any(self._may_end(state, given.ms, any_due=any_due) for state in states)
        deletes = (DeleteGroupsRequest, OffsetDeleteRequest)
        if isinstance(given, Cleanup) or (
            isinstance(given, Request) and isinstance(given.body, deletes)
        ):
            return any(state.group is None or not state.group.members for state in states)
        if isinstance(given, Request):
            return not self._instances.issuperset(_instances(given.body))
        return False

    def _may_end(self, state: Coordinator, ms: int, *, any_due: bool) -> bool:
        """Whether a timer may fire at an unknown time within `ms`."""
        if state.group is None or not due(state, ms):
            return False
        return any_due or any(m.client_host == SINCE_BEFORE for m in state.group.members)

    def _members(self) -> Iterator[Member]:
        return (m for s in self.run.oracle.states if s.group for m in s.group.members)

    def _begin(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        """Begin with the possible states, if a join phase ends here."""
        joined = self._membership.end_of_join(given, answers)
        if joined is None or "time/orphaned-timer-expired" in self._profile.rules:
            return
        self._lose()
        oracle = self.run.oracle
        for member_id, asked in joined.asked.items():
            if asked is not given:
                oracle.requests[asked.request_id] = asked
            if asked is not given or asked.body.member_id:  # type: ignore[union-attr]
                oracle.bind(member_id, f"#{asked.request_id}")
        oracle.states = [Coordinator(each, self._holding) for each in self._before(joined, given)]
        of_members = [a for a in answers if a.request_id in joined.numbers]
        if not self._is_allowed(given, of_members, held):
            return
        if not all(_completes(state) for state in oracle.states):  # more has happened
            self._lose()
            return
        self._mark(joined)
        if isinstance(given, Advance):
            config = oracle.config
            longest_ms = max(m.rebalance_timeout_ms for m in self._members())
            given_ms = self._membership.given_ms + config.group_max_session_timeout_ms
            self._open_until_ms = max(
                given_ms, self.now_ms + max(longest_ms, config.group_max_session_timeout_ms)
            )

    def _before(self, joined: Joined, given: Input) -> list[Group]:
        """The possible states of the group before the join phase ended."""
        members = tuple(
            sorted(
                self._member(joined, member_id, asked, waits=asked is not given)
                for member_id, asked in joined.asked.items()
                if asked is not given or asked.body.member_id  # type: ignore[union-attr]
            )
        )
        leader = self.run.oracle.names.get(joined.leader.leader)
        first: JoinGroupRequest = next(iter(joined.asked.values())).body  # type: ignore[assignment]
        group = Group(
            GroupState.PREPARING_REBALANCE,
            joined.leader.generation_id - 1,
            first.protocol_type,
            leader=leader,
            members=members,
            # The earliest time: no timer has less left afterwards.
            join_timer=JoinTimer(0 if isinstance(given, Advance) else 1),
        )
        return [group._replace(statics=statics) for statics in self._statics(joined, given)]

    def _statics(self, joined: Joined, given: Input) -> list[tuple[tuple[str, str], ...]]:
        """The possible members of the instance ids; none if there are too many combinations.

        An instance id belongs to the member that joined with it, or to no member: if the removal of
        an earlier member with the same instance id has removed the entry.
        """
        stood: dict[str, list[str | None]] = {}
        for asked in joined.asked.values():
            body: JoinGroupRequest = asked.body  # type: ignore[assignment]
            if body.group_instance_id is not None:
                of_it = stood.setdefault(body.group_instance_id, [None])
                if asked is not given or body.member_id:
                    of_it.append(f"#{asked.request_id}")
                else:  # it belongs to this member once that has joined
                    stood[body.group_instance_id] = [None]
        if prod(map(len, stood.values())) > MOST_STARTS:
            stood = {}
        self._instances = set(stood)
        return [
            tuple(sorted((i, m) for i, m in zip(stood, each, strict=True) if m is not None))
            for each in product(*stood.values())
        ]

    def _member(self, joined: Joined, member_id: str, asked: Request, *, waits: bool) -> Member:
        body: JoinGroupRequest = asked.body  # type: ignore[assignment]
        born = self._membership.birth(member_id, asked)
        began: JoinGroupRequest = (born or asked).body  # type: ignore[assignment]
        session_ms, rebalance_ms = began.session_timeout_ms, began.rebalance_timeout_ms
        if PARK_JOIN.has(self._profile.version, TAKE_TIMEOUTS):
            session_ms, rebalance_ms = body.session_timeout_ms, body.rebalance_timeout_ms
        elif born is None:
            session_ms, rebalance_ms = self.run.oracle.config.group_min_session_timeout_ms, 1
        listed = next(m for m in joined.leader.members if m.member_id == member_id)
        return Member(
            f"#{asked.request_id}",
            born.client_id if born else "",
            born.client_host if born else SINCE_BEFORE,
            session_ms,
            rebalance_ms,
            body.protocols,
            is_new=False,
            revealed=True,
            session_left_ms=None if waits else session_ms,
            awaiting_join=asked.request_id if waits else None,
            group_instance_id=listed.group_instance_id or body.group_instance_id,
        )

    def _mark(self, joined: Joined) -> None:
        """Mark the members whose first JoinGroup was not seen."""
        strangers = {
            f"#{asked.request_id}"
            for member_id, asked in joined.asked.items()
            if self._membership.birth(member_id, asked) is None
        }
        oracle = self.run.oracle
        oracle.states = [
            state._replace(
                group=state.group._replace(
                    members=tuple(
                        self._marked(m) if m.member_id in strangers else m
                        for m in state.group.members
                    )
                )
            )
            for state in oracle.states
            if state.group is not None
        ]

    def _marked(self, member: Member) -> Member:
        if member.client_host == SINCE_BEFORE or PARK_JOIN.has(
            self._profile.version, TAKE_TIMEOUTS
        ):
            return member._replace(client_host=SINCE_BEFORE)
        least_ms = self.run.oracle.config.group_min_session_timeout_ms
        return member._replace(
            client_host=SINCE_BEFORE,
            session_timeout_ms=least_ms,
            rebalance_timeout_ms=1,
            session_left_ms=least_ms,
        )


def _completes(state: Coordinator) -> bool:
    return state.group is not None and state.group.state is GroupState.COMPLETING_REBALANCE


def _is_settled(state: Coordinator) -> bool:
    """Whether the group is Stable, and no append is waiting."""
    group = state.group
    stable = group is not None and group.state is GroupState.STABLE
    return stable and not (state.holding or state.appends or state.committed)


def _instances(body: RequestBody) -> Iterator[str]:
    """The instance ids in a request."""
    for each in (body, *getattr(body, "members", ())):
        instance_id = getattr(each, "group_instance_id", None)
        if instance_id is not None:
            yield instance_id
