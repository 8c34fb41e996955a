"""The checker of recordings: the events of one group against the model, in order.

`check` and `replay FILE` use it. A recording has the messages of the port protocol in both
directions, for many groups, with the real ids (`groupcheck serve --record`). The model has one
group, so each group is checked separately.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.model.bodies import Json, MalformedBodyError, shown
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Coordinator,
    HoldAppends,
    ReleaseAppends,
)
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.bodies import own_request, own_response
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.mid_stream import MidStreamChecker
from groupcheck.properties.histories.reader import BEFORE
from groupcheck.properties.histories.recorded_replay import ExchangeChecker
from groupcheck.properties.histories.recording_file import Recorded, opened_intact, read
from groupcheck.properties.run import FoundError

MOST_WAITING: Final = 100_000  # exchanges that wait for a release
ASSUMED: Final = f"{BEFORE}, and the settings of the broker are unknown"


class GroupsChecked(NamedTuple):
    """The result for a recording: groups, steps, the first finding, and the unchecked parts."""

    groups: int
    steps: int
    group_id: str = ""
    finding: Finding | None = None
    cut: tuple[str, ...] = ()


def load(path: Path) -> list[Recorded]:
    """Read a recording.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    with opened_intact(path) as file:
        return read(file, str(path))


def check_groups(recordings: list[Recorded], observers: Iterable[Observer] = ()) -> GroupsChecked:
    """Check the recorded events of each group, up to the first finding.

    Args:
        recordings: of each group.
        observers: that of each group.
    """
    steps = 0
    cut = []
    for each, observer in zip_longest(recordings, observers):
        checker = check_group(each, observer)
        if checker is None:
            cut.append(f"group {shown(each.group_id)}: {BEFORE}")
            continue
        if checker.finding is not None:
            return GroupsChecked(len(recordings), steps, each.group_id, checker.finding)
        steps += checker.steps
        if checker.undecided is not None:
            cut.append(f"group {shown(each.group_id)}: {checker.undecided}")
    return GroupsChecked(len(recordings), steps, cut=tuple(cut))


