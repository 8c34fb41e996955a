"""Recordings made from the model: lawful ones, and ones with an unlawful answer in known groups.

A group's history is a walk through the model's own transitions, so that its answers are lawful by
what made them. A few such histories stand for many groups, each under names of its own, side by
side in one recording as a server writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.bodies import encode
from groupcheck.model.config import Config
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.state import Advance, Coordinator, Group, Log
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
    Request,
    RequestBody,
    SyncGroupRequest,
)

BROKER: Final = {"group.initial.rebalance.delay.ms": 3000}
VERSIONS: Final = {"OffsetCommit": 7, "Heartbeat": 3, "JoinGroup": 3, "SyncGroup": 2}
SYMBOL: Final = re.compile(r'"#(\d+)"')


class Event(NamedTuple):
    """A request or response of a history: when, and the line in three parts, the id in the middle.

    `head` and `tail` have the names of the history; `number` is the request's in it.
    """

    at_ms: int
    head: str
    number: int
    tail: str


class Made(NamedTuple):
    """What was written: how many lines are requests and responses, and where the unlawful are."""

    events: int
    lines: int
    groups: int
    unlawful: dict[str, tuple[str, int]]  # file and line, by group


class Walk:
    """A history in the making."""

    def __init__(self, random: Random, profile: str, unrest: int = 15) -> None:
        self._random = random
        self._unrest = unrest  # of 750 steps of a stable group, those that end its generation
        self._profile = PROFILES[profile]
        retention = self._profile.config.offsets_retention_minutes
        self._config = Config.of({"offsets.retention.minutes": retention, **BROKER})
        self._state = Coordinator(log=Log())
        self._now_ms = random.randrange(60_000)
        self._number = 0
        self._versions: dict[int, int] = {}
        self.events: list[Event] = []

    def go(self, events: int) -> list[Event]:
        """Walk until there are so many events."""
        while len(self.events) < events:
            self._do(self._next())
        return self.events

    def _next(self) -> Input:
        random, group = self._random, self._state.group
        if group is None or not group.members:
            return self._request(self._join("")) if random.random() < 0.8 else Advance(1_000)
        if group.state == GroupState.PREPARING_REBALANCE:
            return self._preparing(group)
        if group.state == GroupState.COMPLETING_REBALANCE:
            away = [m.member_id for m in group.members if m.awaiting_sync is None and m.told]
            if away and random.random() < 0.8:
                return self._request(self._sync(group, random.choice(away)))
            return Advance(random.choice((5, 100, 1_000)))
        return self._stable(group)

    def _preparing(self, group: Group) -> Input:
        random = self._random
        away = [m.member_id for m in group.members if m.awaiting_join is None and m.told]
        if away and random.random() < 0.7:
            return self._request(self._join(random.choice(away)))
        if len(group.members) < 3 and random.random() < 0.5:
            return self._request(self._join(""))
        return Advance(random.choice((500, 1_000, 3_000)))

    def _stable(self, group: Group) -> Input:
        random = self._random
        if random.random() < 0.25:
            return Advance(random.choice((500, 1_000, 2_000)))
        member = random.choice(group.members).member_id
        of_group = (GROUP_ID, group.generation_id, member)
        partition = OffsetCommitRequestPartition(random.randrange(3), self._number)
        topics = (OffsetCommitRequestTopic("orders", (partition,)),)
        bodies: dict[RequestBody, int] = {
            HeartbeatRequest(*of_group): 500,
            OffsetCommitRequest(*of_group, topics=topics): 170,
            HeartbeatRequest(GROUP_ID, group.generation_id - 1, member): 30,
            DescribeGroupsRequest((GROUP_ID,)): 20,
            LeaveGroupRequest(GROUP_ID, (MemberIdentity(member),)): self._unrest,
            self._join("" if len(group.members) < 4 else member): self._unrest,
        }
        return self._request(random.choices([*bodies], [*bodies.values()])[0])

    def _join(self, member_id: str) -> JoinGroupRequest:
        protocols = (Protocol("range", b"orders"),)
        return JoinGroupRequest(GROUP_ID, 10_000, 60_000, member_id, None, "consumer", protocols)

    def _sync(self, group: Group, member_id: str) -> SyncGroupRequest:
        names = [m.member_id for m in group.members]
        told = tuple(Assignment(name, b"orders") for name in names if member_id == group.leader)
        return SyncGroupRequest(GROUP_ID, group.generation_id, member_id, assignments=told)

    def _request(self, body: RequestBody) -> Request:
        self._number += 1
        version = VERSIONS.get(type(body).__name__.removesuffix("Request"), 0)
        self._versions[self._number] = version
        return Request(self._number, version, body, f"client-{self._number % 5}", "/10.0.0.1")

    def _do(self, given: Input) -> None:
        outcomes = successors(self._state, given, self._profile, self._config)
        outcome = self._random.choice(outcomes)
        self._state = outcome.coordinator
        if isinstance(given, Advance):
            self._now_ms += given.ms
        if isinstance(given, Request):
            told = {
                "api": given.api,
                "apiVersion": given.api_version,
                "clientId": given.client_id,
                "clientHost": given.client_host,
                "body": encode(given.body, given.api_version),
            }
            self._event("request", given.request_id, told)
        for answer in outcome.responses:
            body = encode(answer.body, self._versions[answer.request_id])
            self._event("response", answer.request_id, {"body": body})

    def _event(self, kind: str, number: int, told: dict[str, Any]) -> None:
        rest = json.dumps(told, separators=(",", ":"))[1:]
        self.events.append(Event(self._now_ms, f'{{"type":"{kind}","id":', number, f",{rest}\n"))


def spoilt(history: list[Event], random: Random) -> tuple[list[Event], int]:
    """The history with one answer that Kafka never gives here, and which event that is.

    What is put into it is an error that has no place in the walk: nothing is unloaded, no member
    is static, and no commit has metadata to speak of.
    """
    simple = [n for n, e in enumerate(history) if e.tail == ',"body":{"errorCode":0}}\n']
    at = random.choice(simple[len(simple) // 4 :] or simple)
    error = random.choice((16, 82, 23))
    tail = history[at].tail.replace('"errorCode":0', f'"errorCode":{error}')
    return [*history[:at], history[at]._replace(tail=tail), *history[at + 1 :]], at


class Wanted(NamedTuple):
    """So many groups of so many events each, in so many files, some with one unlawful answer.

    The groups go through so many `kinds` of lawful histories.
    """

    groups: int
    events: int
    files: int = 1
    unlawful: int = 0
    seed: int = 0
    profile: str = "2.7"
    kinds: int = 50


def recordings(directory: Path, wanted: Wanted) -> Made:
    """Write what is wanted, as recordings."""
    groups, events, files, unlawful, seed, profile, kinds = wanted
    random = Random(seed)
    lawful = [Walk(random, profile).go(events) for _ in range(min(kinds, groups))]
    chosen = set(random.sample(range(groups), unlawful))
    told = lines = 0
    found: dict[str, tuple[str, int]] = {}
    for number in range(files):
        path = directory / f"recording-{number}.jsonl"
        several: list[tuple[str, list[Event], int | None]] = []
        for group in range(number, groups, files):
            history, at = random.choice(lawful), None
            if group in chosen:
                history, at = spoilt(history, random)
            several.append((f"group-{group}", history, at))
            told += len(history)
        with path.open("w", encoding="utf-8") as file:
            for line in _interleaved(several, profile, found, str(path)):
                file.write(line)
                lines += 1
    return Made(told, lines, groups, found)


def _interleaved(
    several: list[tuple[str, list[Event], int | None]],
    profile: str,
    found: dict[str, tuple[str, int]],
    path: str,
) -> Iterator[str]:
    """The lines of a recording of several groups."""
    yield json.dumps({"type": "open", "trace": 1, "profile": profile, "config": BROKER}) + "\n"
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
        group, history, unlawful = several[n]
        _, head, number, tail = history[place]
        if number not in ids[n]:
            next_id += 1
            ids[n][number] = next_id
        line += 1
        if place == unlawful:
            found[group] = path, line
        told = SYMBOL.sub(rf'"member-\1-of-{group}"', tail).replace('"group"', f'"{group}"')
        yield f"{head}{ids[n][number]}{told}"
