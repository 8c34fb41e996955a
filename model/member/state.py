"""The state of a consumer, and a step while it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from groupcheck.model.client import (
    NO_GENERATION,
    NO_MEMBER_ID,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.engine.rules import Effect, Guard, Sources, Version
from groupcheck.model.engine.step import EngineStep


class Phase(StrEnum):
    """Java's `AbstractCoordinator.MemberState`."""

    UNJOINED = "UNJOINED"
    PREPARING = "PREPARING_REBALANCE"
    COMPLETING = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


class Application(StrEnum):
    """What the application does."""

    NEW = "has not subscribed yet"
    POLLING = "polls"
    COMMITTING = "waits in commitSync"
    PREPARING = "waits in poll for a commit"
    CLOSING = "waits in close for a commit"
    DRAINING = "waits in close for the coordinator"
    STALLED = "does not poll"
    UNSUBSCRIBED = "has unsubscribed"
    FAILED = "has to close the consumer"
    CLOSED = "has closed the consumer"


class Request(NamedTuple):
    """A request that is not answered yet, with the member id and the generation when it was sent.

    A commit is `waited` if the application or its next JoinGroup waits for the answer. It is
    `automatic` if the application has not asked for it: it does not learn the result.
    """

    api: str
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    waited: bool = False
    automatic: bool = False


class Member(NamedTuple):
    """A consumer between two steps.

    Args:
        application: what the application does.
        coordinator: whether the coordinator is known.
        finding: whether FindCoordinator is not answered yet.
        phase: of the membership.
        member_id: that JoinGroup will have.
        generation: of the group when it joined; `NO_GENERATION` when that was reset.
        rejoin: whether it has to join.
        prepare: whether `onJoinPrepare` comes before the next JoinGroup.
        owned: the assigned partitions.
        sent: requests on the connection to the coordinator, the oldest first. A broker answers them
            in this order.
        latest: the latest generation of the group.
        due: whether an automatic commit is due.
        completed: the result of an asynchronous commit, until its callback is called.
        pending: whether an asynchronous commit waits for the coordinator.
    """

    application: Application = Application.NEW
    coordinator: bool = False
    finding: bool = False
    phase: Phase = Phase.UNJOINED
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    rejoin: bool = True
    prepare: bool = True
    owned: tuple[int, ...] = ()
    sent: tuple[Request, ...] = ()
    latest: int = 0
    due: bool = False
    completed: str = ""
    pending: bool = False

    def awaits(self, *apis: str) -> bool:
        """Whether a request of one of the APIs is not answered yet."""
        return any(request.api in apis for request in self.sent)

    @property
    def joining(self) -> bool:
        """Whether JoinGroup or SyncGroup is not answered yet: Java's `joinFuture`."""
        return self.awaits("JoinGroup", "SyncGroup")


class Settings(NamedTuple):
    """The settings of a consumer.

    Args:
        cooperative: whether its assignors follow the cooperative protocol.
        static: whether it has a `group.instance.id`.
        auto_commit: `enable.auto.commit`.
        returns: whether its broker has the JoinGroup of Kafka 3.2, in which a static leader that
            returns need not assign (KIP-814).
    """

    cooperative: bool = False
    static: bool = False
    auto_commit: bool = False
    returns: bool = False


class Stage(StrEnum):
    """How far a step is in `onJoinPrepare`, or in `close`, which begin with a commit."""

    NONE = ""
    COMMITTED = "its automatic commit has ended"
    PREPARED = "it has prepared"


class MemberStep(EngineStep):
    """A step while it is built: state, answered request, and what the consumer does."""

    __slots__ = ("answered", "events", "settings", "stage", "state")

    def __init__(
        self, version: Version, settings: Settings, state: Member, script: Sequence[int] = ()
    ) -> None:
        super().__init__(version, script)
        self.settings = settings
        self.state = state
        self.answered = Request("")
        self.stage = Stage.NONE
        self.events: list[ClientEvent] = []

    def set(self, **fields: object) -> None:
        """Change fields of the state."""
        self.state = self.state._replace(**fields)  # type: ignore[arg-type]

    def do(self, event: ClientEvent) -> None:
        """Add something that the consumer does."""
        self.events.append(event)

    def send(
        self,
        api: str,
        *,
        waited: bool = False,
        automatic: bool = False,
        **fields: Any,  # noqa: ANN401
    ) -> None:
        """Send a request to the coordinator, with the current member id and generation."""
        state = self.state
        fields["member_id"] = state.member_id
        if api not in ("JoinGroup", "LeaveGroup"):
            fields["generation"] = state.generation
        self.do(ClientEvent(api, **fields))
        if api != "LeaveGroup":  # no answer to it has an effect
            request = Request(api, state.member_id, state.generation, waited, automatic)
            self.set(sent=(*state.sent, request))

    @property
    def unchanged(self) -> bool:
        """Whether member id and generation are still those of the answered request."""
        state = self.state
        return (state.member_id, state.generation) == self.answered[1:3]


Test = Callable[[MemberStep], bool]
Change = Callable[[MemberStep], object]


def when(words: str, test: Test, sources: Sources | None = None) -> Guard:
    """A guard that does not look at the input."""
    guard = Guard(words, lambda step, _given: test(step))
    return guard.only(sources) if sources else guard


def does(words: str, change: Change, sources: Sources | None = None) -> Effect:
    """An effect that does not look at the input."""
    effect = Effect(words, lambda step, _given: change(step))
    return effect.only(sources) if sources else effect


def error_is(*errors: str) -> Guard:
    """The guard: the answer has one of these errors."""

    def holds(_step: MemberStep, given: ClientInput) -> bool:
        return given.error in errors

    return Guard(f"the error is {_either(errors)}", holds)


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
