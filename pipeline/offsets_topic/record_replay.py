"""Checks the history of a group in the offsets topic against the records of the model."""

from __future__ import annotations

import json
from typing import Final

from groupcheck.model.bodies import Json
from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.history_replay import HistoryReplay, Rows, Tables, Where
from groupcheck.pipeline.offsets_topic.record_groups import RecordChecker, Refused
from groupcheck.pipeline.transitions import NO_GROUP
from groupcheck.properties.histories.events import Event

STORED: Final = "a generation is stored"
KIND: Final = "another record"


class RecordTables(Tables):
    """The tables of one history: the states and generations that the group's records store."""

    def __init__(self) -> None:
        super().__init__()
        self._generation: int | None = None
        self._since_ms = 0
        self._pending: dict[int, list[tuple[Where, int]]] = {}

    def take(self, record: Json, at_ms: int) -> None:
        """Count a record."""
        if "marker" in record:
            for where, offset in self._pending.pop(record["producerId"], ()):
                if record["marker"] == "commit":
                    self._commit(where, offset, self._generation, at_ms)
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
            self._commit(where, value["data"]["offset"], self._generation, at_ms)

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
                    "ended_ms": at_ms,
                    "generation": generation,
                    "members": len(data["members"]),
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


class RecordReplay(HistoryReplay):
    """The history of one group by its records."""

    def __init__(self, opened: Event) -> None:
        self._tables = RecordTables()
        super().__init__(opened, self._tables)
        kinds = self.header.get("kinds")
        self._checker = RecordChecker(
            self.profile,
            None if kinds is None else frozenset(kinds),
            before=bool(self.header["before"]),
        )

    def check(self, event: Event) -> None:
        """Check an event."""
        if self.undecided is not None or self.finding is not None:
            return
        if event.kind == "cut":
            self.undecided = str(event.body)
            return
        if event.kind == "gap":
            self._checker.gap()
        elif event.kind == "record":
            record = json.loads(event.body or "{}")
            refused = self._record(record)
            if refused is not None:
                self._reject(event, record, refused)
                return
            self._tables.take(record, event.at_ms)
        self.accepted += 1
        self.steps += 1

    def _record(self, record: Json) -> Refused | None:
        if "marker" in record:
            self._checker.marker(record["producerId"], committed=record["marker"] == "commit")
            return None
        data, value = record["key"]["data"], record["value"]
        if "topic" not in data:
            return self._checker.group(value)
        where = data["topic"], data["partition"]
        return self._checker.offset(where, record.get("producerId"), removed=value is None)

    def _reject(self, event: Event, record: Json, refused: Refused) -> None:
        kind = f"{KIND}: {refused.text}"
        self.finding = {
            "reason": kind,
            "line": event.line,
            "at_ms": event.at_ms,
            "kind": kind,
            "seen": json.dumps(record, separators=(",", ":")),
            "allowed": sorted(json.dumps(label.text) for label in refused.allowed),
            "because": self.rule_rows(sorted(set().union(*refused.allowed.values()))),
            "refused": self.rule_rows(sorted(refused.rules)),
            "states": refused.states,
        }
