"""Checks the history of a group in the offsets topic against the records of the model."""

from __future__ import annotations

import json
from typing import Final

from groupcheck.model.bodies import Json
from groupcheck.pipeline.history_replay import HistoryReplay
from groupcheck.pipeline.offsets_topic.record_groups import RecordChecker, Refused
from groupcheck.pipeline.offsets_topic.record_tables import RecordTables
from groupcheck.properties.histories.events import Event

KIND: Final = "another record"


class RecordReplay(HistoryReplay):
    """The history of one group by its records."""

    def __init__(self, opened: Event) -> None:
        self._tables = RecordTables()
        super().__init__(opened, self._tables)
        sees = self.header.get("sees")
        self._checker = RecordChecker(
            self.profile,
            None if sees is None else frozenset(sees),
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
                self._found(event, record, refused)
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

    def _found(self, event: Event, record: Json, refused: Refused) -> None:
        kind = f"{KIND}: {refused.words}"
        self.finding = {
            "reason": kind,
            "line": event.line,
            "at_ms": event.at_ms,
            "kind": kind,
            "request_id": None,
            "api": None,
            "seen": json.dumps(record, separators=(",", ":")),
            "allowed": sorted(json.dumps(label.words) for label in refused.allowed),
            "because": self.rule_rows(sorted(set().union(*refused.allowed.values()))),
            "refused": self.rule_rows(sorted(refused.rules)),
            "states": refused.states,
            "recording": None,
        }
