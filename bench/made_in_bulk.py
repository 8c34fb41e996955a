"""Recordings, and tables of events, of any size: a few histories under the names of many groups.

The histories are those of `production`. They are put under other names, side by side, as columns,
so that a hundred million events take minutes. Some groups have one answer that Kafka never gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groupcheck.pipeline.output import FORMAT, MARKER
from groupcheck.pipeline.schemas import EVENTS, arrow
from support.made_recordings import Made
from support.production import BROKER, Happened, Production

GROUP: Final = "@GROUP@"
SYMBOL: Final = re.compile(r'"#(\d+)"')
HEADER: Final = {"trace": 1, "profile": "2.7", "config": BROKER}
AGAIN_MS: Final = 15_000  # in which everybody has had whole numbers of heartbeats and commits
OFFSETS: Final = re.compile(r'(?<="committedOffset":)(\d+)')
AT_ONCE: Final = 250_000  # events that are made at once
SUCCESS: Final = '{"errorCode":0}'


class Bulk(NamedTuple):
    """Groups of so many events each, in so many files, some with one answer that is not allowed.

    There are so many `kinds` of histories. One more group has `huge` events, if that is not 0.
    """

    groups: int
    events: int
    files: int = 8
    violations: int = 0
    huge: int = 0
    kinds: int = 20
    seed: int = 0


class Group(NamedTuple):
    """A group's history, and which of its events is not allowed."""

    name: str
    history: pa.Table
    violation: int | None


def events(directory: Path, wanted: Bulk) -> Made:
    """Write what is wanted as `groupcheck ingest` would write it."""
    (directory / "events").mkdir(parents=True)
    schema = arrow(EVENTS)
    found: dict[str, tuple[str, int]] = {}
    events = 0
    for number, groups in enumerate(_files(wanted)):
        source = f"made-{number}"
        path = directory / "events" / f"part-{number:05}.zstd.parquet"
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for group in groups:
                for table in _events(group, source, schema):
                    writer.write_table(table)
                events += len(group.history)
                if group.violation is not None:
                    found[group.name] = source, group.violation + 2  # after the opening
    marker = {"format": FORMAT, "kind": "events"}
    (directory / MARKER).write_text(json.dumps(marker), encoding="utf-8")
    return Made(events, 0, wanted.groups + bool(wanted.huge), found)


def recordings(directory: Path, wanted: Bulk) -> Made:
    """Write what is wanted as recordings, in which the groups of a file go on side by side."""
    found: dict[str, tuple[str, int]] = {}
    events = lines = 0
    for number, groups in enumerate(_files(wanted)):
        path = directory / f"recording-{number}.jsonl"
        with path.open("wb") as file:
            file.write(json.dumps({"type": "open", **HEADER}).encode() + b"\n")
            side_by_side = _Lines([*groups])
            for text in side_by_side:
                file.write(text)
        events += side_by_side.events
        lines += side_by_side.lines
        found |= {name: (str(path), line) for name, line in side_by_side.violations.items()}
    return Made(events, lines, wanted.groups + bool(wanted.huge), found)


def _files(wanted: Bulk) -> Iterator[Iterator[Group]]:
    """The groups of each file, in the order of their names."""
    random = Random(wanted.seed)
    kinds = [
        _table(Production(random).go(wanted.events))
        for _ in range(min(wanted.kinds, wanted.groups))
    ]
    huge = _huge(Production(random), wanted.huge) if wanted.huge else None
    chosen = set(random.sample(range(wanted.groups), wanted.violations))

    def file(number: int) -> Iterator[Group]:
        if huge is not None and number == 0:
            yield Group("a-huge-group", huge, None)
        for n in range(number, wanted.groups, wanted.files):
            name, kind = f"group-{n:06}", random.choice(kinds)
            later = pc.add(kind["at_ms"], random.randrange(60_000))
            history = kind.set_column(0, "at_ms", later)
            if n in chosen:
                yield Group(name, *_spoilt(history, random))
            else:
                yield Group(name, history, None)

    return (file(number) for number in range(wanted.files))


