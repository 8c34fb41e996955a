"""Checks the log of a group against the automaton of the version.

A history begins in any state, and continues in any state after a gap.
"""

from __future__ import annotations

import json
from typing import Final

from groupcheck.model.vocabulary import GroupState
from groupcheck.pipeline.history_replay import MOST_RECORDED, HistoryReplay, Row
from groupcheck.pipeline.logs.automaton import EventPattern, StateSets, automaton
from groupcheck.pipeline.logs.brokers import Brokers
from groupcheck.pipeline.logs.log_events import PRINTS, LogEvent, rules_of
from groupcheck.pipeline.logs.observed import LogObserved
from groupcheck.properties.histories.events import Event

MOST_ALLOWED: Final = 40  # of the allowed lines in a finding


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

    def _stop(self, reason: str | None) -> None:
        self.undecided = self.undecided or reason
        self._stopped = self._stopped or reason is not None

    def _line(self, event: Event) -> None:
        line = json.loads(event.body or "{}")
        if self._brokers.is_repeated(line, event.at_ms):
            return
        if self._lines is not None:
            self._lines.append(line["text"])
            self._characters += len(line["text"]) + 1
            if self._characters > MOST_RECORDED:
                self._lines = None
        if self.finding is None and not self._stopped and line["what"] in self._prints:
            self._check(event, line)
        self.observed.line(line, event.at_ms)

    def _check(self, event: Event, line: Row) -> None:
        coordinated = self._brokers.take(line, event.at_ms)
        if coordinated.error:
            self._stop(coordinated.error)
            return
        if coordinated.obsolete:
            return
        if coordinated.unknown:
            self._states.any_state()
        elif coordinated.moved:
            self._states.moved()
        pattern = _pattern(line)
        ended = self._states.take(pattern, line.get("generation"))
        if ended is None and line["what"] == "starting":
            self._states.moved()  # a broker may start in any state of the group
            ended = frozenset()
        if ended is None:
            self._reject(event, line, pattern)
            return
        self.steps += 1
        if len(ended) == 1:
            self.observed.transitions.update(ended)

    def _reject(self, event: Event, line: Row, pattern: EventPattern) -> None:
        allowed = list(self._states.next_events())
        mismatch = [row for log_event, row in allowed if pattern.matches(log_event)]
        rules = [rule for rule, name in PRINTS[self.profile].items() if name == line["what"]]
        where = f"{line['file'].rpartition('/')[2]}:{event.line}"
        self.finding = {
            "line": event.line,
            "at_ms": event.at_ms,
            "kind": "another generation" if mismatch else "no such line",
            "reason": f"{where}: {_description(line)}; allowed: {_listed(mismatch, allowed)}",
            "seen": json.dumps(line),
            "allowed": sorted({json.dumps(row) for _, row in allowed})[:MOST_ALLOWED],
            "because": self.rule_rows(sorted({log_event.rule for log_event, _ in allowed})),
            "refused": self.rule_rows([] if mismatch else rules),
            "states": len(self._states),
            "recording": "".join(f"{text}\n" for text in self._lines or ()) or None,
        }


def _pattern(line: Row) -> EventPattern:
    event, state = line["what"], line.get("state")
    if event == "loaded" and "members" in line:
        state = str(GroupState.STABLE if line["members"] else GroupState.EMPTY)
    # The broker generates the reason of a rebalance; the client sends that of a LeaveGroup.
    rules = rules_of(line["reason"]) if event == "preparing" and "reason" in line else None
    return EventPattern(event, state, rules)


def _description(line: Row) -> str:
    words = [f"{line['what']!r}"]
    words += [f"{name} {line[name]}" for name in ("generation", "state") if name in line]
    return " ".join(words) + " is not allowed"


def _listed(mismatch: list[Row], allowed: list[tuple[LogEvent, Row]]) -> str:
    """The allowed lines, as text."""
    if mismatch:
        return "generation " + " or ".join(sorted({str(row["generation"]) for row in mismatch}))
    return ", ".join(sorted({repr(row["what"]) for _, row in allowed})) or "nothing"
