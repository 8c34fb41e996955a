"""Writes recordings of many groups, some with one response that is not allowed.

A few histories of `production` are repeated under the names of many groups, interleaved as a server
writes them, in constant memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from support.production import BROKER, Happened, Production

SYMBOL: Final = re.compile(r'"#(\d+)"')
OFFSET: Final = re.compile(r'(?<="committedOffset":)(\d+)')
ROUND_MS: Final = 15_000  # in which each consumer sends whole numbers of heartbeats and commits
ALLOWED: Final = '{"errorCode":0}'


class Made(NamedTuple):
    """The numbers of written requests and responses, and the lines that are not allowed."""

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
    """Groups of a number of events each, some with one response that is not allowed.

    There are `kinds` different histories. One more group has `huge` events, if that is not 0.
    """

    groups: int
    events: int
    files: int = 1
    violations: int = 0
    seed: int = 0
    kinds: int = 50
    huge: int = 0


class Group(NamedTuple):
    """A group's history of `size` events, and the index of the one that is not allowed."""

    name: str
    history: Iterable[Happened]
    size: int
    violation: int | None = None


def recordings(directory: Path, wanted: Wanted) -> Made:
    """Write the recordings."""
    random = Random(wanted.seed)
    histories = [
        Production(random).go(wanted.events) for _ in range(min(wanted.kinds, wanted.groups))
    ]
    chosen = set(random.sample(range(wanted.groups), wanted.violations))
    events = lines = 0
    found: dict[str, tuple[str, int]] = {}
    for number in range(wanted.files):
        groups = []
        for each in range(number, wanted.groups, wanted.files):
            history, at = random.choice(histories), None
            if each in chosen:
                history, at = spoilt(history, random)
            groups.append(Group(f"group-{each}", history, len(history), at))
        if wanted.huge and number == 0:
            history_of_huge = islice(endless(Production(random).go(4_000)), wanted.huge)
            groups.append(Group("a-huge-group", history_of_huge, wanted.huge))
        events += sum(group.size for group in groups)
        path = directory / f"recording-{number}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for line in _interleaved(groups, found, str(path)):
                file.write(line)
                lines += 1
    return Made(events, lines, wanted.groups + bool(wanted.huge), found)


def endless(begun: list[Happened]) -> Iterator[Happened]:
    """The history up to its longest steady span, of which it repeats a round from then on."""
    others = [n for n, each in enumerate(begun) if each.api not in {"Heartbeat", "OffsetCommit"}]
    spans = zip(others, [*others[1:], len(begun)], strict=True)
    last, end = max(spans, key=lambda span: span[1] - span[0])
    # Every consumer has committed by then, and has as much time from one round to the next.
    start_ms = begun[last + 1].at_ms + ROUND_MS
    start = next(n for n, each in enumerate(begun) if each.at_ms >= start_ms)
    stop = next(n for n, each in enumerate(begun) if each.at_ms >= start_ms + ROUND_MS)
    assert stop <= end
    yield from begun[:start]
    for number in count():
        offset = 1_000_000 + number
        for each in begun[start:stop]:
            # Requests of all rounds have ids of their own, beyond those of the beginning.
            yield each._replace(
                at_ms=each.at_ms + number * ROUND_MS,
                number=each.number + (number + 1) * 100_000,
                body=OFFSET.sub(lambda found, by=offset: str(int(found[1]) + by), each.body),  # type: ignore[misc] # bound
            )


def _interleaved(
    groups: list[Group], found: dict[str, tuple[str, int]], path: str
) -> Iterator[str]:
    """The lines of a recording of several groups."""
    yield json.dumps({"type": "open", "trace": 1, "profile": "2.7", "config": BROKER}) + "\n"
    now_ms, line = 0, 1
    next_id = count(1)
    ids: list[dict[int, int]] = [{} for _ in groups]
    for at_ms, n, place, each in merge(*(_placed(n, group) for n, group in enumerate(groups))):
        if at_ms > now_ms:
            yield f'{{"type":"advance","ms":{at_ms - now_ms}}}\n'
            now_ms, line = at_ms, line + 1
        name = groups[n].name
        line += 1
        if place == groups[n].violation:
            found[name] = path, line
        body = SYMBOL.sub(rf'"member-\1-of-{name}"', each.body).replace('"group"', f'"{name}"')
        if each.kind == "request":
            ids[n][each.number] = next(next_id)
            yield (
                f'{{"type":"request","id":{ids[n][each.number]},"api":"{each.api}",'
                f'"apiVersion":{each.version},"clientId":"{each.client}",'
                f'"clientHost":"/10.0.0.1","body":{body}}}\n'
            )
        else:
            yield f'{{"type":"response","id":{ids[n].pop(each.number)},"body":{body}}}\n'


def _placed(n: int, group: Group) -> Iterator[tuple[int, int, int, Happened]]:
    """The events of a group, each with its sort key."""
    return ((each.at_ms, n, place, each) for place, each in enumerate(group.history))
