"""What the log of a group shows besides its verdict: edges, rebalances, time in each state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.recordings.observed import NO_GROUP, Edge

Row = dict[str, Any]
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MEMBER_ID: Final = re.compile(rf"[^\s(\[,]*?-?{_UUID}")
UNTOLD: Final = "the log does not say"
# The state that a group is in once that has happened. Stable it is a moment after it is assigned.
LEADS_TO: Final = {
    "preparing": GroupState.PREPARING_REBALANCE,
    "stabilized": GroupState.COMPLETING_REBALANCE,
    "assigned": GroupState.STABLE,
    "empty": GroupState.EMPTY,
    "dead": NO_GROUP,
    "deleted": NO_GROUP,
    "unloading": NO_GROUP,
    "starting": NO_GROUP,
}


def without_ids(reason: str) -> str:
    """A reason without the ids in it, so that equal reasons are equal."""
    return _MEMBER_ID.sub("...", reason).rstrip(".") or UNTOLD


def client_of(member_id: str) -> str:
    """The client whose member id it is, as far as that has the client's id before a UUID."""
    return re.sub(rf"-?{_UUID}$", "", member_id)


class LogObserved:
    """What one history has shown so far."""

    def __init__(self) -> None:
        self.edges: Counter[Edge] = Counter()
        self._ms: Counter[str] = Counter()
        self._entered: Counter[str] = Counter()
        self._state: str | None = None
        self._since_ms = 0
        self._rebalance: Row | None = None
        self._over: list[Row] = []

    def line(self, said: Row, at_ms: int) -> None:
        """A line was printed."""
        what = said["what"]
        if self._state is not None:
            self._ms[self._state] += at_ms - self._since_ms
            self._since_ms = at_ms
        after: str | None = LEADS_TO.get(what)
        if what == "loaded" and "members" in said:
            after = GroupState.STABLE if said["members"] else GroupState.EMPTY
        if after is not None and (after != self._state or what == "preparing"):
            self._state, self._since_ms = str(after), at_ms
            self._entered[self._state] += 1
        if what == "preparing":
            self._end(str(GroupState.PREPARING_REBALANCE), at_ms)
            self._rebalance = _began(at_ms, without_ids(said.get("reason", "")))
        elif self._rebalance is not None:
            self._goes_on(self._rebalance, said, at_ms)

    def _goes_on(self, rebalance: Row, said: Row, at_ms: int) -> None:
        what = said["what"]
        if what in {"joined", "pending joined", "back"} and rebalance["joined_ms"] is None:
            rebalance["last_client"] = client_of(said.get("member", "")) or None
        elif what == "dropped":
            rebalance["late"] = said.get("member")
        elif what == "stabilized":
            rebalance |= {"joined_ms": at_ms, "generation": said.get("generation")}
            rebalance["members"] = said.get("members")
        elif what == "assigned":
            self._end(str(GroupState.STABLE), at_ms)
        elif what == "empty":
            rebalance |= {"generation": said.get("generation"), "members": 0}
            self._end(str(GroupState.EMPTY), at_ms)
        elif what in {"unloading", "starting"}:
            self._end(NO_GROUP, at_ms)

    def _end(self, outcome: str, at_ms: int | None) -> None:
        rebalance, self._rebalance = self._rebalance, None
        if rebalance is not None:
            took = None if at_ms is None else at_ms - rebalance["began_ms"]
            self._over.append(
                {**rebalance, "ended_ms": at_ms, "duration_ms": took, "outcome": outcome}
            )

    def over(self) -> Iterator[tuple[str, Row]]:
        """The rebalances that are over and were not told yet, with the name of their table."""
        over, self._over = self._over, []
        yield from (("rebalance", row) for row in over)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Each row that is left when the history is over, with the name of its table."""
        self._end("unended", None)
        yield from self.over()
        for state in self._ms.keys() | self._entered.keys():
            told = {"state": state, "ms": self._ms[state], "entered": self._entered[state]}
            yield "state", told


def _began(at_ms: int, reason: str) -> Row:
    unknown = dict.fromkeys(("joined_ms", "generation", "members", "last_client", "late"))
    return {"began_ms": at_ms, "reason": reason, **unknown}