def _table(happened: list[Happened]) -> pa.Table:
    """A history as columns, with a place for the group's name."""
    columns = dict(zip(Happened._fields, zip(*happened, strict=True), strict=True))
    columns["body"] = tuple(
        SYMBOL.sub(rf'"member-\1-of-{GROUP}"', body).replace('"group"', f'"{GROUP}"')
        for body in columns["body"]
    )
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _huge(production: Production, most: int) -> pa.Table:
    """A history that begins as others do and goes on with heartbeats and commits alone."""
    begun = _table(production.go(4_000))
    at_ms, api = begun["at_ms"].to_numpy(), np.array(begun["api"].to_pylist())
    routine = np.isin(api, ("Heartbeat", "OffsetCommit"))
    last = np.flatnonzero(~routine)  # a routine span may follow each of them
    ends = np.append(last[1:], len(api))
    first, end = max(zip(last + 1, ends, strict=True), key=lambda span: span[1] - span[0])
    # Everybody has committed by then, and has as much time from one round to the next.
    start_ms = at_ms[first] + AGAIN_MS
    inside = np.flatnonzero((at_ms >= start_ms) & (at_ms < start_ms + AGAIN_MS))
    assert inside[-1] < end
    round_ = begun.slice(inside[0], len(inside))
    tables, events, rounds = [begun.slice(0, inside[0])], int(inside[0]), 0
    while events < most:
        again = max(min((most - events) // len(inside), AT_ONCE // len(inside)), 1)
        tables.append(_again(round_, rounds, again))
        rounds, events = rounds + again, events + again * len(inside)
    return pa.concat_tables(tables).slice(0, most)


def _again(round_: pa.Table, done: int, times: int) -> pa.Table:
    """So many more rounds, after as many as are done."""
    size = len(round_)
    count = np.repeat(np.arange(done, done + times), size)
    table = pa.concat_tables([round_] * times)
    at_ms = table["at_ms"].to_numpy() + count * AGAIN_MS
    # Requests of all rounds have ids of their own, beyond those of the beginning.
    number = table["number"].to_numpy() + (count + 1) * 100_000
    parts = [OFFSETS.split(body) for body in round_["body"].to_pylist()]
    body = np.array(
        [
            "".join(part if k % 2 == 0 else str(int(part) + n) for k, part in enumerate(each))
            for n in range(1_000_000 + done, 1_000_000 + done + times)
            for each in parts
        ],
        dtype=object,
    )
    columns = {"at_ms": at_ms, "number": number, "body": body}
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(column))
    return table


def _spoilt(history: pa.Table, random: Random) -> tuple[pa.Table, int]:
    """The history with one answer that Kafka never gives here, and which event that is."""
    bodies = history["body"].to_pylist()
    simple = [n for n, body in enumerate(bodies) if body == SUCCESS]
    at = random.choice(simple[len(simple) // 4 :])
    bodies[at] = SUCCESS.replace("0", str(random.choice((16, 82, 23))))
    return history.set_column(history.column_names.index("body"), "body", pa.array(bodies)), at


def _events(group: Group, source: str, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of `EVENTS` of a group."""
    opened = json.dumps(HEADER, separators=(",", ":"))
    first = [group.name, source, 1, 1, 1, 0, "open", *[None] * 5, opened]
    yield pa.table(
        [pa.array([value], f.type) for value, f in zip(first, schema, strict=True)], schema
    )
    for start in range(0, len(group.history), AT_ONCE):
        part = group.history.slice(start, AT_ONCE)
        size = len(part)
        asks = pc.equal(part["kind"], "request")
        seq = pa.array(np.arange(start + 2, start + 2 + size))
        nothing = pa.nulls(size, pa.string())
        columns = {
            "group_id": pa.repeat(group.name, size),
            "source": pa.repeat(source, size),
            "session": pa.repeat(1, size),
            "seq": seq,
            "line": seq,
            "at_ms": part["at_ms"],
            "kind": part["kind"],
            "request_id": part["number"],
            "api": part["api"],
            "api_version": part["version"],
            "client_id": pc.if_else(asks, part["client"], nothing),
            "client_host": pc.if_else(asks, "/10.0.0.1", nothing),
            "body": pc.replace_substring(part["body"], GROUP, group.name),
        }
        yield pa.table(
            [_one(columns[field.name]).cast(field.type) for field in schema], schema=schema
        )


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


class _Lines:
    """The lines of a recording, as bytes; what was written is known afterwards."""

    def __init__(self, groups: list[Group]) -> None:
        self._groups = groups
        self.events = sum(len(group.history) for group in groups)
        self.lines = 0
        self.violations: dict[str, int] = {}

    def __iter__(self) -> Iterator[bytes]:
        groups = self._groups
        sizes = [len(group.history) for group in groups]
        of = np.repeat(np.arange(len(groups)), sizes)
        at_ms = np.concatenate([group.history["at_ms"].to_numpy() for group in groups])
        number = np.concatenate([group.history["number"].to_numpy() for group in groups])
        order = np.argsort(at_ms, kind="stable")
        since_ms = np.diff(at_ms[order], prepend=0)
        lines = 1 + np.cumsum(1 + (since_ms > 0))
        self.lines = int(lines[-1])
        firsts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        for group, first in zip(groups, firsts, strict=True):
            if group.violation is not None:
                place = int(np.flatnonzero(order == first + group.violation)[0])
                self.violations[group.name] = int(lines[place])
        ids = _ids(of[order], number[order])
        rest = pa.chunked_array([chunk for group in groups for chunk in _rest(group)])
        for start in range(0, len(order), AT_ONCE):
            those = slice(start, start + AT_ONCE)
            texts = _one(rest.take(pa.array(order[those])))
            passed = pa.array(since_ms[those])
            time = pc.binary_join_element_wise(
                '{"type":"advance","ms":', passed.cast(pa.string()), "}\n", ""
            )
            time = pc.if_else(pc.greater(passed, 0), time, "")
            head = pc.if_else(pc.starts_with(texts, ',"api"'), "request", "response")
            numbers = pa.array(ids[those]).cast(pa.string())
            line = pc.binary_join_element_wise(
                time, '{"type":"', head, '","id":', numbers, texts, "}\n", ""
            )
            yield "".join(_one(line).to_pylist()).encode()


def _rest(group: Group) -> Iterator[pa.Array]:
    """What comes after the id in each of a group's lines."""
    history = group.history
    body = pc.replace_substring(history["body"], GROUP, group.name)
    version = history["version"].cast(pa.string())
    parts = (',"api":"', history["api"], '","apiVersion":', version)
    client = (',"clientId":"', history["client"], '","clientHost":"/10.0.0.1"')
    asked = pc.binary_join_element_wise(*parts, *client, ',"body":', body, "")
    answered = pc.binary_join_element_wise(',"body":', body, "")
    yield from pc.if_else(pc.equal(history["kind"], "request"), asked, answered).chunks


def _ids(of: np.ndarray, number: np.ndarray) -> np.ndarray:
    """An id for each request of all groups, in the order in which they come, and its answer."""
    key = of * (int(number.max()) + 1) + number
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(1, len(first) + 1)
    return rank[inverse]
