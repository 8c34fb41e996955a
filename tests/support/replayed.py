"""Replays histories of groups, given as rows of the events table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from groupcheck.pipeline.findings import finding_row
from groupcheck.pipeline.history_replay import HistoryReplay
from groupcheck.pipeline.kernels import begun
from groupcheck.pipeline.recordings.columns import Columns
from groupcheck.pipeline.recordings.replay import Replay
from groupcheck.pipeline.schemas import EVENTS, arrow
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.recorded import judge_text
from groupcheck.properties.sequence import dump
from support.production import BROKER, Happened

HEADER = {"trace": 1, "profile": "2.7", "config": BROKER}
Rows = list[tuple[str, str]]


class Checked(NamedTuple):
    """The rows that replays return, by table; the rows of quarantine and of files."""

    tables: dict[str, list[dict[str, Any]]]
    quarantined: list[dict[str, Any]]
    files: list[dict[str, Any]]

    def verdicts(self) -> dict[str, tuple[str, str | None]]:
        """The verdict of each group, with its reason."""
        return {r["group_id"]: (r["verdict"], r["reason"]) for r in self.tables.get("verdict", [])}

    def finding(self, group_id: str) -> dict[str, Any] | None:
        """The finding of a group."""
        findings = self.tables.get("finding", [])
        return next((row for row in findings if row["group_id"] == group_id), None)


def replayed(rows: Iterable[tuple[str, dict[str, Any]]]) -> Checked:
    """The result for rows of a reader, without Spark."""
    found = Checked({}, [], [])
    events: list[Event] = []
    for name, row in rows:
        if name == "event":
            events.append(Event.of(row))
        else:
            (found.files if name == "file" else found.quarantined).append(row)
    replays: dict[tuple[str, str, int], HistoryReplay] = {}
    for event in sorted(events, key=lambda each: each[:4]):
        if event.history not in replays:
            replays[event.history] = begun(event)
        replays[event.history].take(event)
    for replay in replays.values():
        for name, row in replay.end():
            found.tables.setdefault(name, []).append(row)
    return found


def as_events(happened: list[Happened], profile: str = "2.7") -> list[Event]:
    """The events of a group of that history."""
    header = json.dumps({**HEADER, "profile": profile})
    opened = Event("group", "file", 1, 1, 1, 0, "open", None, None, None, None, None, header)
    found = [opened]
    for n, each in enumerate(happened, 2):
        event = opened._replace(seq=n, line=n, at_ms=each.at_ms, kind=each.kind, body=each.body)
        event = event._replace(request_id=each.number, api=each.api, api_version=each.version)
        if each.kind == "request":
            event = event._replace(client_id=each.client, client_host="/10.0.0.1")
        found.append(event)
    return found


def columns(events: list[Event], size: int) -> Iterator[Columns]:
    """The events as Spark hands them over, so many at once."""
    table = pa.Table.from_pylist([event._asdict() for event in events], arrow(EVENTS))
    return (Columns(batch) for batch in table.combine_chunks().to_batches(size))


def one_by_one(events: list[Event]) -> Replay:
    """The replay by the oracle alone."""
    replay = Replay(events[0])
    for event in events:
        replay.take(event)
    return replay


def at_once(events: list[Event], size: int = 1_000) -> Replay:
    """The replay that knows again what it has seen."""
    replay = Replay(events[0])
    for batch in columns(events, size):
        for start, stop in pairwise(batch.histories):
            replay.run(batch, start, stop)
    return replay


def told(replay: Replay) -> Rows:
    """All rows that come of it, and how often each edge was shown.

    Of the recording of a finding it is what it is judged, and how many events it has or leaves out.
    """
    rows = [(name, repr(sorted(_judged(row).items()))) for name, row in replay.end()]
    return sorted([*rows, *(("edge", repr(each)) for each in replay.tables.transitions.items())])


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    if not row.get("trace"):  # it begins in the middle, or nothing is answered in it
        return row
    lines: list[bytes] = row["recording"].encode().splitlines(keepends=True)
    finding = judge_text(row["recording"]).finding
    assert finding is not None
    events = sum(b'"type":"advance"' not in line for line in lines) + row["omitted"]
    assert row["trace"] == dump(finding.sequence.renumbered())
    judged = finding_row(finding, {}, [])
    return {**row, "omitted": events, "recording": judged, "trace": None}
