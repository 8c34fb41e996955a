"""The state store of a stream: histories between batches, in buckets.

A history without new events for a long time is over, and is dropped, so the size of the store grows
with the active groups.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from groupcheck.pipeline.history_replay import Rows
from groupcheck.pipeline.kernels import TransitionCounts, begun
from groupcheck.pipeline.streaming.versions import Versions, checkpoint, restore
from groupcheck.properties.histories.events import Event

SESSIONS: Final = 1_000  # whose first lines are kept after their histories were dropped


class Following(NamedTuple):
    """The settings of a batch.

    Args:
        state: the folder of the buckets.
        batch: the number of the batch.
        now_s: when it began, in seconds since 1970.
        idle_s: a history without an event for this time is over.
        profile: the version to check against, instead of that of the sources.
        unknown: the version for a history whose begin is unknown.

    """

    state: str
    batch: int
    now_s: float
    idle_s: float
    profile: str | None
    unknown: str


class _Waiting(NamedTuple):
    """A history: its replay, its last event, when that arrived, and whether it is reported."""

    replay: bytes
    seq: int
    came_s: float
    reported: bool


class Bucket:
    """The histories of one bucket after the batch before."""

    def __init__(self, how: Following, number: int) -> None:
        self._how = how
        self._versions = Versions(f"{how.state}/{number:04}", how.batch)
        self._waiting: dict[tuple[str, str, int], _Waiting] = {}
        self._opened: dict[tuple[str, int], str] = {}
        self._counts = TransitionCounts()
        self._changed = False
        before = self._versions.before()
        if before is not None:
            self._waiting, self._opened = restore(before)

    def take(self, events: list[Event]) -> Rows:
        """Take events of one history, in order; the rows that are final."""
        key, how = events[0].history, self._how
        self._changed = True
        waiting = self._waiting.get(key)
        if waiting is None:
            opened = self._beginning(events[0])
            waiting = _Waiting(checkpoint(begun(opened)), -1, how.now_s, reported=False)
        replay, reported, seq = restore(waiting.replay), waiting.reported, waiting.seq
        for event in events:
            if event.seq <= seq:
                reason = f"event {event.seq} of the file came after event {seq}"
                where = {"source": event.source, "line": event.line}
                yield "quarantined", {**where, "reason": reason, "text": event.body}
                continue
            seq = event.seq
            replay.take(event)
        yield from replay.complete()
        saved = checkpoint(replay)
        if replay.rejected and not reported:
            reported = True
            # The copy ends; the history continues.
            yield from (row for row in restore(saved).end() if row[0] == "finding")
        self._waiting[key] = _Waiting(saved, seq, how.now_s, reported)

    def _beginning(self, first: Event) -> Event:
        """The first event of the history, even if `first` is a later one."""
        session = first.source, first.session
        if first.kind == "open":
            header = json.loads(first.body or "{}")
            if self._how.profile is not None:
                header["profile"] = self._how.profile
            self._opened[session] = json.dumps(header)
            while len(self._opened) > SESSIONS:
                del self._opened[next(iter(self._opened))]
            return first._replace(body=json.dumps(header))
        unknown = {"trace": 1, "profile": self._how.profile or self._how.unknown, "config": {}}
        unknown["assumed"] = True
        header = json.loads(self._opened.get(session) or json.dumps(unknown))
        return first._replace(kind="open", body=json.dumps({**header, "before": True}))

    def idle(self) -> Rows:
        """Drop the histories that are over; their rows."""
        long_ago = self._how.now_s - self._how.idle_s
        for key in [key for key, each in self._waiting.items() if each.came_s <= long_ago]:
            self._changed = True
            waiting = self._waiting.pop(key)
            replay = restore(waiting.replay)
            ended = self._counts.ended(replay)
            yield from (row for row in ended if not (waiting.reported and row[0] == "finding"))
        yield from self._counts.rows()

    def keep(self) -> None:
        """Write the state."""
        if self._changed:
            self._versions.keep(checkpoint((self._waiting, self._opened)))
