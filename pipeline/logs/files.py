"""Reads the logs of brokers: the log events of each group, line by line.

Each file of a run is read by itself, and the events are ordered by time, because a group may move
from broker to broker. A group gets the start or stop of a broker with its own next line.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupcheck.pipeline.logs.lines import (
    BACK_MS,
    Clock,
    Message,
    Said,
    is_dated,
    messages,
    said,
    zone,
)
from groupcheck.pipeline.sources import file_row, quarantined
from groupcheck.properties.histories.lines import Line, RejectedLineError

Row = dict[str, Any]
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


class Manner(NamedTuple):
    """How the logs of one cluster are read.

    Args:
        together: the source of their events.
        rank: the position of the file among them.
        time_zone: of times without a zone.

    """

    together: str = ""
    rank: int = 0
    time_zone: str = "UTC"


class _Group:
    """The last event of a group in the order, and how much of what happened its events include."""

    __slots__ = ("gaps", "happened", "seq", "texts")

    def __init__(self) -> None:
        self.seq = -1
        self.happened = 0
        self.gaps = 0
        self.texts: tuple[int, list[str]] = (0, [])  # of the last millisecond


class _Happened(NamedTuple):
    line: int
    at_ms: int
    said: Row


def is_log(first: list[Line]) -> bool:
    """Whether a file with these first lines is a log."""
    return any(is_dated((line.data or b"")[:60].decode(errors="replace")) for line in first)


class LogReader:
    """Reads one file; `rows` gives those of events, of quarantine and at the end of the file."""

    def __init__(self, source: str, manner: Manner) -> None:
        self._source = source
        self._manner = manner
        self._clock = Clock(zone(manner.time_zone))
        self._future_ms = int(time.time() * 1_000) + DAY_MS
        self._groups: dict[str, _Group] = {}
        self._happened: list[_Happened] = []
        self._gaps: list[str] = []
        self._cluster: str | None = None
        self._last_ms = 0
        self._logged = False  # whether the line before was one, which others may continue
        self.read = self.kept = self.other = self.events = 0

    def rows(self, lines: Iterator[Line]) -> Iterator[tuple[str, Row]]:
        """Each row with the name of its table."""
        for line in lines:
            self.read += 1
            try:
                for row in self._take(line):
                    self.events += 1
                    yield "event", row
            except RejectedLineError as refused:
                yield "quarantined", quarantined(self._source, line, str(refused))
                if refused.gap:
                    self._gaps.append(f"{self._place(line.number)} could not be read: {refused}")
            else:
                self.kept += 1
        for row in self._torn():
            self.events += 1
            yield "event", row
        counts = {"sessions": int(self.events > 0), "other": self.other}
        rejected = self.read - self.kept
        yield file_row(self._source, self.kept, rejected, self.events, **counts)

    def _place(self, number: int) -> str:
        return f"{self._source.rpartition('/')[2]}:{number}"

    def _take(self, line: Line) -> Iterator[Row]:
        """The events of a line.

        Raises:
            RejectedLineError: the line is not kept.
        """
        if line.reason:
            raise RejectedLineError(line.reason)
        data = line.data or b""
        hinted = any(hint in data for hint in _HINTS)
        try:
            text = data.decode().rstrip("\r\n")
        except UnicodeError as error:
            reason = "not text in UTF-8"
            raise RejectedLineError(reason, gap=hinted) from error
        if not hinted:
            self._note_cluster(text)
            self.other += 1
            return
        entry = said(text)
        prefix = _PREFIX.search(entry.message) if entry else None
        if entry is None and is_dated(text) and _PREFIX.search(text):
            reason = "an unknown layout"
            raise RejectedLineError(reason)
        if entry is None or not self._is_of_groups(entry, prefix):
            self.other += 1
            return
        at_ms = self._at_ms(text)
        message = entry.message[prefix.end() :] if prefix else entry.message
        profile = _profile(entry, prefix)
        found = _message(profile, message)
        if found is None:
            reason = "not a message of a group coordinator of 0.10.2, 2.2 to 2.7 or 4.x"
            raise RejectedLineError(reason)
        known, fields = found
        if known.what is not None:
            said_of = {"what": known.what, "broker": _broker(prefix), **fields, "text": text}
            happened = _Happened(line.number, at_ms, {**said_of, "file": self._source})
            yield from self._said(happened, profile)

    def _is_of_groups(self, entry: Said, prefix: re.Match[str] | None) -> bool:
        if entry.logger == _RUNTIME:
            return prefix is not None  # other coordinators run in it too
        return bool(_OF_GROUPS.match(entry.logger)) if entry.logger else prefix is not None

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
            self._gaps.append(
                f"the clock of {self._source.rpartition('/')[2]} goes {back_s} s back"
            )
            self._last_ms = at_ms
        self._last_ms = max(self._last_ms, at_ms)
        return self._last_ms

    def _said(self, event: _Happened, profile: str) -> Iterator[Row]:
        what, group_id = event.said["what"], event.said.pop("group")
        if what in {"starting", "stopping"}:
            self._happened.append(event)
            return
        for each in group_id.split(", ") if what == "deleted" else [group_id]:
            yield from self._about(each, event, profile)

    def _about(self, group_id: str, event: _Happened, profile: str) -> Iterator[Row]:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = _Group()
            first = self._happened[0] if self._happened else event
            header: Row = {"observes": "log", "profile": profile, "file": self._source}
            if self._cluster is not None:
                header["cluster"] = self._cluster
            yield self._row(group_id, first, "open", header)
        for happened in self._happened[group.happened :]:
            yield self._row(group_id, happened, "log", happened.said)
        group.happened = len(self._happened)
        if group.gaps < len(self._gaps):
            group.gaps = len(self._gaps)
            yield self._row(group_id, event, "gap", self._gaps[-1])
        if group.texts[0] != event.at_ms:
            group.texts = (event.at_ms, [])
        elif event.said["text"] in group.texts[1]:
            reason = "the same line again"
            raise RejectedLineError(reason, gap=False)
        group.texts[1].append(event.said["text"])
        if event.said["what"] == "of another kind":
            yield self._row(group_id, event, "cut", "it is not a group of the classic protocol")
        else:
            yield self._row(group_id, event, "log", event.said)

    def _row(self, group_id: str, event: _Happened, kind: str, body: Row | str) -> Row:
        group = self._groups[group_id]
        rank = self._manner.rank % (1 << FILES_BITS)
        place = ((event.at_ms - SINCE_MS) << FILES_BITS | rank) << LINES_BITS
        group.seq = max(place, group.seq + 1)
        return {
            "group_id": group_id,
            "source": self._manner.together or self._source,
            "session": 1,
            "seq": group.seq,
            "line": event.line,
            "at_ms": event.at_ms,
            "kind": kind,
            "body": body if isinstance(body, str) else json.dumps(body, separators=(",", ":")),
        }

    def _torn(self) -> Iterator[Row]:
        """A gap at the end of the file may be about any of its groups."""
        for group_id, group in self._groups.items():
            if group.gaps < len(self._gaps):
                event = _Happened(self.read, self._last_ms, {})
                yield self._row(group_id, event, "gap", self._gaps[-1])


def _profile(entry: Said, prefix: re.Match[str] | None) -> str:
    """The version of a line, by its logger and prefix."""
    java = prefix is not None and prefix[0].startswith("[GroupCoordinator id=")
    if java or entry.logger.startswith("org.apache"):
        return "4.1"
    old = entry.logger.startswith("kafka.coordinator.Group") or bool(prefix and prefix["old"])
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
