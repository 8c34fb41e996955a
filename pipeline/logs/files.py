"""Reads the logs of brokers: the log events of each group, line by line.

Each file is read separately, and the events are ordered by time, because a group may move from
broker to broker. The start or stop of a broker is an event of a group before its own next line.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from groupcheck.pipeline.logs.lines import (
    BACK_MS,
    Clock,
    LogLine,
    Message,
    is_dated,
    messages,
    parse,
    zone,
)
from groupcheck.pipeline.sources import Read, Row, file_row, quarantined
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.lines import Line, RejectedLineError

DAY_MS: Final = 86_400_000
SINCE_MS: Final = 946_684_800_000  # 2000, from which the order of events is counted
# The order of events: milliseconds, then files as they were rotated, then lines.
FILES_BITS, LINES_BITS = 12, 10

_HINTS: Final = (b"oordinator", b"roupMetadata", b"Group Metadata")
_OF_GROUPS: Final = re.compile(
    r"kafka\.coordinator\.(?:group\.)?Group|org\.apache\.kafka\.coordinator\.group\."
)
_RUNTIME: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime"
_PREFIX: Final = re.compile(
    r"\[(?:GroupCoordinator (?:id=)?(?P<coordinator>\d+)(?P<java> topic=[^\]]*)?"
    r"|GroupMetadataManager brokerId=(?P<manager>\d+)"
    r"|Group Metadata Manager on Broker (?P<old>\d+))\]:? "
)
_CLUSTER: Final = re.compile(r"[Cc]luster(?: ID = |Id[ =])([\w-]{22})(?![\w-])")


class LogSource(NamedTuple):
    """The source of a log file's events: all logs of one cluster.

    Args:
        name: the name of the source.
        rank: the position of the file in it.
        time_zone: of times without a zone.

    """

    name: str = ""
    rank: int = 0
    time_zone: str = "UTC"


class _Group:
    """The last event of a group, and the counts of broker events and gaps that it has received."""

    __slots__ = ("broker_events", "gaps", "seq", "texts")

    def __init__(self) -> None:
        self.seq = -1
        self.broker_events = 0
        self.gaps = 0
        self.texts: tuple[int, list[str]] = (0, [])  # of the last millisecond


class _Entry(NamedTuple):
    line: int
    at_ms: int
    body: Row


def is_log(first: list[Line]) -> bool:
    """Whether a file with these first lines is a log."""
    return any(is_dated((line.data or b"")[:60].decode(errors="replace")) for line in first)


class LogReader:
    """Reads one file; `rows` returns the rows of events, of quarantine and of the file."""

    def __init__(self, source: str, log_source: LogSource) -> None:
        self._source = source
        self._log_source = log_source
        self._clock = Clock(zone(log_source.time_zone))
        self._future_ms = int(time.time() * 1_000) + DAY_MS
        self._groups: dict[str, _Group] = {}
        self._broker_events: list[_Entry] = []  # starts and stops
        self._gaps: list[str] = []
        self._cluster: str | None = None
        self._last_ms = 0
        self.read = self.kept = self.other = self.events = 0

    def rows(self, lines: Iterator[Line]) -> Read:
        """Each row with the name of its table."""
        for line in lines:
            self.read += 1
            try:
                for row in self._take(line):
                    self.events += 1
                    yield "event", row
            except RejectedLineError as error:
                yield "quarantined", quarantined(self._source, line, str(error))
                if error.gap:
                    self._gaps.append(f"{self._name}:{line.number} could not be read: {error}")
            else:
                self.kept += 1
        for row in self._final_gaps():
            self.events += 1
            yield "event", row
        counts = {"sessions": int(self.events > 0), "other": self.other}
        rejected = self.read - self.kept
        yield file_row(self._source, self.kept, rejected, self.events, **counts)

    @property
    def _name(self) -> str:
        return self._source.rpartition("/")[2]

    def _take(self, line: Line) -> Iterator[Event]:
        """The events of a line.

        Raises:
            RejectedLineError: the line is not kept.
        """
        if line.reason:
            raise RejectedLineError(line.reason)
        data = line.data or b""
        is_of_groups = any(hint in data for hint in _HINTS)
        try:
            text = data.decode().rstrip("\r\n")
        except UnicodeError as error:
            reason = "not text in UTF-8"
            raise RejectedLineError(reason, gap=is_of_groups) from error
        if not is_of_groups:
            self._note_cluster(text)
            self.other += 1
            return
        parsed = parse(text)
        prefix = _PREFIX.search(parsed.message) if parsed else None
        if parsed is None and is_dated(text) and _PREFIX.search(text):
            reason = "an unknown layout"
            raise RejectedLineError(reason)
        if parsed is None or not self._is_of_groups(parsed, prefix):
            self.other += 1
            return
        at_ms = self._at_ms(text)
        message = parsed.message[prefix.end() :] if prefix else parsed.message
        found = _message(_profile(parsed, prefix), message)
        if found is None:
            reason = "not a message of a group coordinator of 0.10.2, 2.2 to 2.7 or 4.x"
            raise RejectedLineError(reason)
        known, fields = found
        if known.event is not None:
            body = {"what": known.event, "broker": _broker(prefix), **fields, "text": text}
            entry = _Entry(line.number, at_ms, {**body, "file": self._source})
            yield from self._rows(entry, _profile(parsed, prefix))

    def _is_of_groups(self, parsed: LogLine, prefix: re.Match[str] | None) -> bool:
        if parsed.logger and parsed.logger != _RUNTIME:  # other coordinators use this logger too
            return _OF_GROUPS.match(parsed.logger) is not None
        return prefix is not None

    def _note_cluster(self, text: str) -> None:
        if "luster" in text and (found := _CLUSTER.search(text)):
            self._cluster = found[1]

    def _at_ms(self, text: str) -> int:
        try:
            at_ms = self._clock.at_ms(text)
        except ValueError as error:
            reason = "an invalid time"
            raise RejectedLineError(reason) from error
        if at_ms > self._future_ms:
            reason = "its time lies in the future"
            raise RejectedLineError(reason)
        if at_ms < SINCE_MS:
            reason = "its time lies before 2000"
            raise RejectedLineError(reason)
        if at_ms + BACK_MS < self._last_ms:
            back_s = (self._last_ms - at_ms) // 1_000
            self._gaps.append(f"the clock of {self._name} goes {back_s} s back")
            self._last_ms = at_ms
        self._last_ms = max(self._last_ms, at_ms)
        return self._last_ms

    def _rows(self, entry: _Entry, profile: str) -> Iterator[Event]:
        event, group_id = entry.body["what"], entry.body.pop("group")
        if event in {"starting", "stopping"}:
            self._broker_events.append(entry)
            return
        for each in group_id.split(", ") if event == "deleted" else [group_id]:
            yield from self._rows_of_group(each, entry, profile)

    def _rows_of_group(self, group_id: str, entry: _Entry, profile: str) -> Iterator[Event]:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = _Group()
            first = self._broker_events[0] if self._broker_events else entry
            header: Row = {"observes": "log", "profile": profile, "file": self._source}
            if self._cluster is not None:
                header["cluster"] = self._cluster
            yield self._row(group_id, first, "open", header)
        for broker_event in self._broker_events[group.broker_events :]:
            yield self._row(group_id, broker_event, "log", broker_event.body)
        group.broker_events = len(self._broker_events)
        if group.gaps < len(self._gaps):
            group.gaps = len(self._gaps)
            yield self._row(group_id, entry, "gap", self._gaps[-1])
        if group.texts[0] != entry.at_ms:
            group.texts = (entry.at_ms, [])
        elif entry.body["text"] in group.texts[1]:
            reason = "the same line again"
            raise RejectedLineError(reason, gap=False)
        group.texts[1].append(entry.body["text"])
        if entry.body["what"] == "of another kind":
            yield self._row(group_id, entry, "cut", "it is not a group of the classic protocol")
        else:
            yield self._row(group_id, entry, "log", entry.body)

    def _row(self, group_id: str, entry: _Entry, kind: str, body: Row | str) -> Event:
        group = self._groups[group_id]
        rank = self._log_source.rank % (1 << FILES_BITS)
        order = ((entry.at_ms - SINCE_MS) << FILES_BITS | rank) << LINES_BITS
        group.seq = max(order, group.seq + 1)
        return Event(
            group_id=group_id,
            source=self._log_source.name or self._source,
            session=1,
            seq=group.seq,
            line=entry.line,
            at_ms=entry.at_ms,
            kind=kind,
            body=body if isinstance(body, str) else json.dumps(body, separators=(",", ":")),
        )

    def _final_gaps(self) -> Iterator[Event]:
        """A gap at the end of the file may concern any of its groups."""
        for group_id, group in self._groups.items():
            if group.gaps < len(self._gaps):
                entry = _Entry(self.read, self._last_ms, {})
                yield self._row(group_id, entry, "gap", self._gaps[-1])


def _profile(parsed: LogLine, prefix: re.Match[str] | None) -> str:
    """The version of a line, by its logger and prefix."""
    java = prefix is not None and prefix[0].startswith("[GroupCoordinator id=")
    if java or parsed.logger.startswith("org.apache"):
        return "4.1"
    old = parsed.logger.startswith("kafka.coordinator.Group") or bool(prefix and prefix["old"])
    return "0.10.2" if old else "2.7"


def _broker(prefix: re.Match[str] | None) -> int | None:
    numbers = prefix and (prefix["coordinator"] or prefix["manager"] or prefix["old"])
    return int(numbers) if numbers else None


def _message(profile: str, text: str) -> tuple[Message, Row] | None:
    """The message of a text, and the values of its placeholders."""
    for known in messages(profile):
        if found := known.pattern.match(text):
            values: Row = {name: value for name, value in found.groupdict().items() if value}
            values["group"] = values.get("group", "")
            for name in ("generation", "members"):
                if name in values:
                    values[name] = int(values[name])
            return known, values
    return None
