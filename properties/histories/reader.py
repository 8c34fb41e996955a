"""The reader of recordings: the events of each group, line by line.

`check`, `replay FILE` and `history` read recordings with it. It reads a file from start to end,
because times are relative and a response refers to an earlier request. Memory grows with the groups
of a session and its unanswered requests, not with the file. A group gets the coordinator's events
(time, held appends, faults) with its own next event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

from groupcheck.model.bodies import Json, MalformedBodyError, shown
from groupcheck.model.classic.config import SETTINGS
from groupcheck.model.classic.step import Profile
from groupcheck.properties.histories.bodies import groups_of, response_body
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.lines import (
    Line,
    Message,
    RejectedLineError,
    json_object,
    message_of,
    parse_fast,
)
from groupcheck.properties.sequence import MalformedTraceError, header

# Why the state of a group that the coordinator loaded from its log is unknown.
BEFORE: Final = "it existed before the recording began"
MOST_MS: Final = 2**53  # that a JSON number represents exactly
MOST_ID: Final = 2**63 - 1
# Of an event's request: id, API, version, client id and host.
Asking = tuple[int | None, str | None, int | None, str | None, str | None]
NO_REQUEST: Final[Asking] = (None, None, None, None, None)


class Opening(NamedTuple):
    """A first line: the groups `before` were there before it, `unseen` APIs have no responses."""

    profile: Profile
    broker: dict[str, int]
    before: tuple[str, ...]
    unseen: tuple[str, ...]

    @classmethod
    def of(cls, message: Json) -> Opening:
        """The first line that has these fields, without settings that no rule reads.

        Raises:
            MalformedTraceError: it is not a first line.
        """
        config = message.get("config")
        if isinstance(config, dict):  # it may have others, such as the number of partitions
            message = {**message, "config": {n: config[n] for n in config if n in SETTINGS}}
        profile, broker = header(message)
        unseen, known = message.get("unseen", []), profile.max_versions
        if not isinstance(unseen, list) or not all(
            isinstance(a, str) and a in known for a in unseen
        ):
            msg = f"unseen: not a list of APIs of profile {profile.name}"
            raise MalformedTraceError(msg)
        return cls(profile, broker, groups_in(message), tuple(unseen))


def groups_in(message: Json) -> tuple[str, ...]:
    """The groups that a message lists, if it does.

    Raises:
        MalformedTraceError: it is not a list of names.
    """
    groups = message.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        msg = "groups: not a list of names"
        raise MalformedTraceError(msg)
    return tuple(groups)


class RecordingReader:
    """Reads one file; `sessions` and `events` count what it has read.

    `answered` says whether the file has a response. `header` is the first line of the session, and
    `before` are the groups that were there before it.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._session: _Session | None = None
        self._torn: int | None = None  # the last line, if the reader rejected it
        self.sessions = 0
        self._events = 0  # of earlier sessions
        self.answered = False
        self.header: Json = {}
        self.before: tuple[str, ...] = ()

    @property
    def events(self) -> int:
        """How many events it has read."""
        return self._session.seq if self._session is not None else self._events

    @property
    def quiet_ms(self) -> int:
        """When the last advance of the session begins."""
        return self._session.quiet_ms if self._session is not None else 0

    def take(self, line: Line) -> Iterator[Event]:
        """The events of the next line.

        Raises:
            RejectedLineError: the reader does not keep it.
        """
        session, message = self._session, parse_fast(line)
        if message is None or session is None:
            fields = json_object(line)
            if fields.get("type") == "open":
                yield from self.finish()
                self._open(fields)
                return
            if session is None:
                reason = "before the first line of a recording"
                raise RejectedLineError(reason)
            message = message_of(fields)
        rows = session.take(message, line.number)
        yield from rows
        if session.answered:
            self.answered = True
        self._torn = None

    def skip(self, line: Line, rejected: RejectedLineError) -> None:
        """Continue after a line that `take` rejected."""
        if rejected.gap:
            self._torn = line.number
            if self._session is not None:
                self._session.gap = f"line {line.number} could not be read: {rejected}"

    def finish(self) -> Iterator[Event]:
        """The session ends; its last line, if it was rejected, may have been a response."""
        torn, self._torn = self._torn, None
        if torn is not None and self._session is not None:
            yield from self._session.torn(torn)

    def _open(self, message: Json) -> None:
        self._events = self.events
        self._session = None  # without a valid first line the reader rejects the whole session
        try:
            opening = Opening.of(message)
        except MalformedTraceError as error:
            raise RejectedLineError(str(error)) from error
        if "history" in message:
            reason = "a history of requests that overlap: groupcheck history checks it"
            raise RejectedLineError(reason)
        self.sessions += 1
        self.header = {k: message[k] for k in ("trace", "profile", "unseen") if k in message}
        self.header["config"] = opening.broker
        self.before = opening.before
        of = self._source, self.sessions, self._events
        self._session = _Session(of, opening.profile, self.header, self.before)


