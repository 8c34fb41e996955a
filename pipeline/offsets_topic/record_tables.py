"""What the records of a group show besides the verdict: generations, states, offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.model.bodies import Json
from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.recordings.observed import NO_GROUP

Row = dict[str, Any]
Where = tuple[str, int]
STORED: Final = "a generation is stored"


class RecordTables:
    """The rows of one history; a state is what the log says of it, rebalances left out."""

    def __init__(self) -> None:
        self._generation: int | None = None
        self._rebalances: list[Row] = []
        self._state = NO_GROUP
        self._since_ms = 0
        self._ms: Counter[str] = Counter()
        self._entered: Counter[str] = Counter()
        self._offsets: dict[Where, Row] = {}
        self._committed_in: dict[Where, int | None] = {}  # the generation at the last commit
        self._pending: dict[int, list[tuple[Where, int]]] = {}

    def take(self, told: Json, at_ms: int) -> None:
        """Go on by a record."""
        if "marker" in told:
            for where, offset in self._pending.pop(told["producerId"], ()):
                if told["marker"] == "commit":
                    self._commit(where, offset, at_ms)
            return
        data, value = told["key"]["data"], told["value"]
        if "topic" not in data:
            self._group(value, at_ms)
            return
        where = data["topic"], data["partition"]
        if value is None:
            row = self._row(where, at_ms)
            row["removed"] += 1
            row["offset"] = None
        elif "producerId" in told:
            entry = where, value["data"]["offset"]
            self._pending.setdefault(told["producerId"], []).append(entry)
        else:
            self._commit(where, value["data"]["offset"], at_ms)

    def over(self) -> Iterator[tuple[str, Row]]:
        """The rebalances that were not told yet."""
        over, self._rebalances = self._rebalances, []
        yield from (("rebalance", row) for row in over)

    def rows(self, last_ms: int) -> Iterator[tuple[str, Row]]:
        """Each row that is left when the history is over, with the name of its table."""
        yield from self.over()
        self._ms[self._state] += last_ms - self._since_ms
        for state in sorted(self._ms.keys() | self._entered.keys()):
            told = {"state": state, "ms": self._ms[state], "entered": self._entered[state]}
            yield "state", told
        for row in self._offsets.values():
            yield "offset", row

    def _group(self, value: Json | None, at_ms: int) -> None:
        if value is None:
            self._enter(NO_GROUP, at_ms)
            self._generation = None
            return
        told = value["data"]
        state = GroupState.STABLE if told["members"] else GroupState.EMPTY
        self._enter(str(state), at_ms)
        generation = told["generation"]
        if generation not in {self._generation, 0}:
            self._rebalances.append(
                {
                    "began_ms": at_ms,
                    "reason": STORED,
                    "joined_ms": None,
                    "ended_ms": at_ms,
                    "duration_ms": None,
                    "generation": generation,
                    "members": len(told["members"]),
                    "last_client": None,
                    "outcome": str(state),
                }
            )
        self._generation = generation

    def _enter(self, state: str, at_ms: int) -> None:
        self._ms[self._state] += max(at_ms - self._since_ms, 0)
        self._since_ms = at_ms
        if state != self._state:
            self._entered[state] += 1
        self._state = state

    def _commit(self, where: Where, offset: int, at_ms: int) -> None:
        row = self._row(where, at_ms)
        if self._generation is not None:
            if self._committed_in.get(where, self._generation) != self._generation:
                row["lag_ms"] = max(row["lag_ms"] or 0, at_ms - row["last_ms"])
            self._committed_in[where] = self._generation
        row["last_ms"] = at_ms
        row["commits"] += 1
        row["rewinds"] += row["offset"] is not None and offset < row["offset"]
        row["offset"] = offset

    def _row(self, where: Where, at_ms: int) -> Row:
        counts = dict.fromkeys(("commits", "refused", "stale", "rewinds", "removed"), 0)
        new = {"topic": where[0], "partition": where[1], "offset": None, "lag_ms": None, **counts}
        return self._offsets.setdefault(where, {**new, "first_ms": at_ms, "last_ms": at_ms})
