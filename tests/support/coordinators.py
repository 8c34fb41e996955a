"""A coordinator under test, with short forms of requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from groupcheck.implementation import PROFILE_2_7, Config, Coordinator
from groupcheck.implementation.core.config import first
from groupcheck.implementation.core.profiles import Behaviour
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    GroupState,
    GroupView,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    MemberView,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    Protocol,
    Request,
    RequestBody,
    Response,
    SyncGroupRequest,
)

T = TypeVar("T")
Chosen = Callable[[Sequence[Any]], Any]
RANGE = (Protocol("range", b"r"),)
SESSION_MS = 10_000
REBALANCE_MS = 30_000
DELAY_MS = 3_000
NEW_MEMBER_MS = 5 * 60_000


class Bench:
    """A coordinator with requests in short; member ids are m1, m2, … in the order made."""

    def __init__(
        self, config: Config | None = None, choose: Chosen = first, profile: Behaviour = PROFILE_2_7
    ) -> None:
        ids = count(1)
        self.log = ControlledLog(
            MemoryLog(),
            excludes_markers=not profile.appends_markers,
            fails_at_once=profile.defers_responses,
        )
        self.options: dict[str, Any] = {
            "config": config or Config(),
            "profile": profile,
            "log": self.log,
            "choose": choose,
            "new_member_id": lambda _prefix: f"m{next(ids)}",
        }
        self.coordinator = Coordinator(**self.options)
        self.request_ids = count(1)
        self.answers: dict[int, Any] = {}

    def keep(self, responses: list[Response]) -> None:
        for response in responses:
            assert response.request_id not in self.answers, "answered twice"
            self.answers[response.request_id] = response.body

    def send(self, body: RequestBody, version: int = 0) -> int:
        request_id = next(self.request_ids)
        self.keep(self.coordinator.receive(Request(request_id, version, body)))
        return request_id

    def ask(self, body: RequestBody, version: int = 0) -> Any:
        return self.answers.get(self.send(body, version))

    def advance(self, ms: int) -> None:
        self.keep(self.coordinator.advance(ms))

    def release(self) -> None:
        self.log.release()
        self.keep(self.coordinator.take())

    def crash(self) -> None:
        """Another coordinator takes over, with what is in the log."""
        self.log.forget()
        now_ms = self.coordinator.now_ms
        self.coordinator = Coordinator(**self.options, start_ms=now_ms)

    def join(self, member_id: str = "", version: int = 3, **fields: Any) -> int:
        values: dict[str, Any] = {
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocols": RANGE,
        } | fields
        return self.send(JoinGroupRequest("g", member_id=member_id, **values), version)

    def sync(self, member_id: str, generation_id: int = 1, **assignments: bytes) -> int:
        given = tuple(Assignment(*item) for item in assignments.items())
        return self.send(SyncGroupRequest("g", generation_id, member_id, assignments=given))

    def heartbeat(self, member_id: str, generation_id: int = 1) -> ErrorCode:
        error: ErrorCode = self.ask(HeartbeatRequest("g", generation_id, member_id)).error_code
        return error

    def leave(self, *member_ids: str) -> list[ErrorCode]:
        identities = tuple(map(MemberIdentity, member_ids))
        return [m.error_code for m in self.ask(LeaveGroupRequest("g", identities)).members]

    def commit(self, offset: int, *, member_id: str = "", generation_id: int = -1) -> int:
        partition = OffsetCommitRequestPartition(0, offset)
        topics = (OffsetCommitRequestTopic("t", (partition,)),)
        return self.send(OffsetCommitRequest("g", generation_id, member_id, topics=topics))

    def commit_error(self, request_id: int) -> ErrorCode | None:
        answer = self.answers.get(request_id)
        return None if answer is None else answer.topics[0].partitions[0].error_code

    def fetch(self, *, stable: bool = False) -> tuple[int, ErrorCode]:
        topics = (OffsetFetchRequestTopic("t", (0,)),)
        body = OffsetFetchRequest("g", topics, require_stable=stable)
        partition = self.ask(body).topics[0].partitions[0]
        return partition.committed_offset, partition.error_code

    @property
    def view(self) -> GroupView:
        (view,) = self.coordinator.views()
        return view

    def member(self, member_id: str) -> MemberView:
        (found,) = (m for m in self.view.members or () if m.member_id == member_id)
        return found

    @property
    def member_ids(self) -> list[str]:
        return [member.member_id for member in self.view.members or ()]


def joined(size: int, choose: Chosen = first) -> Bench:
    """A group whose first join has just completed; m1 leads it."""
    bench = Bench(choose=choose)
    for _ in range(size):
        bench.join()
    bench.advance(DELAY_MS if size == 1 else DELAY_MS * 2)
    assert bench.view.state == GroupState.COMPLETING_REBALANCE
    return bench


def stable(size: int, choose: Chosen = first) -> Bench:
    """A stable group of generation 1, led by m1."""
    bench = joined(size, choose)
    for number in range(size, 1, -1):
        bench.sync(f"m{number}")
    assignments: dict[str, Any] = {f"m{number}": b"a%d" % number for number in range(1, size + 1)}
    bench.sync("m1", **assignments)
    assert bench.view.state == GroupState.STABLE
    return bench


class Chooser:
    """Takes the last option and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, options: Sequence[T]) -> T:
        self.asked.append(tuple(options))
        return options[-1]
