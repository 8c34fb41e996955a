"""Histories that wait for more of what happened to them, between the batches of a stream.

They are kept by bucket. A history of which nothing has come for long is over, as far as it has
come, and is dropped. So what is kept is in proportion to the groups that are active.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupcheck.pipeline.following.versions import Versions
from groupcheck.pipeline.kernels import begun
from groupcheck.pipeline.recordings.events import Event
from groupcheck.pipeline.recordings.frozen import freeze, thaw
from groupcheck.pipeline.recordings.observed import Edge

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
SESSIONS: Final = 1_000  # of which the first line is known after their histories were dropped


class Following(NamedTuple):
    """How a batch is followed.

    Args:
        state: the folder of the buckets.
        batch: the number of the batch.
        now_s: when it began, in seconds since 1970.
        idle_s: a history is over when nothing of it has come for so long.
        profile: the version to judge by, in the place of the one that the sources say.
        unknown: the version of a history whose beginning is not known.

    """

    state: str
    batch: int
    now_s: float
    idle_s: float
    profile: str | None
    unknown: str


class _Waiting(NamedTuple):
    """A history that waits: its replay, its last event and when that came, and what was told."""

    replay: bytes
    seq: int
    came_s: float
    told: bool


class Bucket:
    """The histories of one bucket, as the batch before has left them."""

    def __init__(self, how: Following, number: int) -> None:
        self._how = how
        self._versions = Versions(f"{how.state}/{number:04}", how.batch)
        self._waiting: dict[tuple[str, str, int], _Waiting] = {}
        self._opened: dict[tuple[str, int], str] = {}
        self._edges: Counter[tuple[str, Edge]] = Counter()
        self._histories: Counter[tuple[str, Edge]] = Counter()
        self._changed = False
        before = self._versions.before()
        if before is not None:
            self._waiting, self._opened = thaw(before)

    def take(self, events: list[Event]) -> Rows:
        """Go on by events of one history, in their order; what is certain of it by now."""
        key, how = events[0].history, self._how
        self._changed = True
        waiting = self._waiting.get(key)
        if waiting is None:
            opened = self._beginning(events[0])
            waiting = _Waiting(freeze(begun(opened)), -1, how.now_s, told=False)
        replay, told, seq = thaw(waiting.replay), waiting.told, waiting.seq
        for event in events:
            if event.seq <= seq:
                reason = f"event {event.seq} of the file came after event {seq}"
                where = {"source": event.source, "line": event.line}
                yield "quarantined", {**where, "reason": reason, "text": event.body}
                continue
            seq = event.seq
            replay.take(event)
        yield from replay.over()
        frozen = freeze(replay)
        if replay.rejected and not told:
            told = True
            # A copy is ended: the history goes on, as its other tables do.
            yield from (row for row in thaw(frozen).end() if row[0] == "finding")
        self._waiting[key] = _Waiting(frozen, seq, how.now_s, told)

    def _beginning(self, first: Event) -> Event:
        """The first line of the session, of which the event may be in the middle."""
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
        header = json.loads(self._opened.get(session) or json.dumps(unknown))
        return first._replace(kind="open", body=json.dumps({**header, "before": True}))

    def idle(self) -> Rows:
        """Drop the histories of which nothing has come for long, and say what they came to."""
        long_ago = self._how.now_s - self._how.idle_s
        for key in [key for key, each in self._waiting.items() if each.came_s <= long_ago]:
            self._changed = True
            waiting = self._waiting.pop(key)
            replay = thaw(waiting.replay)
            ended = replay.end()
            yield from (row for row in ended if not (waiting.told and row[0] == "finding"))
            for edge, times in replay.observed.edges.items():
                self._edges[replay.profile, edge] += times
                self._histories[replay.profile, edge] += 1
        for (profile, edge), times in self._edges.items():
            told = {**edge._asdict(), "profile": profile, "times": times, "explored": False}
            yield "edge", {**told, "histories": self._histories[profile, edge]}

    def keep(self) -> None:
        """Write down what waits now."""
        if self._changed:
            self._versions.keep(freeze((self._waiting, self._opened)))
