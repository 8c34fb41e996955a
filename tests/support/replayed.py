"""Histories as rows of the events table, and what replays return for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from groupcheck.pipeline.event_columns import histories
from groupcheck.pipeline.history_replay import HistoryReplay
from groupcheck.pipeline.kernels import begun
from groupcheck.pipeline.recordings.replay import Replay, finding_row
from groupcheck.pipeline.schemas import EVENTS, batch_of
from groupcheck.properties.histories.checker import check_text
from groupcheck.properties.histories.events import Event
from groupcheck.properties.sequence import dump
from support.production import BROKER, Happened

if TYPE_CHECKING:
    import pyarrow as pa

HEADER = {"trace": 1, "config": BROKER}
Rows = list[tuple[str, str]]


class Checked(NamedTuple):
    """The rows that replays return, by table; the rows of quarantine and of files."""

    tables: dict[str, list[dict[str, Any]]]
    quarantined: list[dict[str, Any]]
    files: list[dict[str, Any]]

    def verdicts(self) -> dict[str, tuple[str, str | None]]:
        """The verdict of each group, with its reason."""
        rows = self.by_group("verdict")
        return {group: (row["verdict"], row["reason"]) for group, row in rows.items()}

    def by_group(self, name: str) -> dict[str, dict[str, Any]]:
        """The row of each group in a table."""
        return {row["group_id"]: row for row in self.tables.get(name, [])}


def replayed(rows: Iterable[tuple[str, Any]]) -> Checked:
    """The result for rows of a reader, without Spark."""
    found = Checked({}, [], [])
    events: list[Event] = []
    for name, row in rows:
        if name == "event":
            events.append(row)
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


def as_events(happened: list[Happened], profile: str = "2.7", **changed: Any) -> list[Event]:
    """The history as events; the header has other fields `changed`."""
    header = json.dumps({**HEADER, "profile": profile, **changed})
    opened = Event("group", "file", 1, 1, 1, 0, "open", None, None, None, None, None, None)
    found = [opened._replace(body=header)]
    for n, each in enumerate(happened, 2):
        event = opened._replace(seq=n, line=n, at_ms=each.at_ms, kind=each.kind)
        event = event._replace(body=each.body or None)
        if each.api:
            event = event._replace(request_id=each.number, api=each.api, api_version=each.version)
        if each.kind == "request":
            event = event._replace(client_id=each.client, client_host=each.host)
        found.append(event)
    return found


def one_by_one(events: list[Event]) -> Replay:
    """The replay by the oracle alone."""
    replay = Replay(events[0])
    for event in events:
        replay.take(event)
    return replay


def at_once(events: list[Event], size: int = 1_000) -> Replay:
    """The replay with the fast path."""
    replay = Replay(events[0])
    for start in range(0, len(events), size):
        for each in histories(batch(events[start : start + size])):
            replay.run(each)
    return replay


def batch(events: list[Event]) -> pa.RecordBatch:
    """Events as `ingest` writes them."""
    return batch_of(events, EVENTS)


def all_rows(replay: Replay) -> Rows:
    """All rows of a replay, and the counts of its transitions.

    The recording of a finding is replaced by the finding of `replay FILE` for it.
    """
    rows = [(name, repr(sorted(_verdict(row).items()))) for name, row in replay.end()]
    return sorted(
        [*rows, *(("transition", repr(each)) for each in replay.tables.transitions.items())]
    )


def _verdict(row: dict[str, Any]) -> dict[str, Any]:
    if not row.get("trace"):  # the recording begins mid-stream, or has no response
        return row
    lines: list[bytes] = row["recording"].encode().splitlines(keepends=True)
    finding = check_text(row["recording"]).finding
    assert finding is not None
    events = sum(b'"type":"advance"' not in line for line in lines) + row["omitted"]
    assert row["trace"] == dump(finding.sequence.renumbered())
    row_of_finding = finding_row(finding, {}, [])
    return {**row, "omitted": events, "recording": row_of_finding, "trace": None}
