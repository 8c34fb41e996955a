"""Records of the offsets topic as events of their groups, whatever they were read from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.pipeline.offsets_topic.group_records import Json

Row = dict[str, Any]
OBSERVES: Final = "records"


class RecordEvents:
    """The events of one partition, as its records come.

    Args:
        source: what they are from.
        profile: the version that has written them.
        whole: whether they are all that there ever were, so that each group begins with them.
        sees: the kinds of records that are in it, None if all of them.

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
        self._seen: dict[str, int] = {}  # groups, and how many gaps they were told
        self._first_ms: int | None = None
        self._now_ms = 0
        self.count = 0

    def gap(self, reason: str) -> None:
        """Something is missing before what comes next, which may have been about any group."""
        self._gaps += 1
        self._gap = reason

    def time(self, timestamp: int | None) -> None:
        """It is then, in ms since 1970."""
        if timestamp is not None and timestamp >= 0:
            if self._first_ms is None:
                self._first_ms = timestamp
            self._now_ms = max(0, timestamp - self._first_ms)

    def take(self, group: str, line: int, told: Json) -> Iterator[Row]:
        """The rows of a record that is about a group."""
        if group not in self._seen:
            before = not self._whole or self._gaps > 0
            yield self._row(group, line, "open", {**self._opened, "before": before})
        elif self._seen[group] < self._gaps:
            yield self._row(group, line, "gap", self._gap)
        self._seen[group] = self._gaps
        yield self._row(group, line, "record", told)

    def cut(self, group: str, line: int, reason: str) -> Iterator[Row]:
        """The rows of something of a group that is not part of the model."""
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
