"""The base classes of the replays of all kinds of sources, which return the rows of one history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from groupcheck.model.bodies import Json
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.engine.rules import VersionRule
from groupcheck.pipeline.event_columns import Events
from groupcheck.pipeline.transitions import NO_GROUP, Transition
from groupcheck.properties.histories.events import Event

MOST_RECORDED: Final = 4 * 1024 * 1024  # characters of a group's lines in a finding

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]  # each with the name of its table
Where = tuple[str, int]  # topic and partition


class FindingRow(NamedTuple):
    """A row of the table of findings, with the reason of its verdict."""

    group_id: str
    source: str
    session: int
    line: int
    recording: str | None
    omitted: int | None
    kind: str
    reason: str


class Tables:
    """The rows of a history besides its verdict: transitions, rebalances, states, offsets."""

    def __init__(self) -> None:
        self.transitions: Counter[Transition] = Counter()
        self.offsets: dict[Where, Row] = {}
        self._state: str | None = NO_GROUP
        self._ms: Counter[str] = Counter()
        self._entered: Counter[str] = Counter()
        self._rebalances: list[Row] = []  # complete, and not returned yet
        self._committed_in: dict[Where, int] = {}  # the generation of the last commit

    def complete(self) -> Rows:
        """The rows that no further event can change, each once."""
        complete, self._rebalances = self._rebalances, []
        yield from (("rebalance", row) for row in complete)

    def rest(self, last_ms: int) -> Rows:
        """All other rows; the history ends at `last_ms`."""
        del last_ms
        yield from self.complete()
        for state in sorted(self._ms.keys() | self._entered.keys()):
            yield "state", {"state": state, "ms": self._ms[state], "entered": self._entered[state]}
        yield from (("offset", row) for row in self.offsets.values())

    def _offset(self, where: Where, at_ms: int, *names: str) -> Row:
        """The row of a partition; the counts of these names begin at 0."""
        counts = dict.fromkeys(("commits", "refused", "stale", "rewinds", "removed", *names), 0)
        new = {"topic": where[0], "partition": where[1], "offset": None, "lag_ms": None, **counts}
        return self.offsets.setdefault(where, {**new, "first_ms": at_ms, "last_ms": at_ms})

    def _commit(self, where: Where, offset: int, generation: int | None, at_ms: int) -> None:
        """Count an accepted commit of a generation, None if it is not from a member."""
        row = self._offset(where, at_ms)
        if generation is not None:
            if self._committed_in.get(where, generation) != generation:
                row["lag_ms"] = max(row["lag_ms"] or 0, at_ms - row["last_ms"])
            self._committed_in[where] = generation
        add_commit(row, offset, at_ms)


def add_commit(row: Row, offset: int, at_ms: int) -> None:
    """Count an accepted commit in the row of its partition."""
    row["commits"] += 1
    row["rewinds"] += row["offset"] is not None and offset < row["offset"]
    row["offset"] = offset
    row["last_ms"] = at_ms


class HistoryReplay:
    """Checks the events of one history, in order. A subclass defines `check`.

    `finding` is a row of its table, with the `reason` of the verdict.
    """

    def __init__(self, opened: Event, tables: Tables) -> None:
        self.header: Json = json.loads(opened.body or "{}")
        self.key = opened.history
        self.profile: str = self.header["profile"]
        self.tables = tables
        self.events = self.accepted = self.steps = self.last_ms = 0
        self.undecided: str | None = None
        self.finding: Row | None = None

    def take(self, event: Event) -> None:
        """Check the next event."""
        self.events += 1
        self.last_ms = event.at_ms
        self.check(event)

    def check(self, event: Event) -> None:
        """Check an event."""
        raise NotImplementedError

    def run(self, events: Events) -> None:
        """Check events, which are all of this history."""
        for event in events:
            self.take(event)

    @property
    def rejected(self) -> bool:
        """Whether the history is rejected; later events do not change this."""
        return self.finding is not None

    def finish(self) -> None:
        """End the history."""

    def complete(self) -> Rows:
        """The rows that no further event can change, each once."""
        return self._own(self.tables.complete())

    def end(self) -> Rows:
        """End the history, and return all other rows."""
        self.finish()
        verdict, reason = self.verdict()
        finding = self.finding
        common = {"profile": self.profile, "accepted": self.accepted}
        row = {
            **common,
            "verdict": verdict,
            "reason": reason,
            "events": self.events,
            "steps": self.steps,
            "line": finding["line"] if finding else None,
            "at_ms": finding["at_ms"] if finding else self.last_ms,
        }
        rows = [("verdict", row), *([("finding", {**common, **finding})] if finding else [])]
        yield from self._own(rows)
        yield from self._own(self.tables.rest(self.last_ms))

    def verdict(self) -> tuple[str, str | None]:
        """The verdict, and the reason for it."""
        if self.finding is not None:
            return "rejected", self.finding["reason"]
        return ("undecided" if self.undecided else "accepted"), self.undecided

    def rule_rows(self, names: Iterable[str]) -> list[dict[str, str]]:
        """The rules of these names, as a finding has them."""
        rules = EVERY_PROFILE[self.profile].rules
        return rule_rows(rules[name] for name in names if name in rules)

    def _own(self, rows: Iterable[tuple[str, Row]]) -> Rows:
        history = dict(zip(("group_id", "source", "session"), self.key, strict=True))
        return ((name, {**history, **row}) for name, row in rows)


def rule_rows(rules: Iterable[VersionRule]) -> list[dict[str, str]]:
    """Rules as a finding has them."""
    return [{"rule": r.id, "says": r.words, "source": r.source} for r in rules]
