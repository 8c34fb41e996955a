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
from groupcheck.model.member.state import (
    Application,
    MemberStep,
    Phase,
    Request,
    Stage,
    does,
    when,
)

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
        if request.api == "OffsetCommit":
            _retry(step, request)
        elif request.api in ("JoinGroup", "SyncGroup"):
            step.set(rejoin=True)


LOSE_COORDINATOR: Final = does(
    "forget the coordinator, and fail every request in flight: commits are retriable, a join is "
    "repeated",
    _fail_in_flight,
)


def _result(step: MemberStep, event: ClientEvent) -> None:
    """A commit has a result; its callback is called when the application does not wait."""
    if step.state.application in (Application.PREPARING, Application.DRAINING):
        step.set(completed=event.error or event.name)
    else:
        step.do(event)


def call_back(step: MemberStep) -> None:
    """Call the callback of a commit that has a result, if there is one."""
    completed = step.state.completed
    if completed:
        failed = completed != COMMITTED
        step.set(completed="")
        step.do(ClientEvent(COMMIT_FAILED, error=completed) if failed else ClientEvent(COMMITTED))


def go_on(step: MemberStep) -> None:
    """An automatic commit has ended: the consumer goes on to join or to leave."""
    call_back(step)
    step.stage = Stage.COMMITTED
    if step.state.application == Application.PREPARING:
        step.set(application=Application.POLLING)


def committed(step: MemberStep, event: ClientEvent) -> None:
    """The result of the answered commit, which ends the wait; an automatic one is logged only."""
    if not step.answered.automatic:
        _result(step, event)
    if step.answered.waited and step.answered.automatic:
        go_on(step)
    elif step.answered.waited:
        step.set(application=Application.POLLING)


def fails(kind: str) -> Effect:
    """The effect: the commit fails."""
    return does(
        f"the commit fails: {kind}",
        lambda s: committed(s, ClientEvent(COMMIT_FAILED, error=kind)),
    )


def _retry(step: MemberStep, commit: Request) -> None:
    # The rules of a poll send a commit that something waits for, when the coordinator is known.
    if commit.automatic and commit.waited:
        call_back(step)
    elif commit.automatic:
        # If it has to join, the interval restarts with its assignment (2.7.2 CC:425).
        step.set(due=not step.state.rejoin)
    elif not commit.waited:
        _result(step, ClientEvent(COMMIT_FAILED, error=RETRIABLE))


RETRY_COMMIT: Final = does(
    "a commit that something waits for is sent again after a backoff, another automatic one is due "
    "again, and commitAsync fails: retriable",
    lambda s: _retry(s, s.answered),
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
AUTO_COMMIT: Final = when("it commits automatically", lambda s: s.settings.auto_commit)


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
