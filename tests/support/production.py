"""The generator of recordings: consumers as in production, with the model as the coordinator.

Each consumer sends a heartbeat every 3 s and a commit every 5 s. Sometimes one leaves, stops or
joins, and the group rebalances. The model allows the history, because its responses are the
model's.
"""

from __future__ import annotations

import json
from heapq import heappop, heappush
from random import Random
from typing import Final, NamedTuple

from groupcheck.model import vocabulary as kafka
from groupcheck.model.bodies import encode
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.timers import due
from groupcheck.model.classic.state import Advance, Coordinator, Log
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request, RequestBody, ResponseBody
from groupcheck.properties.oracle import config_of
from support.requests import commit_of, fetch_of, heartbeat, join, leave, sync

BROKER: Final = {"group.initial.rebalance.delay.ms": 3000}
HEARTBEAT_MS: Final = 3_000
COMMIT_MS: Final = 5_000
SESSION_MS: Final = 45_000
STEADY_MS: Final = 600_000  # the average time without a join or a leave
MOST: Final = 5  # members
NEVER: Final = 2**62
HOST: Final = "/10.0.0.1"
OLD: Final = {"JoinGroup": 1, "OffsetCommit": 2, "OffsetFetch": 1}
# By profile: JoinGroup asks for a second one with the id, where a version does.
VERSIONS: Final = {
    "0.10.0": {**OLD, "JoinGroup": 0},
    "0.10.2": OLD,
    "2.7": {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7, "OffsetFetch": 5},
}


class Happened(NamedTuple):
    """An event of a recording: its time, its request, if any, and its body."""

    at_ms: int
    kind: str
    number: int = 0
    api: str = ""
    version: int = 0
    client: str = ""
    body: str = ""
    host: str = HOST

    @classmethod
    def of(
        cls, at_ms: int, kind: str, request: Request, body: RequestBody | ResponseBody
    ) -> Happened:
        """A request, or the response to it."""
        number, version, _, client, host = request
        text = json.dumps(encode(body, version), separators=(",", ":"))
        return cls(at_ms, kind, number, request.api, version, client, text, host)


class Consumer:
    """A consumer; plans of an earlier `life` are dropped."""

    def __init__(self, name: str, first_partition: int) -> None:
        self.name = name
        self.partitions = (("orders", first_partition), ("orders", first_partition + 1))
        self.member_id = ""
        self.generation = -1
        self.assigns: dict[str, bytes] = {}
        self.offset = 0
        self.life = 0