class _Ids:
    """The request ids of a session; most are consecutive, so one number represents nearly all."""

    def __init__(self) -> None:
        self._below = 0
        self._others: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return 0 <= number < self._below or number in self._others

    def add(self, number: int) -> None:
        """Add an id."""
        self._others.add(number)
        while self._below in self._others or (self._below == 0 and 1 in self._others):
            self._others.discard(self._below)
            self._below += 1


class _Asked(NamedTuple):
    api: str
    version: int
    groups: tuple[str, ...]


@dataclass(slots=True)
class _Group:
    """How many of the session's faults, releases and gaps the events of a group include."""

    faults: int
    releases: int
    holds: bool = False
    gap: str = ""
    line: int = 0  # of its last event


class _Session:
    """A session so far; `gap` says which line of it could not be read.

    It is one `of` a source, with its number, after so many events; `seq` counts on.
    """

    def __init__(
        self, of: tuple[str, int, int], profile: Profile, opened: Json, before: tuple[str, ...]
    ) -> None:
        self._source, self._number, self.seq = of
        self._profile = profile
        self._header = json.dumps(opened, separators=(",", ":"))
        self._before = json.dumps({**opened, "before": True}, separators=(",", ":"))
        self._groups: dict[str, _Group | None] = dict.fromkeys(before)
        self._first = frozenset(before)
        self._ids = _Ids()
        self._asked: dict[int, _Asked] = {}
        self._unread: set[int] = set()  # requests that the model does not cover
        self._now_ms = 0
        self._holds = False
        self._releases: list[int] = []  # times
        self._faults: list[tuple[int, str]] = []  # time and line
        self._caused = 0  # the last line that may have caused responses
        self.gap = ""
        self.answered = False
        self.quiet_ms = 0  # when the last advance begins

    def take(self, message: Message, line: int) -> Iterable[Event]:
        """The events of a message.

        Raises:
            RejectedLineError: the reader does not keep its line.
        """
        match message.type:
            case "response":
                return self._response(message, line)
            case "request":
                self._caused = line
                return self._request(message, line)
            case "advance":
                if self._now_ms + message.ms > MOST_MS:
                    advance = {"type": "advance", "ms": message.ms}
                    reason = f"not a message of a recording: {shown(advance)}"
                    raise RejectedLineError(reason)
                self.quiet_ms = self._now_ms
                self._now_ms += message.ms
            case _ if message.fault == "holdAppends":
                self._holds = True
                return ()
            case _ if message.fault == "releaseAppends":
                self._holds = False
                self._releases.append(self._now_ms)
            case _:
                self._faults.append((self._now_ms, message.text))
        self._caused = line
        return ()

    def torn(self, line: int) -> Iterator[Event]:
        """The session ends with a line that could not be read: it may have been a response."""
        for group_id, group in self._groups.items():
            if group is not None and group.gap != self.gap and group.line >= self._caused:
                yield self._row(group_id, line, "gap", self.gap)

    def _row(
        self,
        group_id: str,
        line: int,
        kind: str,
        body: str | None = None,
        asking: Asking = NO_REQUEST,
    ) -> Event:
        self.seq = seq = self.seq + 1
        at = self._source, self._number, seq, line, self._now_ms
        return Event._make((group_id, *at, kind, *asking, body))

    def _request(self, message: Message, line: int) -> list[Event]:
        number, api, version, text = message.id, message.api, message.api_version, message.text
        self._check(number, api, version)
        asking = number, api, version, message.client_id, message.client_host
        try:
            groups = groups_of(api, version, text, self._groups)
        except MalformedBodyError as error:
            group_id = (json.loads(text) or {}).get("groupId")
            if not isinstance(group_id, str):
                raise RejectedLineError(str(error)) from error
            self._unread.add(number)
            groups = ((group_id, str(error)),)
        else:
            self._asked[number] = _Asked(api, version, tuple(group_id for group_id, _ in groups))
        self._ids.add(number)
        rows: list[Event] = []
        for group_id, outside in groups:
            group = self._catch_up(group_id, line, rows)
            if outside:
                rows.append(self._row(group_id, line, "cut", outside))
            if self._holds and not group.holds:
                group.holds = True
                rows.append(self._row(group_id, line, "hold"))
            rows.append(self._row(group_id, line, "request", text, asking))
        return rows

    def _check(self, number: int, api: str, version: int) -> None:
        if number in self._ids:
            reason = f"a second request with the id {number}"
            # A line that could not be read may have begun another session, with its own ids.
            raise RejectedLineError(reason, gap=bool(self.gap))
        if not (0 <= number <= MOST_ID and 0 <= version < 2**15):
            reason = f"no id or version of a request: {number}, {version}"
            raise RejectedLineError(reason)
        if api not in self._profile.max_versions:
            reason = f"api: not one of profile {self._profile.name}: {shown(api)}"
            raise RejectedLineError(reason)

    def _response(self, message: Message, line: int) -> list[Event]:
        number, text = message.id, message.text
        if number in self._unread:
            self.answered = True
            return []
        asked = self._asked.get(number)
        if asked is None:
            known = number in self._ids
            reason = f"request {number} is answered twice" if known else f"no request {number}"
            raise RejectedLineError(reason, gap=not known or bool(self.gap))
        try:
            response_body(asked.api, asked.version, text)
        except MalformedBodyError as error:
            raise RejectedLineError(str(error)) from error
        del self._asked[number]
        self.answered = True
        asking = number, asked.api, asked.version, None, None
        rows: list[Event] = []
        for group_id in asked.groups:
            self._catch_up(group_id, line, rows)
            rows.append(self._row(group_id, line, "response", text, asking))
        return rows

    def _catch_up(self, group_id: str, line: int, rows: list[Event]) -> _Group:
        """Add what happened to the coordinator since the group's last event."""
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = _Group(len(self._faults), len(self._releases))
            first = self._before if group_id in self._first else self._header
            rows.append(self._row(group_id, line, "open", first)._replace(at_ms=0))
        if group.faults < len(self._faults) or group.releases < len(self._releases):
            happened = [(at, "fault", body) for at, body in self._faults[group.faults :]]
            if group.holds and group.releases < len(self._releases):
                # The group has no appends that wait for a later release.
                happened.append((self._releases[group.releases], "release", ""))
                group.holds = False
            group.faults, group.releases = len(self._faults), len(self._releases)
            for at_ms, kind, body in sorted(happened, key=itemgetter(0)):
                rows.append(self._row(group_id, line, kind, body or None)._replace(at_ms=at_ms))
        if self.gap != group.gap:
            group.gap = self.gap
            rows.append(self._row(group_id, line, "gap", self.gap))
        group.line = line
        return group
