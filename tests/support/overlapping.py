"""Histories of the built-in coordinator: clients in virtual time whose requests overlap.

Each request takes effect at a moment between its start and its end, and is answered then or later.
A history has what clients observe: the starts, the ends and the responses.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from groupcheck.implementation import PROFILE_2_7, PROFILE_4_1, Config, Coordinator
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model import vocabulary as kafka
from groupcheck.model.bodies import encode
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    Protocol,
    Request,
    RequestBody,
    Response,
)
from support.requests import commit_of, fetch_of, leave

Line = dict[str, Any]
PARTITION = ("t", 0)
PARTITIONS = range(50)
BEHAVIOURS = {"2.7": PROFILE_2_7, "4.1": PROFILE_4_1}


class Client:
    """A client that joins, syncs, sends a member's requests, and sometimes others."""

    def __init__(self, name: str, group: str, random: Random) -> None:
        self.name = name
        self.group = group
        self.random = random
        self.member_id = ""
        self.generation = -1
        self.stage = "out"
        self.members: tuple[str, ...] = ()

    def next(self) -> tuple[int, RequestBody]:
        """The next request, and its version."""
        if self.stage == "out":
            version = self.random.choice((3, 5))
            protocols = (Protocol("range", self.name.encode()),)
            return version, kafka.JoinGroupRequest(
                self.group, 6_000, 10_000, self.member_id, protocols=protocols
            )
        ours = self.group, self.generation, self.member_id
        if self.stage == "joined":
            given = tuple(Assignment(m, f"for {m}".encode()) for m in self.members)
            return 2, kafka.SyncGroupRequest(*ours, assignments=given)
        if self.random.random() < 0.02:
            self.stage = "out"
            return self.next()
        return self.random.choices(
            (
                (1, kafka.HeartbeatRequest(*ours)),
                (2, self._commit(self.random.randrange(100))),
                (1, fetch_of(PARTITION, group_id=self.group)),
                (0, kafka.DescribeGroupsRequest((self.group,))),
                (1, leave(self.member_id)._replace(group_id=self.group)),
            ),
            (12, 3, 3, 1, 0.5),
        )[0]

    def _commit(self, offset: int) -> kafka.OffsetCommitRequest:
        found = {PARTITION: offset}
        return commit_of(found, self.member_id, self.generation, group_id=self.group)

    def receive(self, asked: RequestBody, answer: Any) -> None:
        """Process the response to a request."""
        error = getattr(answer, "error_code", ErrorCode.NONE)
        if isinstance(answer, kafka.JoinGroupResponse):
            self.member_id = answer.member_id
            if error is ErrorCode.NONE:
                self.stage, self.generation = "joined", answer.generation_id
                self.members = tuple(m.member_id for m in answer.members)
        elif isinstance(asked, kafka.SyncGroupRequest) and error is ErrorCode.NONE:
            self.stage = "in"
        elif isinstance(asked, kafka.LeaveGroupRequest):
            self.stage, self.member_id = "out", ""
        if error in {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION}:
            self.stage = "out"
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.stage, self.member_id = "out", ""


class Overlapping:
    """A coordinator and its clients; `lines` is the history that they record."""

    def __init__(  # noqa: PLR0913 - by name, and each with a default
        self,
        seed: int = 0,
        *,
        clients: int = 3,
        groups: Iterable[str] = ("g",),
        profile: str = "2.7",
        way_ms: int = 8,
        think_ms: int = 10,
        delay_ms: int = 50,
    ) -> None:
        self.random = Random(seed)
        ids = count(1)
        self.profile = profile
        self.options: dict[str, Any] = {
            "config": Config(group_initial_rebalance_delay_ms=delay_ms),
            "profile": BEHAVIOURS[profile],
            "choose": self.random.choice,
            "new_member_id": lambda prefix: f"{prefix}-{next(ids)}",
        }
        self.coordinator = Coordinator(**self.options)
        self.lines = [first_line(profile, delay_ms)]
        self.way_ms, self.think_ms = way_ms, think_ms
        self.now_ms = 0
        self._sent: dict[int, tuple[Client, Request]] = {}
        self._queue: list[tuple[int, int, Client, Request, int]] = []
        self._numbers = count(1)
        for group in groups:
            for number in range(clients):
                self._send(Client(f"{group}{number}", group, self.random), 0)

    def run(self, operations: int) -> list[Line]:
        """The history of a number of operations, without requests that are unanswered then."""
        while len(self.lines) <= 2 * operations and self.now_ms < 10_000_000:
            at_ms = self._queue[0][0] if self._queue else self.now_ms + 100
            at_ms = min(at_ms, self.now_ms + 100)
            self._take(self.coordinator.advance(at_ms - self.now_ms), at_ms)
            self.now_ms = at_ms
            while self._queue and self._queue[0][0] == at_ms:
                *_, request, start_ms = heapq.heappop(self._queue)
                self.lines.append(request_line(request, start_ms))
                self._take(self.coordinator.receive(request), at_ms)
            self._between()
        return self.lines

    def _between(self) -> None:
        """A subclass injects faults here; this class does nothing."""

    def _send(self, client: Client, at_ms: int) -> None:
        number = next(self._numbers)
        version, body = client.next()
        request = Request(number, version, body, client.name)
        arrives_ms = at_ms + self.random.randint(0, self.way_ms)
        self._sent[number] = client, request
        heapq.heappush(self._queue, (arrives_ms, number, client, request, at_ms))

    def _take(self, responses: list[Response], now_ms: int) -> None:
        for response in responses:
            client, request = self._sent.pop(response.request_id)
            ends_ms = now_ms + self.random.randint(0, self.way_ms)
            self.lines.append(response_line(response, request.api_version, ends_ms))
            client.receive(request.body, response.body)
            self._send(client, ends_ms + 1 + self.random.randint(0, self.think_ms))


