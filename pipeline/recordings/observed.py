"""The tables of a recording: transitions, rebalances, time in each state, offsets."""

from __future__ import annotations

from typing import Final, TypeGuard

from groupcheck.model.classic.state import Advance, Cleanup, Coordinator, Group
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.transition import Input
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
from groupcheck.pipeline.history_replay import Row, Rows, Tables
from groupcheck.pipeline.transitions import Transition, transition_of
from groupcheck.properties.compare import Names
from groupcheck.properties.oracle import Oracle

DROPPED: Final = "rebalance/drop-not-rejoined"
STALE: Final = frozenset(
    {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}
)


def _joins(given: Input) -> TypeGuard[Request]:
    return isinstance(given, Request) and isinstance(given.body, JoinGroupRequest)


def _removes_offsets(given: Input) -> bool:
    deletes = (DeleteGroupsRequest, OffsetDeleteRequest)
    return isinstance(given, Cleanup) or (
        isinstance(given, Request) and isinstance(given.body, deletes)
    )


def _dropped(before: Group | None, outcome: Outcome, names: Names) -> list[str]:
    """The members that were removed because they had not joined again."""
    after = outcome.coordinator.group
    ids = {symbol: member_id for member_id, symbol in names.items()}
    return [
        ids.get(m.member_id, m.member_id)
        for m in (before.members if before else ())
        if m.awaiting_join is None and (after is None or after.member(m.member_id) is None)
    ]


class _Rebalance:
    """A rebalance in progress."""

    def __init__(self, began_ms: int, reason: str) -> None:
        self.began_ms = began_ms
        self.reason = reason
        self.joined_ms: int | None = None
        self.last_client: str | None = None
        self.late: list[str] = []

    def row(self, ended_ms: int | None, group: Group | None, outcome: str) -> Row:
        """The row of the rebalance."""
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


class Observed(Tables):
    """The tables of one recording so far.

    Where the observations allow several states, the first is used: in most cases they differ only
    in the leader.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rebalance: _Rebalance | None = None
        self._open_commits: dict[int, OffsetCommitRequest] = {}

    def step(self, before: list[Coordinator], oracle: Oracle, given: Input, at_ms: int) -> None:
        """The model allows a step from those states to the states of the oracle."""
        outcome = oracle.kept[0]
        step = transition_of(before[0], given, outcome)
        if DROPPED in step.rules and self._rebalance is not None:
            self._rebalance.late += _dropped(before[0].group, outcome, oracle.names)
        self.transitions[step] += 1
        if isinstance(given, Advance):
            self._ms[step.before] += given.ms
        elif _joins(given) and self._rebalance is not None:
            self._rebalance.last_client = given.client_id
        if step.after != self._state or step.before != self._state:
            self._enter(step, outcome, given, at_ms)
        if _removes_offsets(given):
            self._removed(before[0].group, outcome.coordinator.group, given)

    def responses(self, given: Input, answers: list[Response], at_ms: int) -> None:
        """Count the commits of an exchange; they do not depend on the state of the group."""
        if isinstance(given, Request) and isinstance(given.body, OffsetCommitRequest):
            self._open_commits[given.request_id] = given.body
        if self._open_commits:
            self._commits(answers, at_ms)

    def passed(self, state: str, times: int, ms: int) -> None:
        """Count `times` steps in which only time passes, for `ms` in total."""
        self.transitions[Transition(state, Advance.__name__, ("time/pass",), state)] += times
        self._ms[state] += ms

    def _enter(self, step: Transition, outcome: Outcome, given: Input, at_ms: int) -> None:
        """The group enters another state."""
        self._state = step.after
        self._entered[step.after] += 1
        group, rebalance = outcome.coordinator.group, self._rebalance
        if step.after == GroupState.PREPARING_REBALANCE:
            if rebalance is None or rebalance.joined_ms is not None:
                if rebalance is not None:  # restarted before a member has an assignment
                    self._rebalances.append(rebalance.row(at_ms, group, step.after))
                rebalance = self._rebalance = _Rebalance(at_ms, step.rules[-1])
                if _joins(given):
                    rebalance.last_client = given.client_id
        elif rebalance is not None and step.after == GroupState.COMPLETING_REBALANCE:
            rebalance.joined_ms = at_ms
        elif rebalance is not None:
            if rebalance.joined_ms is None and step.after == GroupState.STABLE:
                rebalance.joined_ms = at_ms
            self._rebalances.append(rebalance.row(at_ms, group, step.after))
            self._rebalance = None

    def _commits(self, answers: list[Response], at_ms: int) -> None:
        for answer in answers:
            if isinstance(answer.body, OffsetCommitResponse):
                request = self._open_commits.pop(answer.request_id, None)
                if request is not None:
                    self._answered(request, answer.body, at_ms)

    def _answered(
        self, request: OffsetCommitRequest, answer: OffsetCommitResponse, at_ms: int
    ) -> None:
        generation = request.generation_id if request.generation_id >= 0 else None
        errors = {
            (topic.name, each.partition_index): each.error_code
            for topic in answer.topics
            for each in topic.partitions
        }
        for topic in request.topics:
            for each in topic.partitions:
                where = topic.name, each.partition_index
                row = self._offset(where, at_ms, "expired")
                error = errors.get(where)
                if error is None or error != ErrorCode.NONE:
                    row["refused"] += 1
                    row["stale"] += error in STALE
                    if not row["commits"]:
                        row["last_ms"] = at_ms
                    continue
                self._commit(where, each.committed_offset, generation, at_ms)

    def _removed(self, before: Group | None, after: Group | None, given: Input) -> None:
        """Offsets have expired or were deleted."""
        remaining = dict(after.offsets) if after else {}
        for where, _ in before.offsets if before else ():
            row = self.offsets.get(where)
            if where not in remaining and row is not None:
                row["removed"] += 1
                row["expired"] += isinstance(given, Cleanup)
                row["offset"] = None

    def rest(self, last_ms: int) -> Rows:
        """All other rows; a rebalance that has not ended is `unended`."""
        if self._rebalance is not None:
            self._rebalances.append(self._rebalance.row(None, None, "unended"))
        return super().rest(last_ms)
