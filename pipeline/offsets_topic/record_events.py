"""Events of groups from the records of the offsets topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.pipeline.offsets_topic.group_records import Json

Row = dict[str, Any]
OBSERVES: Final = "records"


class RecordEvents:
    """The events of one partition.

    Args:
        source: the name of the partition.
        profile: the version that has written the records.
        whole: whether the partition has all records from the first on.
        sees: the kinds of records in the source, None for all.

    """

    def __init__(
        self, source: str, profile: str, *, whole: bool, sees: list[str] | None = None
    ) -> None:
        self._source = source
        self._opened: Json = {"observes": OBSERVES, "profile": profile}
        if sees is not None:
            self._opened["sees"] = sees
        self._whole = whole
        self._gap = ""
        self._gaps = 0
        self._seen: dict[str, int] = {}  # groups, and how many gaps their events include
        self._first_ms: int | None = None
        self._now_ms = 0
        self.count = 0

    def gap(self, reason: str) -> None:
        """Records of any group may be missing here."""
        self._gaps += 1
        self._gap = reason

    def time(self, timestamp: int | None) -> None:
        """Set the time, in ms since 1970."""
        if timestamp is not None and timestamp >= 0:
            if self._first_ms is None:
                self._first_ms = timestamp
            self._now_ms = max(0, timestamp - self._first_ms)

    def take(self, group: str, line: int, record: Json) -> Iterator[Row]:
        """The rows of a record of a group."""
        if group not in self._seen:
            before = not self._whole or self._gaps > 0
            yield self._row(group, line, "open", {**self._opened, "before": before})
        elif self._seen[group] < self._gaps:
            yield self._row(group, line, "gap", self._gap)
        self._seen[group] = self._gaps
        yield self._row(group, line, "record", record)

    def cut(self, group: str, line: int, reason: str) -> Iterator[Row]:
        """The rows of a record that the model does not cover."""
        if group not in self._seen:
            self._seen[group] = self._gaps
            yield self._row(group, line, "open", {**self._opened, "before": True})
        yield self._row(group, line, "cut", reason)

    def _row(self, group: str, line: int, kind: str, body: Json | str) -> Row:
        self.count += 1
        text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
        return {
            "group_id": group,
            "source": self._source,
            "session": 1,
            "seq": self.count,
            "line": line,
            "at_ms": self._now_ms,
            "kind": kind,
            "body": text,
        }
