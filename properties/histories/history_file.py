"""Reads histories of requests that overlap (JSON Lines), and recordings that leave responses out.

The first line of a history is that of a recording, with `"history": 1`. The other lines are the
port protocol's `request` with the time at which it was sent (`startMs`), its `response` with the
time at which it arrived (`endMs`), `silence`: no response up to then, `lost`: the coordinator
closed the connection then, and `fault`: what happened to the coordinator in between.
`docs/histories.md` describes the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.model.bodies import Json, check_integer, decode_response, shown
from groupcheck.model.classic.state import Cleanup
from groupcheck.model.classic.step import Profile
from groupcheck.properties.histories.bodies import own_request, own_response, part, parts
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.history import (
    NEVER,
    NS,
    GroupHistory,
    Operation,
    from_zero,
)
from groupcheck.properties.histories.lines import HAPPENED
from groupcheck.properties.histories.reader import BEFORE, MOST_MS, Opening, groups_in
from groupcheck.properties.histories.recording_file import Recorded, read
from groupcheck.properties.sequence import (
    FAULTS,
    MalformedTraceError,
    new_request,
    outside_the_model,
    read_line,
)

FORMAT: Final = 1
KINDS: Final = ("request", "response", "silence", "lost")


class Noted(NamedTuple):
    """The histories of all groups of a file, with the real member ids.

    With `open_appends` an append takes time. An `exact` history has the times of the coordinator's
    clock: it needs no tolerances.
    """

    profile: Profile
    broker: dict[str, int]
    groups: tuple[GroupHistory, ...]
    open_appends: bool
    exact: bool = False


def load(path: Path) -> Noted:
    """Read a history, or a recording that leaves responses out.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        first = file.readline()
        if not first.strip():
            msg = f"{path}: empty, not a history"
            raise MalformedTraceError(msg)
        noted, before = read_line(_text(first, f"{path}:1"), f"{path}:1", _header)
        if noted.exact:
            file.seek(0)
            noted = _partial(noted, read(file, str(path), partial=True))
        else:
            history = History(noted.profile)
            for number, line in enumerate(file, 2):
                where = f"{path}:{number}"
                read_line(_text(line, where), where, history.take)
            noted = noted._replace(groups=tuple(history.groups(before)))
    if not any(group.requests or group.cut for group in noted.groups):
        msg = f"{path}: no request in it, so there is nothing to check"
        raise MalformedTraceError(msg)
    return noted._replace(groups=from_zero(noted.groups))


def _partial(noted: Noted, recordings: list[Recorded]) -> Noted:
    """The groups of a recording that leaves responses out."""
    groups, open_appends = [], False
    for each in recordings:
        if each.before:
            groups.append(GroupHistory(each.group_id, (), BEFORE))
            continue
        history = PartialHistory(each.events[0])
        for event in each.events:
            history.take(event)
        groups.append(history.history(each.quiet_ms))
        open_appends = open_appends or history.open_appends
    return noted._replace(groups=tuple(groups), open_appends=open_appends)


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        msg = f"{where}: not text in UTF-8"
        raise MalformedTraceError(msg) from error


def _header(message: Json) -> tuple[Noted, tuple[str, ...]]:
    """A first line, and the groups that were there before."""
    opening = Opening.of(message)
    exact = bool(opening.unseen) and "history" not in message
    if not exact and (type(message.get("history")) is not int or message["history"] != FORMAT):
        msg = f"not the first line of a history of format {FORMAT}"
        raise MalformedTraceError(msg)
    appends = message.get("appends", "open")
    if not isinstance(appends, str) or appends not in {"open", "atomic"}:
        msg = f"appends: 'open' or 'atomic', not {shown(appends)}"
        raise MalformedTraceError(msg)
    return Noted(opening.profile, opening.broker, (), appends == "open", exact), opening.before