def check_text(text: str) -> GroupsChecked:
    """Check the lines of a recording.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    return check_groups(read(text.encode().splitlines(keepends=True), "recording"))


def check_group(recorded: Recorded, observer: Observer | None = None) -> GroupChecker | None:
    """The checker of a group after all its events; None if the group existed before."""
    if recorded.before:
        return None
    checker = GroupChecker(recorded.events[0], observer)
    for event in recorded.events:
        checker.take(event)
    checker.finish()
    return checker


class Exchange(NamedTuple):
    """An input of the model, with the responses to it.

    Args:
        given: the request, or another input.
        answers: the responses.
        lines: the lines of the responses, by request id.
        at_ms: the time after it.
        events: the lines of all its events.

    """

    given: Input
    answers: list[Response]
    lines: dict[int, int]
    at_ms: int
    events: list[int]


class Observer:
    """Observes what a checker does."""

    def on_event(self, event: Event) -> None:
        """An event is part of an exchange, which is not checked yet."""

    def on_responses(self, exchange: Exchange) -> None:
        """The model allows an exchange, or the state of the group is unknown."""

    def on_step(
        self, before: list[Coordinator], after: list[Coordinator], exchange: Exchange
    ) -> None:
        """The model allows an exchange, from these states to those."""

    def on_gap(self) -> None:
        """Events are missing."""


class GroupChecker:
    """Checks the history of one group in one session.

    An exchange is a request, or passed time, and the responses that follow. In versions in which
    responses wait for appends of other groups (4.1) exchanges between a hold of the appends and its
    release wait for the release.

    `finding` is the finding, if there is one; `undecided` says why the rest was not checked.
    """

    def __init__(self, opened: Event, observer: Observer | None = None) -> None:
        self._observer = observer or Observer()
        self.header: Json = json.loads(opened.body or "{}")
        self.key = opened.history
        self.profile: str = self.header["profile"]
        self.broker: Mapping[str, int] = self.header["config"]
        # Why the state is unknown; checking starts as soon as the events reveal the state.
        self.unknown: str | None = BEFORE if self.header.get("before") else None
        checker = MidStreamChecker if self.unknown else ExchangeChecker
        self.checker: ExchangeChecker = checker(self.profile, self.broker)
        self.undecided: str | None = ASSUMED if self.header.get("assumed") else None
        self.finding: Finding | None = None
        self.rejected: Exchange | None = None  # the exchange of the finding
        self.answered = False
        self.steps = self.accepted = 0
        self.now_ms = 0
        self._asked: set[int] = set()  # requests without a response since the state is unknown
        self._waits = ANSWERS_ARE_DEFERRED.holds_in(EVERY_PROFILE[self.profile].version)
        self._open: Exchange | None = None  # more responses may follow
        self._waiting: list[Exchange] = []
        self._holding = False

    @property
    def decided(self) -> bool:
        """Whether no event can change the result."""
        return self.undecided is not None or self.finding is not None

    def take(self, event: Event) -> None:
        """Check the next event."""
        if self.decided:
            return
        try:
            self._take(event)
        except FoundError as found:
            self._found(found)
        except MalformedBodyError as error:  # another program wrote the table
            self.undecided = str(error)

    def finish(self) -> None:
        """Check what still waits: the history is over."""
        if self.finding is None:
            try:
                self._close()
                self._check_answered()
            except FoundError as found:
                self._found(found)

    def is_idle(self) -> bool:
        """Whether every exchange so far is checked and accepted."""
        try:
            self._close()
        except FoundError as found:
            self._found(found)
        return not (self.decided or self._waiting)

    def _take(self, event: Event) -> None:
        match event.kind:
            case "gap":
                self._lose(f"gap: {event.body}")
                return
            case "cut":
                self.undecided = str(event.body)
                return
            case "response":
                self._answer(event)
                return
        self._close()
        self._pass_time(event)
        self._observer.on_event(event)
        given: Input
        match event.kind:
            case "open":
                self.accepted += 1
                return
            case "request":
                given = own_request(event)
                if self.unknown is not None:
                    self._asked.add(given.request_id)
            case "hold":
                given = HoldAppends()
            case "release":
                given = ReleaseAppends()
            case "fault" if event.fault == "cleanup":
                given = Cleanup()
            case _:
                self.undecided = f"nothing is known after {event.kind} {event.body}"
                return
        self._begin(given, event.at_ms).events.append(event.line)

    def _lose(self, why: str) -> None:
        """Events are missing: the state is unknown until later events reveal it."""
        self._open = None  # the missing event may have been its response
        self._waiting, self._holding = [], False
        self._asked = set()
        self._observer.on_gap()
        if isinstance(self.checker, MidStreamChecker):
            self.checker.gap()
        else:
            self.checker = MidStreamChecker(self.profile, self.broker, self.now_ms)
        if self.unknown is None or self.unknown == BEFORE:
            self.unknown = why

    def _answer(self, event: Event) -> None:
        if self.unknown is not None:
            if event.request_id not in self._asked:
                return  # the request was before
            self._asked.discard(event.request_id)
        self._pass_time(event)
        self._observer.on_event(event)
        self.answered = True
        answer = Response(int(event.request_id or 0), own_response(event))
        exchange = self._open
        if exchange is None:
            self.undecided = f"gap: no request before the response in line {event.line}"
            return
        exchange.answers.append(answer)
        exchange.lines[answer.request_id] = event.line
        exchange.events.append(event.line)

    def _pass_time(self, event: Event) -> None:
        if event.at_ms > self.now_ms:
            self._begin(Advance(event.at_ms - self.now_ms), event.at_ms)
            self.now_ms = event.at_ms

    def _begin(self, given: Input, at_ms: int) -> Exchange:
        """Another exchange begins, so the one before is complete."""
        self._close()
        self._open = Exchange(given, [], {}, at_ms, [])
        return self._open

    def _close(self) -> None:
        exchange, self._open = self._open, None
        if exchange is None:
            return
        if not self._waits or not (self._holding or isinstance(exchange.given, HoldAppends)):
            self._step(exchange, [])
            return
        self._holding = not isinstance(exchange.given, ReleaseAppends)
        self._waiting.append(exchange)
        if not self._holding:
            self._check_waiting(exchange.answers)
        elif len(self._waiting) >= MOST_WAITING:
            self._check_waiting([])

    def _check_waiting(self, held: list[Response]) -> None:
        waiting, self._waiting = self._waiting, []
        for exchange in waiting:
            last = isinstance(exchange.given, ReleaseAppends)
            self._step(exchange, [] if last else held)

    def _check_answered(self) -> None:
        """Check what waits up to the first request whose response would have come later."""
        for exchange in self._waiting:
            answered = {answer.request_id for answer in exchange.answers}
            if isinstance(exchange.given, Request) and exchange.given.request_id not in answered:
                return
            self._step(exchange, [])

    def _step(self, exchange: Exchange, held: list[Response]) -> None:
        checker = self.checker
        before = checker.run.oracle.states
        self.rejected = exchange  # unless the model allows it
        if isinstance(checker, MidStreamChecker):
            checker.now_ms = exchange.at_ms
        checker.take(exchange.given, exchange.answers, held)
        self.rejected = None
        self._observer.on_responses(exchange)
        if checker.checked and before:
            self.steps += 1
            self.accepted += len(exchange.events)
            self._observer.on_step(before, checker.run.oracle.states, exchange)

    def _found(self, found: FoundError) -> None:
        if self.rejected is None:
            raise found
        self.finding = found.finding
