"""Writes recordings of many groups, some with one response that is not allowed.

A few histories of `production` stand for many groups, each under its own names, side by side in a
recording as a server writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from support.production import BROKER, Happened, Production

SYMBOL: Final = re.compile(r'"#(\d+)"')
ALLOWED: Final = '{"errorCode":0}'


class Made(NamedTuple):
    """What was written: the requests and responses, and the lines that are not allowed."""

    events: int
    lines: int
    groups: int
    violations: dict[str, tuple[str, int]]  # file and line, by group


def spoilt(history: list[Happened], random: Random) -> tuple[list[Happened], int]:
    """The history with one response that Kafka never gives here, and its index."""
    good = [n for n, each in enumerate(history) if each.body == ALLOWED]
    at = random.choice(good[len(good) // 4 :])
    body = ALLOWED.replace("0", str(random.choice((16, 82, 23))))
    return [*history[:at], history[at]._replace(body=body), *history[at + 1 :]], at


class Wanted(NamedTuple):
    """Groups of so many events each, some with one response that is not allowed.

    There are `kinds` different histories.
    """

    groups: int
    events: int
    files: int = 1
    violations: int = 0
    seed: int = 0
    kinds: int = 50


def recordings(directory: Path, wanted: Wanted) -> Made:
    """Write what is wanted, as recordings."""
    groups, events, files, violations, seed, kinds = wanted
    random = Random(seed)
    histories = [Production(random).go(events) for _ in range(min(kinds, groups))]
    chosen = set(random.sample(range(groups), violations))
    written = lines = 0
    found: dict[str, tuple[str, int]] = {}
    for number in range(files):
        path = directory / f"recording-{number}.jsonl"
        several: list[tuple[str, list[Happened], int | None]] = []
        for group in range(number, groups, files):
            history, at = random.choice(histories), None
            if group in chosen:
                history, at = spoilt(history, random)
            several.append((f"group-{group}", history, at))
            written += len(history)
        with path.open("w", encoding="utf-8") as file:
            for line in _interleaved(several, found, str(path)):
                file.write(line)
                lines += 1
    return Made(written, lines, groups, found)


def _interleaved(
    several: list[tuple[str, list[Happened], int | None]],
    found: dict[str, tuple[str, int]],
    path: str,
) -> Iterator[str]:
    """The lines of a recording of several groups."""
    yield json.dumps({"type": "open", "trace": 1, "profile": "2.7", "config": BROKER}) + "\n"
    order = sorted(
        (event.at_ms, n, place)
        for n, (_, history, _) in enumerate(several)
        for place, event in enumerate(history)
    )
    now_ms, line, next_id = 0, 1, 0
    ids: list[dict[int, int]] = [{} for _ in several]
    for at_ms, n, place in order:
        if at_ms > now_ms:
            yield f'{{"type":"advance","ms":{at_ms - now_ms}}}\n'
            now_ms, line = at_ms, line + 1
        group, history, violations = several[n]
        each = history[place]
        if each.number not in ids[n]:
            next_id += 1
            ids[n][each.number] = next_id
        line += 1
        if place == violations:
            found[group] = path, line
        body = SYMBOL.sub(rf'"member-\1-of-{group}"', each.body).replace('"group"', f'"{group}"')
        message: dict[str, Any] = {"type": each.kind, "id": ids[n][each.number]}
        if each.kind == "request":
            message |= {"api": each.api, "apiVersion": each.version}
            message |= {"clientId": each.client, "clientHost": "/10.0.0.1"}
        yield f'{json.dumps(message, separators=(",", ":"))[:-1]},"body":{body}}}\n'
