"""The tables of the records of a group: generations, states, offsets."""

from __future__ import annotations

from typing import Final

from groupcheck.model.bodies import Json
from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.history_replay import Rows, Tables, Where, add_commit
from groupcheck.pipeline.transitions import NO_GROUP

STORED: Final = "a generation is stored"


class RecordTables(Tables):
    """The tables of one history; a state has the stored values, so rebalances have no state."""

    def __init__(self) -> None:
        super().__init__()
        self._generation: int | None = None
        self._since_ms = 0
        self._committed_in: dict[Where, int | None] = {}  # the generation at the last commit
        self._pending: dict[int, list[tuple[Where, int]]] = {}

    def take(self, record: Json, at_ms: int) -> None:
        """Count a record."""
        if "marker" in record:
            for where, offset in self._pending.pop(record["producerId"], ()):
                if record["marker"] == "commit":
                    self._commit(where, offset, at_ms)
            return
        data, value = record["key"]["data"], record["value"]
        if "topic" not in data:
            self._group(value, at_ms)
            return
        where = data["topic"], data["partition"]
        if value is None:
            row = self._offset(where, at_ms)
            row["removed"] += 1
            row["offset"] = None
        elif "producerId" in record:
            entry = where, value["data"]["offset"]
            self._pending.setdefault(record["producerId"], []).append(entry)
        else:
            self._commit(where, value["data"]["offset"], at_ms)

    def rest(self, last_ms: int) -> Rows:
        """All other rows; the history ends at `last_ms`."""
        self._ms[str(self._state)] += last_ms - self._since_ms
        return super().rest(last_ms)

    def _group(self, value: Json | None, at_ms: int) -> None:
        if value is None:
            self._enter(NO_GROUP, at_ms)
            self._generation = None
            return
        data = value["data"]
        state = GroupState.STABLE if data["members"] else GroupState.EMPTY
        self._enter(str(state), at_ms)
        generation = data["generation"]
        if generation not in {self._generation, 0}:
            self._rebalances.append(
                {
                    "began_ms": at_ms,
                    "reason": STORED,
                    "joined_ms": None,
                    "ended_ms": at_ms,
                    "duration_ms": None,
                    "generation": generation,
                    "members": len(data["members"]),
                    "last_client": None,
                    "outcome": str(state),
                }
            )
        self._generation = generation

    def _enter(self, state: str, at_ms: int) -> None:
        self._ms[str(self._state)] += max(at_ms - self._since_ms, 0)
        self._since_ms = at_ms
        if state != self._state:
            self._entered[state] += 1
        self._state = state

    def _commit(self, where: Where, offset: int, at_ms: int) -> None:
        row = self._offset(where, at_ms)
        if self._generation is not None:
            if self._committed_in.get(where, self._generation) != self._generation:
                row["lag_ms"] = max(row["lag_ms"] or 0, at_ms - row["last_ms"])
            self._committed_in[where] = self._generation
        add_commit(row, offset, at_ms)
