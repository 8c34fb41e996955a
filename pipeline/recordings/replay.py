"""Replays a group's events against the model, in order and in bounded memory, without Spark.

`take` checks one event with the oracle; `run` checks many, and those of known pairs with
`steady_state`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from groupcheck.model.bodies import encode_record
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.event_columns import Events
from groupcheck.pipeline.history_replay import MOST_RECORDED, HistoryReplay, Row, rule_rows
from groupcheck.pipeline.recordings.minimised import Minimised, Runs, complete, minimised
from groupcheck.pipeline.recordings.observed import Observed
from groupcheck.pipeline.recordings.steady_state import SteadyState
from groupcheck.properties.findings.explanation import explain
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.checker import Exchange, GroupChecker, Observer
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.mid_stream import MidStreamChecker
from groupcheck.properties.histories.reader import BEFORE

MOST_EXCHANGES: Final = 200  # in memory, or twice as many
OVERHEAD: Final = 150  # characters of a line without its body


class Replay(HistoryReplay, Observer):
    """The history of one group in one session."""

    def __init__(self, opened: Event) -> None:
        self.observed = Observed()
        super().__init__(opened, self.observed)
        self.checker = GroupChecker(opened, self)
        config = self.checker.checker.run.oracle.config
        self._steady = SteadyState(EVERY_PROFILE[self.profile], config, self.observed)
        self._since: int | None = None  # the first line that was checked, if not all are
        self._runs: Runs | None = []  # for the recording of a finding; None if it is too long
        self._characters = 0

    def check(self, event: Event) -> None:
        """Check an event with the oracle."""
        if not self.checker.decided:
            self._leave()
            self.checker.take(event)
            self._note_finding()

    def run(self, events: Events) -> None:
        """Check events, which are all of this history."""
        at = 0
        while at < len(events) and not self.checker.decided:
            pair = events.pairs[at]
            if pair is None:
                self.take(events[at])
                at += 1
                continue
            end = self._run_steadily(events, at)
            if end == at and not self.checker.decided:
                self.take(events[at])
                self.take(events[at + 1])
                self._learn(pair, events[at])
                end += 2
            at = end
        if at < len(events):
            self.events += len(events) - at
            self.last_ms = events[-1].at_ms

    def _run_steadily(self, events: Events, start: int) -> int:
        """Take known pairs; returns the event at which they end."""
        steady, checker = self._steady, self.checker
        oracle = checker.checker.run.oracle
        if not (self._is_idle() and steady.enter(oracle.states, len(oracle.names), checker.now_ms)):
            return start
        passed = steady.passed
        end = steady.run(events, start)
        if end > start:
            checker.answered = True
            checker.accepted += end - start
            checker.steps += (end - start) // 2 + steady.passed - passed
            self.last_ms = checker.now_ms = steady.now_ms
            self.events += end - start
            taken = events[start:end]
            self._record(taken, sum(map(len, taken.body)))
        return end

    def _learn(self, pair: str, request: Event) -> None:
        """Add a pair that the oracle has checked to the known pairs, if its effect allows it."""
        checker = self.checker.checker
        if self.checker.decided or not self._is_idle() or not checker.checked:
            return
        given, oracle = checker.run.exchanges[-1].given, checker.run.oracle
        entered = self._steady.enter(oracle.states, len(oracle.names), self.checker.now_ms)
        if entered and isinstance(given, Request):
            self._steady.learn(pair, given, str(request.body), oracle.kept)

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
        """Keep the event for the recording of a finding."""
        if event.kind != "open":
            self._record([event], len(event.body or ""))

    def on_responses(self, exchange: Exchange) -> None:
        """Count commits, which do not depend on the state of the group."""
        self.observed.responses(exchange.given, exchange.answers, exchange.at_ms)
        checker = self.checker.checker
        if isinstance(checker, MidStreamChecker) and self._since is None and checker.ever:
            self._since = exchange.events[-1] if exchange.events else 0

    def on_step(
        self, before: list[Coordinator], after: list[Coordinator], exchange: Exchange
    ) -> None:
        """Count a checked exchange."""
        del after
        checker = self.checker.checker
        self.observed.step(before, checker.run.oracle, exchange.given, exchange.at_ms)
        checker.discard_exchanges(MOST_EXCHANGES)

    def on_gap(self) -> None:
        """Begin the recording of a finding after the gap."""
        self._runs, self._characters = [], 0

    @property
    def rejected(self) -> bool:
        """Whether the history is rejected; later events do not change this."""
        return self.finding is not None and self.checker.answered

    def finish(self) -> None:
        """Check the last exchange."""
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
        self._runs = None

    def _recording(self, row: Row) -> Minimised | None:
        """The recording of the group up to the finding of that row, unless it is too long."""
        if self._runs is None:
            return None
        if self.checker.unknown is not None:
            return complete(self._header(), self._runs)

        def same(finding: Finding) -> bool:
            return {**finding_row(finding, {}, []), "line": row["line"]} == row

        return minimised(self._header(), self._runs, same)

    def _header(self) -> str:
        """The first line of the recording of a finding."""
        header = {"type": "open", **self.header}
        header.pop("before", None)
        if self.checker.unknown is not None:
            header["groups"] = [self.key[0]]
        return json.dumps(header)

    def _record(self, events: Sequence[Event], characters: int) -> None:
        """Keep events for the recording of a finding, up to `MOST_RECORDED` characters."""
        if self._runs is not None:
            self._runs.append(events)
            self._characters += characters + OVERHEAD * len(events)
            if self._characters > MOST_RECORDED:
                self._runs = None


def finding_row(finding: Finding, lines: Mapping[int, int], events: list[int]) -> Row:
    """The row of a finding, without its history.

    Args:
        finding: the finding of the oracle in an exchange.
        lines: the lines of the responses in the exchange, by request id.
        events: the lines of its events.

    """
    rules = EVERY_PROFILE[finding.sequence.profile].rules
    difference = finding.difference
    number = difference.request_id if difference else None
    requests = {
        step.request_id: step for step in finding.sequence.steps if isinstance(step, Request)
    }
    request = requests.get(number) if number is not None else None
    names = dict.fromkeys(_reasons(finding, number))
    return {
        "line": lines.get(number or -1) or (events[0] if events else 0),
        "kind": difference.kind if difference else "unexplained",
        "reason": finding.reason or "unexplained",
        "request_id": number,
        "api": request.api if request else None,
        "seen": _json(difference.seen) if difference and difference.seen else None,
        "allowed": sorted(_allowed(finding, number)),
        "because": rule_rows(rules[name] for name in names if name in rules),
        "refused": rule_rows(refusal.rule for refusal in explain(finding).rules),
    }


def _allowed(finding: Finding, number: int | None) -> set[str]:
    """Each response to the request that the model allows."""
    return {
        _json(response.body)
        for outcome in finding.allowed
        for response in outcome.responses
        if response.request_id == number
    }


def _reasons(finding: Finding, number: int | None) -> Iterable[str]:
    """The rules of these responses; if no response is allowed, the rules that apply instead."""
    for outcome in finding.allowed:
        pairs = zip(outcome.responses, outcome.reasons, strict=True)
        reasons = [reason for response, reason in pairs if response.request_id == number]
        yield from reasons or outcome.applied


def _json(body: Any) -> str:  # noqa: ANN401 - any answer
    return json.dumps(encode_record(body), separators=(",", ":"))
