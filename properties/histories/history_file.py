"""Histories as JSON Lines: what clients noted of their requests; what is lawful is not known here.

The first line is that of a recording, with `"history": 1`. The others are the port protocol's
`request` with the moment at which it was sent (`startMs`), its `response` with the moment at which
it was there (`endMs`), `silence`: up to then there was none, `lost`: the coordinator hung up then,
and `fault`: what happened to the coordinator in between. `docs/histories.md` says more.
Without `"history"` it is a recording (`partial_recording`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.model.bodies import (
    Json,
    check_integer,
    decode_response,
    shown,
)
from groupcheck.model.step import Profile
from groupcheck.properties.histories.history import NEVER, NS, Event, Operation
from groupcheck.properties.histories.partial_recording import PartialRecording
from groupcheck.properties.histories.recorded import groups_before, with_known_settings
from groupcheck.properties.sequence import (
    FAULTS,
    MalformedTraceError,
    header,
    new_request,
    read_line,
)

FORMAT: Final = 1
KINDS: Final = ("request", "response", "silence", "lost")
HAPPENED: Final = FAULTS.keys() - {"holdAppends", "releaseAppends"}  # which happen to no broker
MOST_MS: Final = 2**53  # which a JSON number says to the millisecond


class Noted(NamedTuple):
    """What a file holds: operations of all groups, with the ids that were really used.

    `before` are the groups that were there before. With `open_appends` what is written takes time
    to be safe. An `exact` one is by the coordinator's own clock, of which nothing is left open.
    """

    profile: Profile
    broker: Mapping[str, int]
    before: tuple[str, ...]
    open_appends: bool
    operations: tuple[Operation, ...]
    events: tuple[Event, ...] = ()
    unseen: tuple[str, ...] = ()
    exact: bool = False


def load(path: Path) -> Noted:
    """Read a history.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        first = file.readline()
        if not first.strip():
            msg = f"{path}: empty, not a history"
            raise MalformedTraceError(msg)
        noted = read_line(_text(first, f"{path}:1"), f"{path}:1", _header)
        reader: History | PartialRecording = (
            PartialRecording(noted.profile, noted.unseen) if noted.exact else History(noted.profile)
        )
        for number, line in enumerate(file, 2):
            where = f"{path}:{number}"
            read_line(_text(line, where), where, reader.take)
    found = reader.operations()
    if isinstance(reader, PartialRecording):
        noted = noted._replace(open_appends=reader.open_appends)
    if not found:
        msg = f"{path}: no request in it, so there is nothing to judge"
        raise MalformedTraceError(msg)
    operations, events = from_zero(found, reader.events)
    return noted._replace(operations=operations, events=events)


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        msg = f"{where}: not text in UTF-8"
        raise MalformedTraceError(msg) from error


def from_zero(
    found: Mapping[int, Operation], events: Iterable[Event]
) -> tuple[tuple[Operation, ...], tuple[Event, ...]]:
    """The operations as they began, the first of them in the first millisecond there is.

    What happened before that happened to nobody.
    """
    zero = min(each.begins for each in found.values()) // NS * NS

    def since(moment: int) -> int:
        return moment if moment == NEVER else max(moment - zero, 0)

    moved = (
        each._replace(
            begins=since(each.begins),
            ends=since(each.ends),
            by=since(each.by),
            silent=None if each.silent is None else since(each.silent),
            gone=since(each.gone),
        )
        for each in found.values()
    )
    happened = (e._replace(begins=since(e.begins), ends=since(e.ends)) for e in events)
    return tuple(sorted(moved, key=attrgetter("begins", "ends"))), tuple(happened)


def _header(message: Json) -> Noted:
    profile, broker = header(with_known_settings(message))
    unseen = message.get("unseen", [])
    known = profile.max_versions
    if not isinstance(unseen, list) or not all(isinstance(a, str) and a in known for a in unseen):
        msg = f"unseen: not a list of APIs of profile {profile.name}"
        raise MalformedTraceError(msg)
    exact = bool(unseen) and "history" not in message
    if not exact and (type(message.get("history")) is not int or message["history"] != FORMAT):
        msg = f"not the first line of a history of format {FORMAT}"
        raise MalformedTraceError(msg)
    before = groups_before(message)
    appends = message.get("appends", "open")
    if not isinstance(appends, str) or appends not in {"open", "atomic"}:
        msg = f"appends: 'open' or 'atomic', not {shown(appends)}"
        raise MalformedTraceError(msg)
    return Noted(profile, broker, before, appends == "open", (), (), tuple(unseen), exact)


class History:
    """What has been read of one."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._found: dict[int, Operation] = {}
        self.events: list[Event] = []

    def operations(self) -> dict[int, Operation]:
        """What was asked, by the ids."""
        return self._found

    def take(self, message: Json) -> None:
        """Take in a line that is not the first.

        Raises:
            MalformedTraceError: it is none of a history.
            MalformedBodyError: its body is not what its API has.
        """
        kind = message.get("type")
        if kind == "fault":
            self.events.append(_event(message))
            return
        if not isinstance(kind, str) or kind not in KINDS:
            msg = f"not a line of a history: {shown(message)}"
            raise MalformedTraceError(msg)
        number = check_integer(message.get("id"), "id")
        if kind == "request":
            request = new_request(message, number, self._found, self._profile)
            self._found[number] = Operation(request, _moment(message, "startMs"))
        else:
            self._end(message, number, kind)

    def _end(self, message: Json, number: int, kind: str) -> None:
        """Take in how an operation ended."""
        asked = self._found.get(number)
        if asked is None:
            msg = f"no request before it has the id {number}"
            raise MalformedTraceError(msg)
        if asked.is_over or asked.silent is not None or asked.gone != NEVER:
            msg = f"a second end of request {number}"
            raise MalformedTraceError(msg)
        ends = _moment(message, "endMs")
        if ends < asked.begins:
            msg = f"request {number} ends before it begins"
            raise MalformedTraceError(msg)
        if kind == "silence":
            self._found[number] = asked._replace(silent=ends)
        elif kind == "lost":
            self._found[number] = asked._replace(gone=ends)
        else:
            self._found[number] = _over(asked, ends, message)


def _event(message: Json) -> Event:
    """What happened to the coordinator, and between which moments."""
    name = message.get("fault")
    if not isinstance(name, str) or name not in HAPPENED:
        msg = f"fault: one of {', '.join(sorted(HAPPENED))}, not {shown(name)}"
        raise MalformedTraceError(msg)
    begins = _moment(message, "startMs")
    ends = _moment(message, "endMs") if "endMs" in message else NEVER
    if ends < begins:
        msg = f"{name} ends before it begins"
        raise MalformedTraceError(msg)
    groups = groups_before(message) if "groups" in message else None
    return Event(FAULTS[name](), begins, ends, groups)


def _over(asked: Operation, ends: int, message: Json) -> Operation:
    """The operation with its answer, if that was seen."""
    request, body = asked.request, message.get("body")
    answer = None if body is None else decode_response(request.api, request.api_version, body)
    return asked._replace(ends=ends, answer=answer)


def _moment(message: Json, field: str) -> int:
    """A moment in ns."""
    value = message.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_MS:
        msg = f"{field}: not a number of milliseconds, but {shown(value)}"
        raise MalformedTraceError(msg)
    return int(value * NS)