class History:
    """A history so far."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._found: dict[int, Operation] = {}
        self._faults: list[Operation] = []

    def groups(self, before: tuple[str, ...]) -> Iterator[GroupHistory]:
        """The history of each group; `before` are the groups that existed before."""
        known: dict[str, list[Operation]] = {}
        operations = sorted(self._found.values(), key=attrgetter("begins", "ends"))
        for each in operations:
            for group_id in parts(each.request.body, ()):
                known.setdefault(group_id, [])
        for each in operations:
            for group_id, own in parts(each.request.body, known).items():
                answer = None if each.answer is None else part(each.answer, group_id)
                request = each.request._replace(body=own)
                known[group_id].append(each._replace(given=request, answer=answer))
        for group_id, of_group in known.items():
            if group_id in before:
                yield GroupHistory(group_id, (), BEFORE)
            else:
                faults = (f for f in self._faults if f.groups is None or group_id in f.groups)
                yield _cut(group_id, [*of_group, *faults])

    def take(self, message: Json) -> None:
        """Take a line that is not the first.

        Raises:
            MalformedTraceError: it is not a line of a history.
            MalformedBodyError: its body does not fit its API.
        """
        kind = message.get("type")
        if kind == "fault":
            self._faults.append(_fault(message))
            return
        if not isinstance(kind, str) or kind not in KINDS:
            msg = f"not a line of a history: {shown(message)}"
            raise MalformedTraceError(msg)
        number = check_integer(message.get("id"), "id")
        if kind == "request":
            request = new_request(message, number, self._found, self._profile)
            self._found[number] = Operation(request, _moment(message, "startMs"))
            return
        asked = self._found.get(number)
        if asked is None:
            msg = f"no request before it has the id {number}"
            raise MalformedTraceError(msg)
        self._found[number] = _ended(asked, message, number, kind)


def _ended(asked: Operation, message: Json, number: int, kind: str) -> Operation:
    """The operation with its end."""
    if asked.ends != NEVER or asked.silent is not None or asked.gone != NEVER:
        msg = f"a second end of request {number}"
        raise MalformedTraceError(msg)
    ends = _moment(message, "endMs")
    if ends < asked.begins:
        msg = f"request {number} ends before it begins"
        raise MalformedTraceError(msg)
    if kind == "silence":
        return asked._replace(silent=ends)
    if kind == "lost":
        return asked._replace(gone=ends)
    request, body = asked.request, message.get("body")
    answer = None if body is None else decode_response(request.api, request.api_version, body)
    return asked._replace(ends=ends, answer=answer)


def _cut(group_id: str, operations: list[Operation]) -> GroupHistory:
    """The history up to the first request that the model does not cover.

    Responses after that request may depend on it, so they count as not seen.
    """
    for each in operations:
        if not each.is_fault and (reason := outside_the_model(each.request.body)):
            kept = (o for o in operations if o.begins < each.begins)
            known = (o if o.ends < each.begins else o.without_end() for o in kept)
            return GroupHistory(group_id, tuple(known), reason)
    return GroupHistory(group_id, tuple(operations))


def _fault(message: Json) -> Operation:
    """What happened to the coordinator, and between which times."""
    name = message.get("fault")
    if not isinstance(name, str) or name not in HAPPENED:
        msg = f"fault: one of {', '.join(sorted(HAPPENED))}, not {shown(name)}"
        raise MalformedTraceError(msg)
    begins = _moment(message, "startMs")
    ends = _moment(message, "endMs") if "endMs" in message else NEVER
    if ends < begins:
        msg = f"{name} ends before it begins"
        raise MalformedTraceError(msg)
    groups = groups_in(message) if "groups" in message else None
    return Operation(FAULTS[name](), begins, ends, groups=groups)


def _moment(message: Json, field: str) -> int:
    """A time in ns."""
    value = message.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_MS:
        msg = f"{field}: not a number of milliseconds, but {shown(value)}"
        raise MalformedTraceError(msg)
    return int(value * NS)


class PartialHistory:
    """The history of a group in a recording that leaves some responses out.

    A recording has everything in order, so each request takes effect, and each response is sent, at
    its place. The first line names the APIs without responses (`unseen`); of all other APIs every
    response is there. A moment is the ms of the recording's clock, and the event within it.
    Responses that timers cause are recorded after the time has passed: all that is known is that
    they were not given before it began to pass.
    """

    def __init__(self, opened: Event) -> None:
        header: Json = json.loads(opened.body or "{}")
        self._group_id = opened.group_id
        self._unseen = frozenset(header["unseen"])
        self._moment = self._passing = 0
        self._operations: dict[int, Operation] = {}
        self._faults: list[Operation] = []
        self._cut: str | None = None
        self.open_appends = False

    def take(self, event: Event) -> None:
        """Take the next event.

        Raises:
            MalformedBodyError: a body does not fit its API.
        """
        if self._cut is not None:
            return
        self._moment += 1
        if event.at_ms > self._moment // NS:
            self._passing = self._moment
            self._moment = event.at_ms * NS + 1
        number, moment = int(event.request_id or 0), self._moment
        match event.kind:
            case "request":
                self._operations[number] = Operation(own_request(event), moment, by=moment)
            case "response":
                asked = self._operations[number]
                answer, silent = own_response(event), max(self._passing, asked.begins)
                self._operations[number] = asked._replace(ends=moment, silent=silent, answer=answer)
            case "hold" | "release":
                self.open_appends = True
            case "fault" if event.fault == "cleanup":
                self._faults.append(Operation(Cleanup(), moment, moment))
            case "fault":
                self._cut = f"nothing is known after {event.kind} {event.body}"
            case "cut":
                self._cut = str(event.body)

    def history(self, quiet_ms: int = 0) -> GroupHistory:
        """All operations; up to `quiet_ms` no further response arrived."""
        passing = max(self._passing, quiet_ms * NS)
        found = []
        for each in self._operations.values():
            if each.ends != NEVER:
                found.append(each)
            elif self._cut is not None:  # an event that was cut off may have caused the response
                found.append(each.without_end())
            elif each.request.api in self._unseen:
                found.append(each)
            else:
                found.append(each._replace(silent=max(passing, each.begins)))
        return GroupHistory(self._group_id, (*found, *self._faults), self._cut)
