"""Replays a group's events against the model, in order and in bounded memory; Spark is not needed.

Events come one by one (`take`), or as columns (`run`): then `steady_state` checks what it knows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Coordinator
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.findings import finding_row
from groupcheck.pipeline.history_replay import HistoryReplay, Row
from groupcheck.pipeline.recordings.columns import AROUND, NO_PAIR, Columns
from groupcheck.pipeline.recordings.minimised import Minimised, minimised, whole
from groupcheck.pipeline.recordings.observed import Observed
from groupcheck.pipeline.recordings.steady_state import SteadyState
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.checker import Exchange, GroupChecker
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.mid_stream import MidStreamChecker
from groupcheck.properties.histories.reader import BEFORE

if TYPE_CHECKING:
    import pyarrow as pa

KEPT: Final = 200  # exchanges of a long history, or twice as many
MOST_RECORDED: Final = 4 * 1024 * 1024  # characters of a group's recording in a finding


class Replay(HistoryReplay):
    """The history of one group in one session."""

    def __init__(self, opened: Event) -> None:
        self.observed = Observed()
        super().__init__(opened, self.observed)
        self.checker = GroupChecker(opened, self)
        config = self.checker.checker.run.oracle.config
        self._steady = SteadyState(PROFILES[self.profile], config, self.observed)
        self._since: int | None = None  # the first line that was checked, if not all are
        self._kept: list[Event | pa.RecordBatch] | None = []  # for the recording of a finding
        self._characters = 0

    def check(self, event: Event) -> None:
        """Check an event with the oracle."""
        if not self.checker.decided:
            self._leave()
            self.checker.take(event)
            self._note_finding()

    def run(self, events: Columns, start: int, stop: int) -> None:
        """Check events from `start` to before `stop`, which are all of this history."""
        at = start
        while at < stop and not self.checker.decided:
            if events.pairs[at] == NO_PAIR:
                self.take(events.event(at))
                at += 1
                continue
            done = self._run_steadily(events, at, stop)
            if done == at and not self.checker.decided:
                self.take(events.event(at))
                self.take(events.event(at + 1))
                self._learn(events, at)
                done += 2
            at = done
        if at < stop:
            self.events += stop - at
            self.last_ms = events.at_ms[stop - 1]

    def _run_steadily(self, events: Columns, start: int, stop: int) -> int:
        """Take known pairs; returns the event at which they end."""
        steady, checker = self._steady, self.checker
        oracle = checker.checker.run.oracle
        if not (self._is_idle() and steady.enter(oracle.states, len(oracle.names), checker.now_ms)):
            return start
        passed = steady.passed
        done = steady.run(events, start, stop)
        if done > start:
            checker.answered = True
            checker.accepted += done - start
            checker.steps += (done - start) // 2 + steady.passed - passed
            self.last_ms = checker.now_ms = steady.now_ms
            self.events += done - start
            if self._kept is not None:
                self._kept.append(events.batch.slice(start, done - start))
                self._count(events.characters(start, done))
        return done

    def _learn(self, events: Columns, at: int) -> None:
        """The oracle has checked the pair: know it from now on, if the model allows it."""
        checker = self.checker.checker
        if self.checker.decided or not self._is_idle() or not checker.checked:
            return
        given, oracle = checker.run.exchanges[-1].given, checker.run.oracle
        entered = self._steady.enter(oracle.states, len(oracle.names), self.checker.now_ms)
        if entered and isinstance(given, Request):
            self._steady.learn(events.said(at), given, oracle.kept)

    def _is_idle(self) -> bool:
        idle = self.checker.is_idle()
        self._note_finding()
        return idle

    def _leave(self) -> None:
        """Return the state from the fast path to the oracle."""
        state = self._steady.leave()
        if state is not None:
            self.checker.checker.run.oracle.states = [state]

    def on_event(self, event: Event) -> None:
        """Keep the event for the recording of a finding, if there is room."""
        if self._kept is not None and event.kind != "open":
            self._kept.append(event)
            self._count(len(event.body or "") + AROUND)

    def on_responses(self, exchange: Exchange) -> None:
        """Count commits, which do not depend on the state of the group."""
        self.observed.responses(exchange.given, exchange.answers, exchange.at_ms)
        checker = self.checker.checker
        if isinstance(checker, MidStreamChecker) and self._since is None and checker.ever:
            self._since = exchange.events[-1] if exchange.events else 0

    def on_step(self, before: list[Coordinator], exchange: Exchange) -> None:
        """Count what a checked exchange reveals."""
        checker = self.checker.checker
        self.observed.step(before, checker.run.oracle, exchange.given, exchange.at_ms)
        checker.forget(KEPT)

    def on_gap(self) -> None:
        """A recording of a finding begins after the gap."""
        self._kept, self._characters = [], 0

    @property
    def rejected(self) -> bool:
        """Whether the history is rejected; later events do not change this."""
        return self.finding is not None and self.checker.answered

    def finish(self) -> None:
        """Check what still waits."""
        self._leave()
        checker = self.checker
        checker.finish()
        self._note_finding()
        self.steps, self.accepted, self.undecided = (
            checker.steps,
            checker.accepted,
            checker.undecided,
        )
        if self.finding is not None and not checker.answered:
            self.finding = None
            self.undecided = "the group has no response: a trace, for groupcheck replay FILE PORT"

    def verdict(self) -> tuple[str, str | None]:
        """The verdict, and the reason for it."""
        unknown = self.checker.unknown
        if unknown is None or self.finding is not None or self.undecided is not None:
            return super().verdict()
        if self._since is None:
            return "undecided", unknown
        verdict = "accepted" if unknown == BEFORE else "undecided"
        return verdict, f"{unknown}; checked from line {self._since} on"

    def _note_finding(self) -> None:
        checker, exchange = self.checker, self.checker.rejected
        if checker.finding is None or exchange is None or self.finding is not None:
            return
        self.finding = finding_row(checker.finding, exchange.lines, exchange.events)
        recording = self._recording(self.finding)
        self.finding |= {
            "at_ms": exchange.at_ms,
            "states": len(checker.checker.run.oracle.states),
            "recording": recording and recording.text,
            "omitted": recording and recording.omitted,
            "trace": recording and recording.trace,
        }
        self._kept = None

    def _recording(self, row: Row) -> Minimised | None:
        """The group's own recording up to the finding of that row, if there was room for it."""
        if self._kept is None:
            return None
        if self.checker.unknown is not None:
            return whole(self._header(), self._kept)

        def same(finding: Finding) -> bool:
            return {**finding_row(finding, {}, []), "line": row["line"]} == row

        return minimised(self._header(), self._kept, same)

    def _header(self) -> str:
        """The first line of a recording of the group, for the events that are kept."""
        header = {"type": "open", **self.header}
        header.pop("before", None)
        if self.checker.unknown is not None:
            header["groups"] = [self.key[0]]
        return json.dumps(header)

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MOST_RECORDED:
            self._kept = None
