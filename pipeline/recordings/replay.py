"""A group's events held to the model, in order; no Spark in it, and no more memory for more events.

The oracle is that of `groupcheck replay`: an exchange is something that was asked, or time that
passed, and what was answered then. Where answers wait for what other groups have written (4.1),
the exchanges from a hold of the appends to their release are kept until that is there.

Events come one by one (`take`), or as columns (`run`): then the oracle is spared what `calm` knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupcheck.model.bodies import Json, MalformedBodyError
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Cleanup, Coordinator, HoldAppends, ReleaseAppends
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.pipeline.findings import finding_row
from groupcheck.pipeline.recordings.bodies import request_body, response_body
from groupcheck.pipeline.recordings.calm import Calm
from groupcheck.pipeline.recordings.columns import AROUND, NO_PAIR, Columns
from groupcheck.pipeline.recordings.condensed import Condensed, condensed, whole
from groupcheck.pipeline.recordings.events import Event
from groupcheck.pipeline.recordings.observed import Observed
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.middle import MiddleJudge
from groupcheck.properties.histories.one_group import part, parts
from groupcheck.properties.histories.recorded import BEFORE, GroupJudge
from groupcheck.properties.run import FoundError

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
KEPT: Final = 200  # exchanges that are known of a long history, or twice as many
MOST_RECORDED: Final = 4 * 1024 * 1024  # characters of a group's recording in a finding
MOST_WAITING: Final = 100_000  # exchanges that wait for a release
ASSUMED: Final = f"{BEFORE}, and nobody knows by what settings to judge it"


class _Exchange(NamedTuple):
    """What was given and answered; `events` of them, where they stand, and when it was over."""

    given: Input
    answers: list[Response]
    lines: dict[int, int]  # of the answers, by their requests
    at_ms: int
    events: list[int]  # the lines of all its events


class Replay:
    """The history of one group in one session."""

    def __init__(self, opened: Event) -> None:
        header: Json = json.loads(opened.body or "{}")
        self.key = opened.history
        self.profile: str = header["profile"]
        self.broker: Mapping[str, int] = header["config"]
        self.observed = Observed()
        # Why nothing is known of what it was before; it is then judged as soon as that shows.
        self._middle: str | None = BEFORE if header.get("before") else None
        self._judge = (MiddleJudge if self._middle else GroupJudge)(self.profile, self.broker)
        self._asked: set[int] = set()  # since then, without an answer
        self._since: int | None = None  # the line from which on it is judged
        self._calm = Calm(PROFILES[self.profile], self._judge.run.oracle.config, self.observed)
        self._waits = PROFILES[self.profile].traits.answers_wait
        self._open: _Exchange | None = None  # to which answers may yet come
        self._waiting: list[_Exchange] = []
        self._holding = False
        self._now_ms = 0
        self._events = self._accepted = self._steps = 0
        self._undecided: str | None = ASSUMED if header.get("assumed") else None
        self._answered = False
        self._told = {"type": "open", **header}
        self._kept: list[Event | pa.RecordBatch] | None = []
        self._characters = 0
        self._last_ms = 0
        self._finding: Row | None = None
        self._rejected: _Exchange | None = None

    def take(self, event: Event) -> None:
        """Go on by an event."""
        self._events += 1
        self._last_ms = event.at_ms
        if self._decided:
            return
        self._rest()
        try:
            self._take(event)
        except FoundError as found:
            self._found(found)
        except MalformedBodyError as error:  # the table was not written by ingest
            self._undecided = str(error)

    def run(self, events: Columns, start: int, stop: int) -> None:
        """Go on by events, which are all of this history."""
        at = start
        while at < stop and not self._decided:
            if events.pairs[at] == NO_PAIR:
                self.take(events.event(at))
                at += 1
                continue
            done = self._calmly(events, at, stop)
            if done == at and not self._decided:
                self.take(events.event(at))
                self.take(events.event(at + 1))
                self._learn(events, at)
                done += 2
            at = done
        if at < stop:
            self._events += stop - at
            self._last_ms = events.at_ms[stop - 1]

    def _calmly(self, events: Columns, start: int, stop: int) -> int:
        """Go on as far as there is nothing but what is known; the event before which it ends."""
        calm, oracle = self._calm, self._judge.run.oracle
        if not (self._closed() and calm.enter(oracle.states, len(oracle.names), self._now_ms)):
            return start
        passed = calm.passed
        done = calm.run(events, start, stop)
        if done > start:
            self._answered = True
            self._events += done - start
            self._accepted += done - start
            self._steps += (done - start) // 2 + calm.passed - passed
            self._last_ms = self._now_ms = calm.now_ms
            if self._kept is not None:
                self._kept.append(events.batch.slice(start, done - start))
                self._count(events.characters(start, done))
        return done

    def _learn(self, events: Columns, at: int) -> None:
        """The pair was taken, and nothing more is answered: know it again, if it is lawful."""
        if self._decided or not self._closed() or not self._judge.judged:
            return
        given, oracle = self._judge.run.exchanges[-1].given, self._judge.run.oracle
        entered = self._calm.enter(oracle.states, len(oracle.names), self._now_ms)
        if entered and isinstance(given, Request):
            self._calm.learn(events.said(at), given, oracle.kept)

    def _closed(self) -> bool:
        """Whether all is judged that was asked up to here, and was lawful."""
        try:
            self._close()
        except FoundError as found:
            self._found(found)
        return not (self._decided or self._waiting)

    def _rest(self) -> None:
        """Give the state back to the oracle."""
        state = self._calm.leave()
        if state is not None:
            self._judge.run.oracle.states = [state]

    @property
    def _decided(self) -> bool:
        return self._undecided is not None or self._finding is not None

    def _take(self, event: Event) -> None:
        kind = event.kind
        if kind == "gap":
            self._lose(f"gap: {event.body}")
            return
        if kind == "cut":
            self._undecided = str(event.body)
            return
        if kind == "response":
            self._answer(event)
            return
        self._close()
        if event.at_ms > self._now_ms:
            self._begin(Advance(event.at_ms - self._now_ms), event.at_ms)
            self._now_ms = event.at_ms
        self._note(event)
        given: Input
        if kind == "request":
            given = self._request(event)
        elif kind == "hold":
            given = HoldAppends()
        elif kind == "release":
            given = ReleaseAppends()
        elif kind == "fault" and json.loads(event.body or "{}").get("fault") == "cleanup":
            given = Cleanup()
        elif kind == "open":
            self._accepted += 1
            return
        else:
            self._undecided = f"nothing is known after {event.kind} {event.body}"
            return
        self._begin(given, event.at_ms).events.append(event.line)

    def _lose(self, why: str) -> None:
        """Something is not known: what comes is judged when it shows where the group is."""
        self._open = None  # an answer to it may be what could not be read
        self._waiting, self._holding = [], False
        self._asked, self._kept, self._characters = set(), [], 0
        if isinstance(self._judge, MiddleJudge):
            self._judge.gap()
        else:
            self._judge = MiddleJudge(self.profile, self.broker, self._now_ms)
        if self._middle is None or self._middle == BEFORE:
            self._middle = why

    def _request(self, event: Event) -> Request:
        api, version = str(event.api), int(event.api_version or 0)
        body = request_body(api, version, event.body or "null")
        asked = parts(body, (event.group_id,))[event.group_id]
        if self._middle is not None:
            self._asked.add(int(event.request_id or 0))
        client = (event.client_id or "", event.client_host or "")
        return Request(int(event.request_id or 0), version, asked, *client)

    def _answer(self, event: Event) -> None:
        if self._middle is not None:
            if event.request_id not in self._asked:
                return  # it was asked before
            self._asked.discard(event.request_id)
        if event.at_ms > self._now_ms:
            self._begin(Advance(event.at_ms - self._now_ms), event.at_ms)
            self._now_ms = event.at_ms
        self._note(event)
        self._answered = True
        api, version = str(event.api), int(event.api_version or 0)
        body = response_body(api, version, event.body or "null")
        number = int(event.request_id or 0)
        exchange = self._open
        if exchange is None:
            self._undecided = f"gap: nothing was asked before the answer in line {event.line}"
            return
        exchange.answers.append(Response(number, part(body, event.group_id)))
        exchange.lines[number] = event.line
        exchange.events.append(event.line)

    def _begin(self, given: Input, at_ms: int) -> _Exchange:
        """Another exchange begins: that before is whole."""
        self._close()
        self._open = _Exchange(given, [], {}, at_ms, [])
        return self._open

    def _close(self) -> None:
        exchange, self._open = self._open, None
        if exchange is None:
            return
        if self._waits and (self._holding or isinstance(exchange.given, HoldAppends)):
            self._holding = not isinstance(exchange.given, ReleaseAppends)
            self._waiting.append(exchange)
            if not self._holding or len(self._waiting) >= MOST_WAITING:
                self._judge_waiting(exchange.answers if not self._holding else [])
            return
        self._step(exchange, [])

    def _judge_waiting(self, held: list[Response]) -> None:
        waiting, self._waiting = self._waiting, []
        for exchange in waiting:
            last = isinstance(exchange.given, ReleaseAppends)
            self._step(exchange, [] if last else held)

    def _step(self, exchange: _Exchange, held: list[Response]) -> None:
        judge = self._judge
        before = judge.run.oracle.states
        self._rejected = exchange  # unless it is accepted
        answers = exchange.answers
        if isinstance(judge, MiddleJudge):
            judge.now_ms = exchange.at_ms
        judge.take(exchange.given, answers, held)
        self._rejected = None
        self.observed.told(exchange.given, answers, exchange.at_ms)
        if isinstance(judge, MiddleJudge) and not self._knows(judge, before, exchange):
            return
        self._steps += 1
        self._accepted += len(exchange.events)
        self.observed.step(before, judge.run.oracle, exchange.given, exchange.at_ms)
        judge.forget(KEPT)

    def _knows(self, judge: MiddleJudge, before: list[Coordinator], exchange: _Exchange) -> bool:
        """Whether the step was judged, from states in which the group was before it."""
        if self._since is None and judge.ever:
            self._since = exchange.events[-1] if exchange.events else 0
        return judge.judged and bool(before)

    @property
    def rejected(self) -> bool:
        """Whether something was not lawful: nothing that comes can change that."""
        return self._finding is not None and self._answered

    @property
    def _whose(self) -> Row:
        return dict(zip(("group_id", "source", "session"), self.key, strict=True))

    def over(self) -> Iterator[tuple[str, Row]]:
        """The rows that nothing can change any more, each once, with the names of their tables."""
        for name, row in self.observed.over():
            yield name, {**self._whose, **row}

    def end(self) -> Iterator[tuple[str, Row]]:
        """The history is over: each row that comes of it, with the name of its table."""
        self._rest()
        if self._finding is None:
            try:
                self._close()
                self._judge_waiting([])
            except FoundError as found:
                self._found(found)
        if self._finding is not None and not self._answered:
            self._finding = None
            self._undecided = "nothing about the group is answered: a trace, to be replayed"
        if self._finding is not None:
            verdict, reason = "rejected", self._finding.pop("rule")
        elif self._undecided is not None:
            verdict, reason = "undecided", self._undecided
        elif self._middle is not None and self._since is None:
            verdict, reason = "undecided", self._middle
        elif self._middle is not None:
            verdict = "accepted" if self._middle == BEFORE else "undecided"
            reason = f"{self._middle}; judged from line {self._since} on"
        else:
            verdict, reason = "accepted", None
        whose, finding = self._whose, self._finding
        yield (
            "verdict",
            {
                **whose,
                "profile": self.profile,
                "verdict": verdict,
                "reason": reason,
                "events": self._events,
                "accepted": self._accepted,
                "steps": self._steps,
                "line": finding["line"] if finding else None,
                "at_ms": finding["at_ms"] if finding else self._last_ms,
            },
        )
        if finding is not None:
            yield "finding", {**whose, **finding}
        for name, row in self.observed.rows():
            yield name, {**whose, **row}

    def _found(self, found: FoundError) -> None:
        exchange = self._rejected
        if exchange is None:
            raise found
        self._finding = finding_row(found.finding, exchange.lines, exchange.events)
        recording = self._recording(self._finding)
        self._finding |= {
            "profile": self.profile,
            "at_ms": exchange.at_ms,
            "accepted": self._accepted,
            "states": len(self._judge.run.oracle.states),
            "recording": recording and recording.text,
            "left_out": recording and recording.left_out,
            "trace": recording and recording.trace,
        }
        self._kept = None

    def _recording(self, row: Row) -> Condensed | None:
        """The group's own recording up to the finding of that row, if there was room for it."""
        if self._kept is None:
            return None
        if self._middle is not None:
            return whole(self._header(), self._kept)

        def same(finding: Finding) -> bool:
            return {**finding_row(finding, {}, []), "line": row["line"]} == row

        return condensed(self._header(), self._kept, same)

    def _header(self) -> str:
        """The first line of a recording of the group, as far as it was kept."""
        told = {name: said for name, said in self._told.items() if name != "before"}
        if self._middle is not None:
            told["groups"] = [self.key[0]]
        return json.dumps(told)

    def _note(self, event: Event) -> None:
        """Keep the event for the recording of a finding, if there is room."""
        if self._kept is not None and event.kind != "open":
            self._kept.append(event)
            self._count(len(event.body or "") + AROUND)

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MOST_RECORDED:
            self._kept = None