class SlowLog(ControlledLog):
    """A log whose held appends can be released one by one."""

    __slots__ = ()

    def release_first(self) -> None:
        """Complete the oldest append, or all of them if the log completes them together."""
        held = self._held or []
        count = len(held) if self._fails_at_once else 1
        due, self._held = held[:count], held[count:]
        for tell in due:
            tell()


class Interrupted(Overlapping):
    """Clients of a coordinator on which one of the faults `happens` occurs with some `chance`.

    If `slow`, appends complete later, one by one.
    """

    def __init__(
        self,
        seed: int,
        happens: tuple[str, ...] = ("crash",),
        *,
        slow: bool = False,
        chance: float = 0.1,
        **options: Any,
    ) -> None:
        super().__init__(seed, **options)
        self._happens = happens
        self._slow = slow
        self._chance = chance
        behaviour = BEHAVIOURS[self.profile]
        self._log = SlowLog(
            MemoryLog(),
            excludes_markers=not behaviour.appends_markers,
            fails_at_once=behaviour.defers_responses,
        )
        self.options["log"] = self._log
        self.coordinator = Coordinator(**self.options)
        if slow:
            self._log.hold()

    def _between(self) -> None:
        if self._slow and self.random.random() < 0.4:
            self._log.release_first()
            self._take(self.coordinator.take(), self.now_ms)
        if self.random.random() < self._chance:
            self._happen(self.random.choice(self._happens))

    def _happen(self, fault: str) -> None:
        self.lines.append(self.fault_line(fault))
        coordinator = self.coordinator
        if fault == "crash":
            self._log.discard_held()
            served = [p for p in PARTITIONS if coordinator.serving(p) is not Serving.UNLOADED]
            self.coordinator = Coordinator(**self.options, served=served, start_ms=self.now_ms)
            self._lose_requests()
        elif fault == "cleanup":
            self._take(coordinator.cleanup(), self.now_ms)
        else:
            move = {"unload": coordinator.unload, "load": coordinator.load}[fault]
            answers: list[Response] = [a for p in PARTITIONS for a in move(p)]
            self._take(answers, self.now_ms)

    def fault_line(self, fault: str) -> Line:
        """The line that an operator records."""
        early, late = (self.random.randint(0, self.way_ms) for _ in range(2))
        span = {"startMs": max(self.now_ms - early, 0), "endMs": self.now_ms + late}
        return {"type": "fault", "fault": fault, **span}

    def _lose_requests(self) -> None:
        """Requests that wait are lost, and their clients send others."""
        coming = {number for _, number, *_ in self._queue}
        for number in self._sent.keys() - coming:
            client, _ = self._sent.pop(number)
            lost_ms = self.now_ms + self.random.randint(0, self.way_ms)
            self.lines.append({"type": "lost", "id": number, "endMs": lost_ms})
            self._send(client, lost_ms + 1 + self.random.randint(0, self.think_ms))


def first_line(profile: str, delay_ms: int) -> Line:
    """The first line of a history."""
    config = {"group.initial.rebalance.delay.ms": delay_ms}
    return {"type": "open", "trace": 1, "history": 1, "profile": profile, "config": config}


def request_line(request: Request, start_ms: float) -> Line:
    return {
        "type": "request",
        "id": request.request_id,
        "startMs": start_ms,
        "api": request.api,
        "apiVersion": request.api_version,
        "clientId": request.client_id,
        "body": encode(request.body, request.api_version),
    }


def response_line(response: Response, version: int, ends_ms: float) -> Line:
    body = encode(response.body, version)
    return {"type": "response", "id": response.request_id, "endMs": ends_ms, "body": body}


def write(lines: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """A history as a file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def spoiled(lines: list[Line], number: int) -> list[Line]:
    """The history with one answer that Kafka does not allow."""

    def spoil(body: Line) -> None:
        if "topics" in body:
            (topic,) = body["topics"]
            (partition,) = topic["partitions"]
            name = "committedOffset" if "committedOffset" in partition else "errorCode"
            partition[name] = 123
        elif body.get("generationId", -1) > 0:
            body["generationId"] += 50
        elif "groups" in body:
            body["groups"][0]["protocolData"] = "other"
        elif "members" in body and "memberId" not in body:
            body["members"][0]["errorCode"] = 123
        else:
            body["errorCode"] = 123

    return changed(lines, number, spoil)


def changed(lines: list[Line], number: int, change: Callable[[Line], None]) -> list[Line]:
    """The history with the answer to one request changed."""
    copied: list[Line] = json.loads(json.dumps(lines))
    (answer,) = (x for x in copied if x["type"] == "response" and x["id"] == number)
    change(answer["body"])
    return copied
