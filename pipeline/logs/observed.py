"""The tables of a log: transitions, rebalances, time in each state."""

from __future__ import annotations

import re
from typing import Final

from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.history_replay import Row, Rows, Tables
from groupcheck.pipeline.transitions import NO_GROUP

_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MEMBER_ID: Final = re.compile(rf"[^\s(\[,]*?-?{_UUID}")
UNKNOWN: Final = "unknown"
# The state after a log event; Stable follows the assignment, as storing it is not logged.
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
    """A reason without member ids, so that reasons can be counted."""
    return _MEMBER_ID.sub("...", reason).rstrip(".") or UNKNOWN


def client_of(member_id: str) -> str:
    """The client id in a member id, which precedes a UUID."""
    return re.sub(rf"-?{_UUID}$", "", member_id)


class LogObserved(Tables):
    """The tables of one log so far."""

    def __init__(self) -> None:
        super().__init__()
        self._state = None
        self._since_ms = 0
        self._rebalance: Row | None = None

    def line(self, line: Row, at_ms: int) -> None:
        """Count a line."""
        event = line["what"]
        if self._state is not None:
            self._ms[self._state] += at_ms - self._since_ms
            self._since_ms = at_ms
        after: str | None = LEADS_TO.get(event)
        if event == "loaded" and "members" in line:
            after = GroupState.STABLE if line["members"] else GroupState.EMPTY
        if after is not None and (after != self._state or event == "preparing"):
            self._state, self._since_ms = str(after), at_ms
            self._entered[self._state] += 1
        if event == "preparing":
            self._end(str(GroupState.PREPARING_REBALANCE), at_ms)
            self._rebalance = _began(at_ms, without_ids(line.get("reason", "")))
        elif self._rebalance is not None:
            self._continue(self._rebalance, line, at_ms)

    def _continue(self, rebalance: Row, line: Row, at_ms: int) -> None:
        event = line["what"]
        if event in {"joined", "pending joined", "back"} and rebalance["joined_ms"] is None:
            rebalance["last_client"] = client_of(line.get("member", "")) or None
        elif event == "dropped":
            rebalance["late"] = line.get("member")
        elif event == "stabilized":
            rebalance |= {"joined_ms": at_ms, "generation": line.get("generation")}
            rebalance["members"] = line.get("members")
        elif event == "assigned":
            self._end(str(GroupState.STABLE), at_ms)
        elif event == "empty":
            rebalance |= {"generation": line.get("generation"), "members": 0}
            self._end(str(GroupState.EMPTY), at_ms)
        elif event in {"unloading", "starting"}:
            self._end(NO_GROUP, at_ms)

    def _end(self, outcome: str, at_ms: int | None) -> None:
        rebalance, self._rebalance = self._rebalance, None
        if rebalance is not None:
            took = None if at_ms is None else at_ms - rebalance["began_ms"]
            self._rebalances.append(
                {**rebalance, "ended_ms": at_ms, "duration_ms": took, "outcome": outcome}
            )

    def rest(self, last_ms: int) -> Rows:
        """All other rows; a rebalance that has not ended is `unended`."""
        self._end("unended", None)
        return super().rest(last_ms)


def _began(at_ms: int, reason: str) -> Row:
    unknown = dict.fromkeys(("joined_ms", "generation", "members", "last_client", "late"))
    return {"began_ms": at_ms, "reason": reason, **unknown}
