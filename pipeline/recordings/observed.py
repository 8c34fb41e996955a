"""What a history shows besides its verdict: edges, rebalances, time in each state, offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from groupcheck.model.rules.rebalance import DROP_NOT_REJOINED
from groupcheck.model.rules.timers import PASS
from groupcheck.model.state import Advance, Cleanup, Coordinator, Group
from groupcheck.model.step import Outcome
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    Request,
    Response,
)
from groupcheck.properties.compare import Names
from groupcheck.properties.oracle import Oracle

Row = dict[str, Any]
NO_GROUP: Final = "none"
DROPPED: Final = DROP_NOT_REJOINED.name
STALE: Final = frozenset(
    {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}
)


class Edge(NamedTuple):
    """What a step comes to, whoever the members are and whatever is left on timers."""

    before: str
    given: str
    rules: tuple[str, ...]
    after: str


def edge_of(before: Coordinator, given: Input, outcome: Outcome) -> Edge:
    """The edge of one lawful outcome."""
    name = given.api if isinstance(given, Request) else type(given).__name__
    after = state_name(outcome.coordinator.group)
    return Edge(state_name(before.group), name, tuple(dict.fromkeys(outcome.fired)), after)


def state_name(group: Group | None) -> str:
    """The state of a group, or that there is none."""
    return NO_GROUP if group is None else str(group.state)


def _joins(given: Input) -> TypeGuard[Request]:
    return isinstance(given, Request) and isinstance(given.body, JoinGroupRequest)


def _removes_offsets(given: Input) -> bool:
    deletes = (DeleteGroupsRequest, OffsetDeleteRequest)
    return isinstance(given, Cleanup) or (
        isinstance(given, Request) and isinstance(given.body, deletes)
    )


def _dropped(before: Group | None, outcome: Outcome, names: Names) -> list[str]:
    """The members that are gone as they had not joined again."""
    left = outcome.coordinator.group
    ids = {symbol: member_id for member_id, symbol in names.items()}
    return [
        ids.get(m.member_id, m.member_id)
        for m in (before.members if before else ())
        if m.awaiting_join is None and (left is None or left.member(m.member_id) is None)
    ]


class _Rebalance:
    """A rebalance under way."""

    def __init__(self, began_ms: int, reason: str) -> None:
        self.began_ms = began_ms
        self.reason = reason
        self.joined_ms: int | None = None
        self.last_client: str | None = None
        self.late: list[str] = []

    def row(self, ended_ms: int | None, group: Group | None, outcome: str) -> Row:
        """What came of it."""
        return {
            "began_ms": self.began_ms,
            "reason": self.reason,
            "joined_ms": self.joined_ms,
            "ended_ms": ended_ms,
            "duration_ms": None if ended_ms is None else ended_ms - self.began_ms,
            "generation": group.generation_id if group and ended_ms is not None else None,
            "members": len(group.members) if group and ended_ms is not None else None,
            "last_client": self.last_client,
            "late": ", ".join(self.late) or None,
            "outcome": outcome,
        }


class Observed:
    """What one history has shown so far, of the states that its observations leave.

    Where they leave several, the first stands for all: they seldom differ in more than who leads.
    """

    def __init__(self) -> None:
        self.edges: Counter[Edge] = Counter()
        self._ms: Counter[str] = Counter()
        self._entered: Counter[str] = Counter()
        self._state = NO_GROUP
        self._rebalance: _Rebalance | None = None
        self._rebalances: list[Row] = []
        self._offsets: dict[tuple[str, int], Row] = {}
        self._generations: dict[tuple[str, int], int] = {}  # of the last commits
        self._asked: dict[int, OffsetCommitRequest] = {}

    def step(
        self,
        before: list[Coordinator],
        oracle: Oracle,
        given: Input,
        at_ms: int,
    ) -> None:
        """A step was lawful, and has led from those states to where the oracle is."""
        outcome = oracle.kept[0]
        edge = edge_of(before[0], given, outcome)
        if DROPPED in edge.rules and self._rebalance is not None:
            self._rebalance.late += _dropped(before[0].group, outcome, oracle.names)
        self.edges[edge] += 1
        if isinstance(given, Advance):
            self._ms[edge.before] += given.ms
        elif _joins(given) and self._rebalance is not None:
            self._rebalance.last_client = given.client_id
        if edge.after != self._state or edge.before != self._state:
            self._enter(edge, outcome, given, at_ms)
        if _removes_offsets(given):
            self._removed(before[0].group, outcome.coordinator.group, given)

    def told(self, given: Input, answers: list[Response], at_ms: int) -> None:
        """Something was answered: whether offsets were committed shows whatever the group is."""
        if isinstance(given, Request) and isinstance(given.body, OffsetCommitRequest):
            self._asked[given.request_id] = given.body
        if self._asked:
            self._commits(answers, at_ms)

    @property
    def offset_rows(self) -> dict[tuple[str, int], Row]:
        """The row of each partition that was committed so far."""
        return self._offsets

    def passed(self, state: str, times: int, ms: int) -> None:
        """So many times, and so long together, time has passed and nothing else happened."""
        self.edges[Edge(state, Advance.__name__, (PASS.name,), state)] += times
        self._ms[state] += ms

    def _enter(self, edge: Edge, outcome: Outcome, given: Input, at_ms: int) -> None:
        """The group is in another state."""
        self._state = edge.after
        self._entered[edge.after] += 1
        group, rebalance = outcome.coordinator.group, self._rebalance
        if edge.after == GroupState.PREPARING_REBALANCE:
            if rebalance is None or rebalance.joined_ms is not None:
                if rebalance is not None:  # it is begun anew before anybody had an assignment
                    self._rebalances.append(rebalance.row(at_ms, group, edge.after))
                rebalance = self._rebalance = _Rebalance(at_ms, edge.rules[-1])
                if _joins(given):
                    rebalance.last_client = given.client_id
        elif rebalance is not None and edge.after == GroupState.COMPLETING_REBALANCE:
            rebalance.joined_ms = at_ms
        elif rebalance is not None:
            if rebalance.joined_ms is None and edge.after == GroupState.STABLE:
                rebalance.joined_ms = at_ms
            self._rebalances.append(rebalance.row(at_ms, group, edge.after))
            self._rebalance = None

    def _commits(self, answers: list[Response], at_ms: int) -> None:
        for answer in answers:
            if isinstance(answer.body, OffsetCommitResponse):
                asked = self._asked.pop(answer.request_id, None)
                if asked is not None:
                    self._commit(asked, answer.body, at_ms)

    def _commit(self, asked: OffsetCommitRequest, told: OffsetCommitResponse, at_ms: int) -> None:
        errors = {
            (topic.name, each.partition_index): each.error_code
            for topic in told.topics
            for each in topic.partitions
        }
        for topic in asked.topics:
            for each in topic.partitions:
                where = topic.name, each.partition_index
                row = self._offsets.setdefault(where, _nothing_committed(where, at_ms))
                error = errors.get(where)
                if error is None or error != ErrorCode.NONE:
                    row["refused"] += 1
                    row["stale"] += error in STALE
                    if not row["commits"]:
                        row["last_ms"] = at_ms
                    continue
                self._lag(where, row, asked.generation_id, at_ms)
                row["commits"] += 1
                before = row["offset"]
                row["rewinds"] += before is not None and each.committed_offset < before
                row["offset"] = each.committed_offset
                row["last_ms"] = at_ms

    def _lag(self, where: tuple[str, int], row: Row, generation_id: int, at_ms: int) -> None:
        """How long nobody has committed it from one generation to another."""
        if generation_id < 0:  # of nobody's who is a member
            return
        before = self._generations.get(where, generation_id)
        self._generations[where] = generation_id
        if before != generation_id:
            row["lag_ms"] = max(row["lag_ms"] or 0, at_ms - row["last_ms"])

    def _removed(self, before: Group | None, after: Group | None, given: Input) -> None:
        """Offsets have expired, or were deleted."""
        left = dict(after.offsets) if after else {}
        for where, _ in before.offsets if before else ():
            row = self._offsets.get(where)
            if where not in left and row is not None:
                row["removed"] += 1
                row["expired"] += isinstance(given, Cleanup)
                row["offset"] = None

    def over(self) -> Iterator[tuple[str, Row]]:
        """The rebalances that are over and were not told yet, with the name of their table."""
        over, self._rebalances = self._rebalances, []
        yield from (("rebalance", row) for row in over)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Each row that is left when the history is over, with the name of its table."""
        if self._rebalance is not None:
            self._rebalances.append(self._rebalance.row(None, None, "unended"))
        yield from self.over()
        for state in self._ms.keys() | self._entered.keys():
            told = {"state": state, "ms": self._ms[state], "entered": self._entered[state]}
            yield "state", told
        for row in self._offsets.values():
            yield "offset", row


def _nothing_committed(where: tuple[str, int], at_ms: int) -> Row:
    names = ("commits", "refused", "stale", "rewinds", "removed", "expired")
    told = {"topic": where[0], "partition": where[1], "offset": None, "lag_ms": None}
    return {**told, **dict.fromkeys(names, 0), "first_ms": at_ms, "last_ms": at_ms}
