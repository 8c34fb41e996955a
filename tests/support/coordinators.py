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
from groupcheck.model.vocabulary import GroupState, GroupView, Request, RequestBody, Response
from support.requests import Call, Clients

T = TypeVar("T")
Chosen = Callable[[Sequence[Any]], Any]
DELAY_MS = 3_000
NEW_MEMBER_MS = 5 * 60_000


class BuiltinBroker(Clients):
    """The built-in coordinator and its clients; member ids are m1, m2, … in the order made."""

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

    def send(self, body: RequestBody, version: int = 0) -> Call[Any]:
        call: Call[Any] = Call(self, next(self.request_ids))
        self.keep(self.coordinator.receive(Request(call.request_id, version, body)))
        return call

    def answer_to(self, request_id: int) -> Any:
        return self.answers.get(request_id)

    def advance(self, ms: int) -> None:
        self.keep(self.coordinator.advance(ms))

    def release(self) -> None:
        self.log.release()
        self.keep(self.coordinator.take())

    @property
    def view(self) -> GroupView:
        (view,) = self.coordinator.views()
        return view

    @property
    def member_ids(self) -> list[str]:
        return [member.member_id for member in self.view.members or ()]


def joined(size: int, choose: Chosen = first) -> BuiltinBroker:
    """A group whose first join has just completed; m1 leads it."""
    broker = BuiltinBroker(choose=choose)
    for _ in range(size):
        broker.join()
    broker.advance(DELAY_MS if size == 1 else DELAY_MS * 2)
    assert broker.view.state == GroupState.COMPLETING_REBALANCE
    return broker


def stable(size: int, choose: Chosen = first) -> BuiltinBroker:
    """A stable group of generation 1, led by m1."""
    broker = joined(size, choose)
    for number in range(size, 1, -1):
        broker.sync(f"m{number}", 1)
    broker.sync("m1", 1, {f"m{number}": b"a%d" % number for number in range(1, size + 1)})
    assert broker.view.state == GroupState.STABLE
    return broker


class Chooser:
    """Takes the last option and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, options: Sequence[T]) -> T:
        self.asked.append(tuple(options))
        return options[-1]
