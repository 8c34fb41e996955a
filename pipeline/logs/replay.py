"""Checks the log of a group against the automaton of the version; only logged events count.

A history begins in any state, and continues in any state after a gap.
"""

from __future__ import annotations

import json
from typing import Final

from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.history_replay import HistoryReplay, Row
from groupcheck.pipeline.logs.automaton import EventPattern, StateSets, automaton
from groupcheck.pipeline.logs.brokers import Brokers
from groupcheck.pipeline.logs.log_events import PRINTS, LogEvent, rules_of
from groupcheck.pipeline.logs.observed import LogObserved
from groupcheck.properties.histories.events import Event

MOST_RECORDED: Final = 4 * 1024 * 1024  # characters of a group's lines in a finding
MOST_ALLOWED: Final = 40  # lines that a finding lists


class LogReplay(HistoryReplay):
    """The history of one group in the logs of one cluster."""

    def __init__(self, opened: Event) -> None:
        self.observed = LogObserved()
        super().__init__(opened, self.observed)
        self._prints = frozenset(PRINTS[self.profile].values()) | {"enlisted"}
        self._states = StateSets(automaton(self.profile))
        self._brokers = Brokers()
        self._stopped = False  # the rest is not checked
        self._lines: list[str] | None = []
        self._characters = 0

    def check(self, event: Event) -> None:
        """Check an event."""
        if event.kind == "log":
            self._line(event)
        elif event.kind == "open":
            self._stop(self._brokers.opened(json.loads(event.body or "{}")))
        else:
            self.undecided = self.undecided or f"{event.kind}: {event.body}"
            self._states.any_state()
            self._stopped = self._stopped or event.kind == "cut"
        if self.finding is None and not self._stopped:
            self.accepted += 1

    def _stop(self, contradiction: str | None) -> None:
        self.undecided = self.undecided or contradiction or None
        self._stopped = self._stopped or bool(contradiction)

    def _line(self, event: Event) -> None:
        said = json.loads(event.body or "{}")
        if self._brokers.has_said(said, event.at_ms):
            return
        if self._lines is not None:
            self._lines.append(said["text"])
            self._characters += len(said["text"]) + 1
            if self._characters > MOST_RECORDED:
                self._lines = None
        if self.finding is None and not self._stopped and said["what"] in self._prints:
            self._check(event, said)
        self.observed.line(said, event.at_ms)

    def _check(self, event: Event, said: Row) -> None:
        moved = self._brokers.moved(said, event.at_ms)
        if moved.contradiction:
            self._stop(moved.contradiction)
            return
        if moved.elsewhere:
            return
        if moved.unknown:
            self._states.any_state()
        elif moved.lost:
            self._states.lost()
        line = _pattern(said)
        ended = self._states.take(line, said.get("generation"))
        if ended is None and said["what"] == "starting":
            self._states.lost()  # whatever the state was before
            ended = frozenset()
        if ended is None:
            self._found(event, said, line)
            return
        self.steps += 1
        if len(ended) == 1:
            self.observed.transitions.update(ended)

    def _found(self, event: Event, said: Row, line: EventPattern) -> None:
        allowed = list(self._states.next())
        mismatch = [row for log_event, row in allowed if line.matches(log_event)]
        printing = [n for n, what in PRINTS[self.profile].items() if what == said["what"]]
        where = f"{said['file'].rpartition('/')[2]}:{event.line}"
        self.finding = {
            "line": event.line,
            "at_ms": event.at_ms,
            "kind": "another generation" if mismatch else "no such line",
            "reason": f"{where}: {_in_words(said)}; allowed: {_listed(mismatch, allowed)}",
            "seen": json.dumps(said),
            "allowed": sorted({json.dumps(row) for _, row in allowed})[:MOST_ALLOWED],
            "because": self.rule_rows(sorted({log_event.why for log_event, _ in allowed})),
            "refused": self.rule_rows([] if mismatch else printing),
            "states": len(self._states),
            "recording": "".join(f"{line}\n" for line in self._lines or ()) or None,
        }


def _pattern(said: Row) -> EventPattern:
    what, state = said["what"], said.get("state")
    if what == "loaded" and "members" in said:
        state = str(GroupState.STABLE if said["members"] else GroupState.EMPTY)
    # The reason of a rebalance is the broker's; that of a LeaveGroup is the client's.
    rules = rules_of(said["reason"]) if what == "preparing" and "reason" in said else None
    return EventPattern(what, state, rules)


def _in_words(said: Row) -> str:
    words = [f"{said['what']!r}"]
    words += [f"{name} {said[name]}" for name in ("generation", "state") if name in said]
    return " ".join(words) + " is not allowed"


def _listed(mismatch: list[Row], allowed: list[tuple[LogEvent, Row]]) -> str:
    """What might have come, in a few words."""
    if mismatch:
        return "generation " + " or ".join(sorted({str(row["generation"]) for row in mismatch}))
    return ", ".join(sorted({repr(row["what"]) for _, row in allowed})) or "nothing"