class Production:
    """The history of one group; consumers join or leave about every `steady_ms`."""

    def __init__(self, random: Random, profile: str = "2.7", steady_ms: int = STEADY_MS) -> None:
        self._steady_ms = steady_ms
        self._random = random
        self._profile = PROFILES[profile]
        self._versions = VERSIONS.get(profile, VERSIONS["2.7"])
        self._config = config_of(self._profile, BROKER)
        self._state = Coordinator(log=Log())
        self._now_ms = self._number = self._consumers = self._plans = 0
        self._to_do: list[tuple[int, int, str, Consumer, int]] = []
        self._asked: dict[int, tuple[Consumer, Request]] = {}
        self._there: list[Consumer] = []
        self.happened: list[Happened] = []
        for _ in range(random.randint(2, 4)):
            self._start()
        self._plan(random.randrange(steady_ms), "change", Consumer("", 0))

    def go(self, events: int) -> list[Happened]:
        """The history, extended to a number of events."""
        while len(self.happened) < events:
            at_ms, _, what, who, life = self._to_do[0]
            if not self._passed(at_ms):
                continue
            heappop(self._to_do)
            if life == who.life:
                getattr(self, f"_{what}")(who)
        return self.happened[:events]

    def _plan(self, in_ms: int, what: str, who: Consumer) -> None:
        self._plans += 1
        heappush(self._to_do, (self._now_ms + in_ms, self._plans, what, who, who.life))

    def _passed(self, at_ms: int) -> bool:
        """Advance time to `at_ms`, or to the first timer before; whether it is `at_ms` then."""
        left_ms = min((t.left_ms for t in due(self._state, NEVER)), default=NEVER)
        ms = min(at_ms - self._now_ms, left_ms)
        self._now_ms += ms
        if ms:
            self._do(Advance(ms))
        return self._now_ms == at_ms

    def _start(self) -> None:
        self._consumers += 1
        who = Consumer(f"consumer-{self._consumers}", 2 * self._consumers)
        self._there.append(who)
        self._plan(self._random.randrange(1_000), "join", who)

    def _change(self, unused: Consumer) -> None:
        """A consumer joins, leaves or stops."""
        self._plan(self._random.randrange(self._steady_ms, 2 * self._steady_ms), "change", unused)
        if len(self._there) < 2 or (len(self._there) < MOST and self._random.random() < 0.5):
            self._start()
            return
        who = self._there.pop(self._random.randrange(len(self._there)))
        who.life += 1
        if who.member_id and self._random.random() < 0.5:
            self._ask(who, leave(who.member_id))

    def _join(self, who: Consumer) -> None:
        protocols = (Protocol("range", b"orders"),)
        body = join(who.member_id, session_ms=SESSION_MS, rebalance_ms=300_000)
        self._ask(who, body._replace(protocols=protocols))

    def _sync(self, who: Consumer) -> None:
        self._ask(who, sync(who.member_id, who.generation, who.assigns))

    def _heartbeat(self, who: Consumer) -> None:
        self._ask(who, heartbeat(who.member_id, who.generation))

    def _commit(self, who: Consumer) -> None:
        who.offset += self._random.randrange(1, 2_000)
        offsets = dict.fromkeys(who.partitions, who.offset)
        self._ask(who, commit_of(offsets, who.member_id, who.generation))

    def _fetch(self, who: Consumer) -> None:
        self._ask(who, fetch_of(*who.partitions))

    def _ask(self, who: Consumer, body: RequestBody) -> None:
        self._number += 1
        api = type(body).__name__.removesuffix("Request")
        request = Request(self._number, self._versions.get(api, 0), body, who.name, HOST)
        self._asked[self._number] = who, request
        self.happened.append(Happened.of(self._now_ms, "request", request, body))
        self._do(request)

    def _do(self, given: Input) -> None:
        outcomes = successors(self._state, given, self._profile, self._config)
        outcome = self._random.choice(outcomes)
        self._state = outcome.coordinator
        for answer in outcome.responses:
            who, request = self._asked.pop(answer.request_id)
            self.happened.append(Happened.of(self._now_ms, "response", request, answer.body))
            if who in self._there:
                self._learn(who, answer.body)

    def _learn(self, who: Consumer, body: ResponseBody) -> None:
        error = getattr(body, "error_code", ErrorCode.NONE)
        if isinstance(body, kafka.JoinGroupResponse) and error == ErrorCode.MEMBER_ID_REQUIRED:
            who.member_id = body.member_id
            self._plan(2, "join", who)
        elif error in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}:
            who.life, who.member_id = who.life + 1, ""
            self._plan(100, "join", who)
        elif error == ErrorCode.REBALANCE_IN_PROGRESS:
            who.life += 1
            self._plan(self._random.randrange(1, 500), "join", who)
        elif isinstance(body, kafka.JoinGroupResponse):
            who.member_id, who.generation = body.member_id, body.generation_id
            who.assigns = {m.member_id: b"orders" for m in body.members}
            self._plan(self._random.randrange(1, 50), "sync", who)
        elif isinstance(body, kafka.SyncGroupResponse):
            self._plan(1, "fetch", who)
            self._plan(HEARTBEAT_MS, "heartbeat", who)
            self._plan(COMMIT_MS, "commit", who)
        elif isinstance(body, kafka.HeartbeatResponse):
            self._plan(HEARTBEAT_MS, "heartbeat", who)
        elif isinstance(body, kafka.OffsetCommitResponse):
            self._plan(COMMIT_MS, "commit", who)
