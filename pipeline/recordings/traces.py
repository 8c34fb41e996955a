"""Recordings taken apart as they are read: each group's events, and what could not be read.

One file is read from its beginning to its end, as time runs on in it and an answer is known by the
request before. What is kept meanwhile is in proportion to the groups of a session and to the
requests that wait for their answers. What happens to the coordinator (time, appends that are held)
a group is told when next there is something about it, as recordings are in
`groupcheck.properties.histories.recorded`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from groupcheck.model.bodies import (
    Json,
    MalformedBodyError,
    shown,
)
from groupcheck.model.step import Profile
from groupcheck.pipeline.recordings.bodies import asked, response_body
from groupcheck.pipeline.recordings.plain_lines import Plain, plain
from groupcheck.pipeline.sources import Line, file_row
from groupcheck.properties.histories.recorded import with_known_settings
from groupcheck.properties.sequence import MalformedTraceError, header

Row = dict[str, Any]
MOST_MS: Final = 2**53  # which a JSON number says to the millisecond
MOST_ID: Final = 2**63 - 1
MOST_TEXT: Final = 200  # characters that quarantine shows
HAPPENS: Final = frozenset({"cleanup", "crash", "unload", "load", "loading", "shutdown", "append"})


class _RefusedError(Exception):
    """A line that is not kept; `gap` says whether something may be missing because of that."""

    def __init__(self, reason: str, *, gap: bool = True) -> None:
        super().__init__(reason)
        self.gap = gap


class _Ids:
    """The ids that were used: most come in order, so that one number says nearly all."""

    def __init__(self) -> None:
        self._below = 0
        self._others: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return 0 <= number < self._below or number in self._others

    def add(self, number: int) -> None:
        """Note an id."""
        self._others.add(number)
        while self._below in self._others or (self._below == 0 and 1 in self._others):
            self._others.discard(self._below)
            self._below += 1


class _Asked(NamedTuple):
    api: str
    version: int
    groups: tuple[str, ...]


class _Told:
    """How much of what has happened to the coordinator a group has been told."""

    __slots__ = ("faults", "gap", "holds", "line", "releases")

    def __init__(self, faults: int, releases: int) -> None:
        self.faults = faults
        self.releases = releases
        self.holds = False
        self.gap = ""
        self.line = 0  # of its last event


class TraceReader:
    """Reads one file; `rows` gives those of events, of quarantine and at the end of the file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._session: _Session | None = None
        self.read = self.kept = self.sessions = self.events = 0

    def rows(self, lines: Iterator[Line]) -> Iterator[tuple[str, Row]]:
        """Each row with the name of its table."""
        last: Line | None = None  # that could not be read, and nothing has followed yet
        for line in lines:
            self.read += 1
            try:
                said = plain(line)
                if said is not None and self._session is not None and self._session.knows(said):
                    yield from self._numbered(self._session.take_plain(said, line.number))
                elif (message := _message(line)).get("type") == "open":
                    yield from self._torn(last)
                    self._open(message)
                else:
                    yield from self._numbered(self._begun().take(message, line.number))
            except _RefusedError as refused:
                yield "quarantined", self._quarantined(line, str(refused))
                if refused.gap:
                    last = line
                    if self._session is not None:
                        self._session.gap = f"line {line.number} could not be read: {refused}"
            else:
                self.kept += 1
                last = None
        yield from self._torn(last)
        quarantined = self.read - self.kept
        yield file_row(self._source, self.kept, quarantined, self.events, sessions=self.sessions)

    def _begun(self) -> _Session:
        if self._session is None:
            reason = "before the first line of a recording"
            raise _RefusedError(reason)
        return self._session

    def _torn(self, last: Line | None) -> Iterator[tuple[str, Row]]:
        """A session ends; if its last line could not be read, it may have been an answer."""
        if last is not None and self._session is not None:
            yield from self._numbered(self._session.torn(last.number))

    def _open(self, message: Json) -> None:
        try:
            profile, _ = header(with_known_settings(message))
        except MalformedTraceError as error:
            self._session = None  # of what follows nobody knows by what to judge it
            raise _RefusedError(str(error)) from error
        if "history" in message:
            self._session = None
            reason = "a history of requests that overlap: groupcheck history judges it"
            raise _RefusedError(reason)
        groups = message.get("groups", [])
        if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
            self._session = None
            reason = "groups: not a list of names"
            raise _RefusedError(reason)
        self.sessions += 1
        told: Json = {k: message[k] for k in ("trace", "profile", "unseen") if k in message}
        told["config"] = with_known_settings(message)["config"]
        self._session = _Session(profile, told, groups)

    def _numbered(self, rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
        for row in rows:
            self.events += 1
            row["source"] = self._source
            row["session"] = self.sessions
            row["seq"] = self.events
            yield "event", row

    def _quarantined(self, line: Line, reason: str) -> Row:
        data = line.data
        text = json.dumps(line.message)[:MOST_TEXT] if line.message is not None else None
        if data is not None:
            text = data[: 4 * MOST_TEXT].decode(errors="replace").rstrip("\n")[:MOST_TEXT]
        return {"source": self._source, "line": line.number, "reason": reason, "text": text}


def _message(line: Line) -> Json:
    if line.reason:
        raise _RefusedError(line.reason)
    if line.message is not None:
        return line.message
    data = line.data or b""
    try:
        message = json.loads(data.decode())
        if b"\\ud" in data or b"\\uD" in data:
            json.dumps(message, ensure_ascii=False).encode()  # half a character is none
    except UnicodeError as error:
        reason = "not text in UTF-8"
        raise _RefusedError(reason) from error
    except (ValueError, RecursionError) as error:
        reason = "not a JSON object"
        raise _RefusedError(reason) from error
    if not isinstance(message, dict):
        reason = "not a JSON object"
        raise _RefusedError(reason)
    return message


class _Session:
    """One session, as far as it has been read; `gap` says what of it could not be."""

    def __init__(self, profile: Profile, told: Json, before: list[str]) -> None:
        self._profile = profile
        self._header = json.dumps(told, separators=(",", ":"))
        self._before = json.dumps({**told, "before": True}, separators=(",", ":"))
        self._groups: dict[str, _Told | None] = dict.fromkeys(before)
        self._first = frozenset(before)
        self._ids = _Ids()
        self._asked: dict[int, _Asked] = {}
        self._unread: set[int] = set()  # requests that are not part of the model
        self._now_ms = 0
        self._holds = False
        self._releases: list[int] = []  # when
        self._faults: list[tuple[int, str]] = []  # when, and the line
        self._caused = 0  # the line of what came last, of which answers are
        self.gap = ""

    def knows(self, said: Plain) -> bool:
        """Whether a plain line may be taken as it is."""
        match said.type:
            case "request":
                return said.id >= 0 and said.api_version >= 0
            case "response":
                return said.id >= 0
            case "advance":
                return said.ms >= 0 and self._now_ms + said.ms <= MOST_MS
        return False

    def take_plain(self, said: Plain, line: int) -> Iterable[Row]:
        """The events of a plain line.

        Raises:
            _RefusedError: there are none.
        """
        if said.type == "response":
            return self._response(said.id, said.text, line)
        self._caused = line
        if said.type == "advance":
            self._now_ms += said.ms
            return ()
        client = (said.client_id, said.client_host)
        return self._request(said.id, said.api, said.api_version, client, said.text, line)

    def take(self, message: Json, line: int) -> Iterator[Row]:
        """The events of a line.

        Raises:
            _RefusedError: there are none.
        """
        match message:
            case {"type": "advance", "ms": int(ms)} if ms >= 0 and self._now_ms + ms <= MOST_MS:
                self._now_ms += ms
                self._caused = line
            case {"type": "fault", "fault": "holdAppends"}:
                self._holds = True
            case {"type": "fault", "fault": "releaseAppends"}:
                self._holds = False
                self._releases.append(self._now_ms)
                self._caused = line
            case {"type": "fault", "fault": str(name)} if name in HAPPENS:
                self._faults.append((self._now_ms, json.dumps(message)))
                self._caused = line
            case {
                "type": "request",
                "id": int(number),
                "api": str(api),
                "apiVersion": int(version),
            }:
                self._caused = line
                client = (str(message.get("clientId", "")), str(message.get("clientHost", "")))
                told = json.dumps(message.get("body"), separators=(",", ":"))
                yield from self._request(number, api, version, client, told, line)
            case {"type": "response", "id": int(number)}:
                told = json.dumps(message.get("body"), separators=(",", ":"))
                yield from self._response(number, told, line)
            case _:
                reason = f"not a message of a recording: {shown(message)}"
                raise _RefusedError(reason)

    def torn(self, line: int) -> Iterator[Row]:
        """The session ends with a line that could not be read, which may have been an answer."""
        for group_id, told in self._groups.items():
            if told is not None and told.gap != self.gap and told.line >= self._caused:
                yield self._row(group_id, line, "gap", body=self.gap)

    def _row(self, group_id: str, line: int, kind: str, **fields: Any) -> Row:  # noqa: ANN401
        at_ms = fields.pop("at_ms", self._now_ms)
        return {"group_id": group_id, "line": line, "at_ms": at_ms, "kind": kind, **fields}

    def _request(  # noqa: PLR0913, PLR0917 - what a line says
        self, number: int, api: str, version: int, client: tuple[str, str], told: str, line: int
    ) -> list[Row]:
        self._check(number, api, version)
        row: Row = {"kind": "request", "request_id": number, "api": api, "api_version": version}
        row |= {"client_id": client[0], "client_host": client[1], "body": told}
        rows: list[Row] = []
        try:
            about = asked(api, version, told, self._groups)
        except MalformedBodyError as error:
            group_id = (json.loads(told) or {}).get("groupId")
            if not isinstance(group_id, str):
                raise _RefusedError(str(error)) from error
            self._ids.add(number)
            self._unread.add(number)
            self._tell(group_id, line, rows)
            rows += self._row(group_id, line, "cut", body=str(error)), self._at(group_id, line, row)
            return rows
        self._ids.add(number)
        self._asked[number] = _Asked(api, version, tuple(group_id for group_id, _ in about))
        for group_id, why in about:
            told_group = self._tell(group_id, line, rows)
            if why:
                rows.append(self._row(group_id, line, "cut", body=why))
            if self._holds and not told_group.holds:
                told_group.holds = True
                rows.append(self._row(group_id, line, "hold"))
            rows.append(self._at(group_id, line, row))
        return rows

    def _check(self, number: int, api: str, version: int) -> None:
        """Refuse what is no request of this session."""
        if number in self._ids:
            reason = f"a second request with the id {number}"
            # What could not be read may have been the beginning of a session, with ids of its own.
            raise _RefusedError(reason, gap=bool(self.gap))
        if not (0 <= number <= MOST_ID and 0 <= version < 2**15):
            reason = f"no id or version of a request: {number}, {version}"
            raise _RefusedError(reason)
        if api not in self._profile.max_versions:
            reason = f"api: not one of profile {self._profile.name}: {shown(api)}"
            raise _RefusedError(reason)

    def _response(self, number: int, told: str, line: int) -> list[Row]:
        if number in self._unread:
            return []
        of = self._asked.get(number)
        if of is None:
            known = number in self._ids
            reason = f"request {number} is answered twice" if known else f"no request {number}"
            raise _RefusedError(reason, gap=not known or bool(self.gap))
        try:
            response_body(of.api, of.version, told)
        except MalformedBodyError as error:
            raise _RefusedError(str(error)) from error
        del self._asked[number]
        row: Row = {"kind": "response", "request_id": number, "api": of.api}
        row |= {"api_version": of.version, "body": told}
        rows: list[Row] = []
        for group_id in of.groups:
            self._tell(group_id, line, rows)
            rows.append(self._at(group_id, line, row))
        return rows

    def _at(self, group_id: str, line: int, row: Row) -> Row:
        """A row for one of the groups that it is about."""
        return {"group_id": group_id, "line": line, "at_ms": self._now_ms, **row}

    def _tell(self, group_id: str, line: int, rows: list[Row]) -> _Told:
        """Add what happened to the coordinator since the group was told last, in its order."""
        told = self._groups.get(group_id)
        if told is None:
            told = self._groups[group_id] = _Told(len(self._faults), len(self._releases))
            first = self._before if group_id in self._first else self._header
            rows.append(self._row(group_id, line, "open", at_ms=0, body=first))
        if told.faults < len(self._faults) or told.releases < len(self._releases):
            self._tell_happened(told, group_id, line, rows)
        if self.gap != told.gap:
            told.gap = self.gap
            rows.append(self._row(group_id, line, "gap", body=self.gap))
        told.line = line
        return told

    def _tell_happened(self, told: _Told, group_id: str, line: int, rows: list[Row]) -> None:
        happened = [(at, "fault", body) for at, body in self._faults[told.faults :]]
        if told.holds and told.releases < len(self._releases):
            # Nothing of the group's waited for the releases after that one.
            happened.append((self._releases[told.releases], "release", ""))
            told.holds = False
        told.faults, told.releases = len(self._faults), len(self._releases)
        for at_ms, kind, body in sorted(happened, key=lambda each: each[0]):
            rows.append(self._row(group_id, line, kind, at_ms=at_ms, body=body or None))
