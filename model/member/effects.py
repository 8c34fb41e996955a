"""Guards and effects that several rules share."""

from __future__ import annotations

from typing import Final

from groupcheck.model.client import (
    ASSIGNED,
    COMMIT_FAILED,
    COMMITTED,
    LOST,
    NO_GENERATION,
    NO_MEMBER_ID,
    RAISED,
    RETRIABLE,
    REVOKED,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.engine.rules import Effect
from groupcheck.model.member.sources import CC, at
from groupcheck.model.member.state import Application, MemberStep, Phase, does, when

UNCHANGED: Final = when(
    "member id and generation are still those of the request", lambda s: s.unchanged
)
STABLE: Final = when("the member is STABLE", lambda s: s.state.phase == Phase.STABLE)
PREPARING: Final = when(
    "the member is in PREPARING_REBALANCE", lambda s: s.state.phase == Phase.PREPARING
)
RESET: Final = when("the generation was reset", lambda s: s.state.generation == NO_GENERATION)

REJOIN: Final = does("remember that it has to join", lambda s: s.set(rejoin=True))


def raises(kind: str) -> Effect:
    """The effect: the next poll of the application raises an error."""
    return does(f"poll raises an error: {kind}", lambda s: s.do(ClientEvent(RAISED, error=kind)))


GIVE_UP: Final = does(
    "the application has to close the consumer",
    lambda s: s.set(application=Application.FAILED),
)


def _forget(step: MemberStep, *, member_id: bool) -> None:
    step.set(phase=Phase.UNJOINED, generation=NO_GENERATION, rejoin=True, prepare=True)
    if member_id:
        step.set(member_id=NO_MEMBER_ID)


LEAVE_GENERATION: Final = does(
    "reset generation and member id, and remember to prepare and to join",
    lambda s: _forget(s, member_id=True),
)
LEAVE_GENERATION_ONLY: Final = does(
    "reset the generation, keep the member id, and remember to prepare and to join",
    lambda s: _forget(s, member_id=False),
)


def _fail_in_flight(step: MemberStep) -> None:
    """What the failure of each request in flight does, in their order."""
    state = step.state
    requests = (*state.sent,)
    step.set(coordinator=False, sent=())
    for request in requests:
        if request.api == "OffsetCommit" and not request.waited:
            step.do(ClientEvent(COMMIT_FAILED, error=RETRIABLE))
        elif request.api in ("JoinGroup", "SyncGroup"):
            step.set(rejoin=True)


LOSE_COORDINATOR: Final = does(
    "forget the coordinator, and fail every request in flight: commits are retriable, a join is "
    "repeated",
    _fail_in_flight,
)


def committed(step: MemberStep, event: ClientEvent) -> None:
    """The result of the answered commit; after a synchronous one the application polls again."""
    step.do(event)
    if step.answered.waited:
        step.set(application=Application.POLLING)


def fails(kind: str) -> Effect:
    """The effect: the commit fails."""
    return does(
        f"the commit fails: {kind}",
        lambda s: committed(s, ClientEvent(COMMIT_FAILED, error=kind)),
    )


def _retry(step: MemberStep) -> None:
    # A synchronous commit is sent again by the rules of commitSync, when the coordinator is known.
    if not step.answered.waited:
        step.do(ClientEvent(COMMIT_FAILED, error=RETRIABLE))


RETRY_COMMIT: Final = does(
    "commitSync sends it again after a backoff; an asynchronous commit fails: retriable", _retry
)
SUCCEED: Final = does("the commit succeeds", lambda s: committed(s, ClientEvent(COMMITTED)))


def _drop(step: MemberStep, name: str) -> None:
    step.do(ClientEvent(name, partitions=step.state.owned))
    step.set(owned=())


OWNS: Final = when("it owns partitions", lambda s: bool(s.state.owned))
LOSE: Final = does("call onPartitionsLost with all, and own none", lambda s: _drop(s, LOST))
REVOKE: Final = does("call onPartitionsRevoked with all, and own none", lambda s: _drop(s, REVOKED))

EAGER: Final = when("its assignors are eager", lambda s: not s.settings.cooperative)
COOPERATIVE: Final = when("its assignors are cooperative", lambda s: s.settings.cooperative)
STATIC: Final = when("it has a group.instance.id", lambda s: s.settings.static)


def _revoke_others(step: MemberStep, given: ClientInput) -> None:
    gone = tuple(p for p in step.state.owned if p not in given.partitions)
    step.do(ClientEvent(REVOKED, partitions=gone))
    step.set(rejoin=True)


REVOKE_OTHERS: Final = Effect(
    "call onPartitionsRevoked with those that the assignment does not have, and remember to join",
    _revoke_others,
    at(408, 441, CC),
)


def _assign(step: MemberStep, given: ClientInput) -> None:
    added = tuple(p for p in given.partitions if p not in step.state.owned)
    step.set(owned=given.partitions)
    step.do(ClientEvent(ASSIGNED, partitions=added))


ASSIGN: Final = Effect(
    "own the assignment, and call onPartitionsAssigned with those that are new",
    _assign,
    at(430, 464, CC),
)
