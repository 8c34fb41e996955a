"""The history of a group in the offsets topic, held to what the model appends there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.model.bodies import Json
from groupcheck.model.profiles import PROFILES
from groupcheck.pipeline.offsets_topic.record_groups import RecordJudge, Refused
from groupcheck.pipeline.offsets_topic.record_tables import RecordTables
from groupcheck.pipeline.recordings.columns import Columns
from groupcheck.pipeline.recordings.events import Event
from groupcheck.pipeline.recordings.observed import Observed

Row = dict[str, Any]
KIND: Final = "another record"


class RecordReplay:
    """The history of one group, of which the records are seen and nothing else."""

    def __init__(self, opened: Event) -> None:
        header: Json = json.loads(opened.body or "{}")
        self.key = opened.history
        self.profile: str = header["profile"]
        self.observed = Observed()  # which records do not tell: it stays empty
        sees = header.get("sees")
        self._judge = RecordJudge(
            self.profile, None if sees is None else frozenset(sees), before=bool(header["before"])
        )
        self._tables = RecordTables()
        self._events = self._accepted = 0
        self._last_ms = 0
        self._undecided: str | None = None
        self._finding: Row | None = None

    def take(self, event: Event) -> None:
        """Go on by an event."""
        self._events += 1
        self._last_ms = event.at_ms
        if self._undecided is not None or self._finding is not None:
            return
        if event.kind == "cut":
            self._undecided = str(event.body)
            return
        if event.kind == "gap":
            self._judge.widen()
        elif event.kind == "record":
            told = json.loads(event.body or "{}")
            refused = self._record(told)
            if refused is not None:
                self._found(event, told, refused)
                return
            self._tables.take(told, event.at_ms)
        self._accepted += 1

    @property
    def rejected(self) -> bool:
        """Whether what was seen is not lawful."""
        return self._finding is not None

    def run(self, events: Columns, start: int, stop: int) -> None:
        """Go on by events, which are all of this history."""
        for at in range(start, stop):
            self.take(events.event(at))

    def _record(self, told: Json) -> Refused | None:
        if "marker" in told:
            self._judge.marker(told["producerId"], committed=told["marker"] == "commit")
            return None
        data, value = told["key"]["data"], told["value"]
        if "topic" not in data:
            return self._judge.group(value)
        where = data["topic"], data["partition"]
        return self._judge.offset(where, told.get("producerId"), removed=value is None)

    def over(self) -> Iterator[tuple[str, Row]]:
        """The rows that nothing can change any more, each once, with the names of their tables."""
        for name, row in self._tables.over():
            yield name, {**self._whose, **row}

    def end(self) -> Iterator[tuple[str, Row]]:
        """The history is over: each row that comes of it, with the name of its table."""
        whose, finding = self._whose, self._finding
        verdict = "rejected" if finding else "undecided" if self._undecided else "accepted"
        yield (
            "verdict",
            {
                **whose,
                "profile": self.profile,
                "verdict": verdict,
                "reason": finding["kind"] if finding else self._undecided,
                "events": self._events,
                "accepted": self._accepted,
                "steps": self._accepted,
                "line": finding["line"] if finding else None,
                "at_ms": finding["at_ms"] if finding else self._last_ms,
            },
        )
        if finding is not None:
            yield "finding", {**whose, **finding}
        for name, row in self._tables.rows(self._last_ms):
            yield name, {**whose, **row}

    @property
    def _whose(self) -> Row:
        return dict(zip(("group_id", "source", "session"), self.key, strict=True))

    def _found(self, event: Event, told: Json, refused: Refused) -> None:
        of = {name for rules in refused.lawful.values() for name in rules}
        self._finding = {
            "profile": self.profile,
            "line": event.line,
            "at_ms": event.at_ms,
            "accepted": self._accepted,
            "kind": f"{KIND}: {refused.words}",
            "request_id": None,
            "api": None,
            "seen": json.dumps(told, separators=(",", ":")),
            "lawful": sorted(json.dumps(label.words) for label in refused.lawful),
            "because": self._rules(of),
            "refused": self._rules(refused.rules),
            "states": refused.states,
            "recording": None,
        }

    def _rules(self, names: set[str]) -> list[dict[str, str]]:
        rules = PROFILES[self.profile].rules
        found = (rules[name] for name in sorted(names) if name in rules)
        return [{"rule": r.name, "says": r.says, "source": r.source} for r in found]
