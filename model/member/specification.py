"""The specification of a consumer: which inputs are possible, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from groupcheck.model.client import (
    AUTO_COMMIT_INTERVAL,
    CLOSE,
    COMMIT,
    COMMIT_SYNC,
    DISCONNECT,
    HEARTBEAT_INTERVAL,
    NONE,
    POLL,
    POLL_INTERVAL,
    SESSION_TIMEOUT,
    SUBSCRIBE,
    UNSUBSCRIBE,
    ClientInput,
)
from groupcheck.model.engine.rules import Table, decide, version_of
from groupcheck.model.engine.specification import Outcome, Specification
from groupcheck.model.engine.step import steps
from groupcheck.model.member import events, responses
from groupcheck.model.member.state import Application, Member, MemberStep, Phase, Settings

PARTS: Final = (*responses.PARTS, *events.PARTS)
VERSIONS: Final = {name: version_of(name, PARTS) for name in ("2.7", "4.1")}

# The member id that a coordinator gives, in the instances.
GIVEN: Final = "m"

_OF_MEMBERS: Final = (
    "REBALANCE_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "GROUP_AUTHORIZATION_FAILED",
    "UNKNOWN_SERVER_ERROR",
)
# The errors that the coordinator of any version answers, by API, besides FindCoordinator's.
ERRORS: Final = {
    "JoinGroup": (
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "UNKNOWN_MEMBER_ID",
        "REBALANCE_IN_PROGRESS",
        "INCONSISTENT_GROUP_PROTOCOL",
        "GROUP_AUTHORIZATION_FAILED",
        "GROUP_MAX_SIZE_REACHED",
        "UNKNOWN_SERVER_ERROR",
    ),
    "SyncGroup": _OF_MEMBERS,
    "Heartbeat": _OF_MEMBERS,
    "OffsetCommit": (
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
        "ILLEGAL_GENERATION",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "OFFSET_METADATA_TOO_LARGE",
        "GROUP_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNKNOWN_SERVER_ERROR",
    ),
}
FENCED: Final = "FENCED_INSTANCE_ID"

_TABLES: Final[dict[str, Table]] = {
    **{each.name: each for each in responses.PARTS},
    SUBSCRIBE: events.SUBSCRIPTION,
    POLL: events.SUBSCRIPTION,
    UNSUBSCRIBE: events.UNSUBSCRIPTION,
    CLOSE: events.CLOSING,
    COMMIT: events.COMMITS,
    COMMIT_SYNC: events.SYNC_COMMITS,
    HEARTBEAT_INTERVAL: events.HEARTBEAT_DUE,
    AUTO_COMMIT_INTERVAL: events.COMMIT_DUE,
    POLL_INTERVAL: events.POLL_OVERDUE,
    SESSION_TIMEOUT: events.SESSION_OVER,
    DISCONNECT: events.DISCONNECTED,
}

_POLLS: Final = (
    Application.POLLING,
    Application.COMMITTING,
    Application.PREPARING,
    Application.CLOSING,
    Application.DRAINING,
)
# It reads no answers, or nothing that they do can be seen.
_DEAF: Final = (Application.STALLED, Application.FAILED, Application.CLOSED)


@dataclass(frozen=True)
class Consumer(Specification):
    """A consumer of one topic, and any coordinator.

    Args:
        profile: the version of the Java client, "2.7" or "4.1".
        settings: of the consumer.
        assignments: those that an answer to SyncGroup can have.
        generations: the limit of generations of the group.
        commits_early: whether the application commits while the coordinator is unknown, too.
    """

    profile: str
    settings: Settings
    assignments: tuple[tuple[int, ...], ...]
    generations: int = 2
    commits_early: bool = False

    @property
    def initial(self) -> Member:
        """A consumer that has not subscribed."""
        return Member()

    def inputs(self, state: Member) -> Iterator[ClientInput]:
        """What can happen to it: an answer to its oldest request, a call, or time."""
        if state.application not in _DEAF:
            if state.finding:
                yield from _found(state)
            if state.sent:
                yield from self._replies(state)
        yield from (ClientInput(name) for name in _calls(state, early=self.commits_early))
        yield from (ClientInput(name) for name in _times(state))
        if self.settings.auto_commit and _may_commit(state):
            yield ClientInput(AUTO_COMMIT_INTERVAL)

    def successors(self, state: Member, given: ClientInput) -> Iterator[Outcome]:
        """What the consumer does. It is one response: a tuple of events, in their order."""

        def act(step: MemberStep) -> None:
            _take(step, given)
            decide(step, _TABLES[given.name], given)
            while decide(step, events.POLL_LOOP, given) is not None:
                pass

        version = VERSIONS[self.profile]
        for step in steps(lambda script: MemberStep(version, self.settings, state, script), act):
            yield Outcome(step.state, (tuple(step.events),), tuple(step.applied))

    def action(self, given: ClientInput) -> str:
        """The API that is answered, or the event."""
        return given.name

    def _replies(self, state: Member) -> Iterator[ClientInput]:
        oldest, *later = state.sent
        member_id = oldest.member_id or GIVEN
        if oldest.api == "JoinGroup":
            if state.latest < self.generations:
                number = state.latest + 1
                for leader in (False, True):
                    yield ClientInput("JoinGroup", NONE, member_id, number, leader=leader)
                if self.settings.returns:
                    yield ClientInput("JoinGroup", NONE, member_id, number, leader=True, skips=True)
            yield ClientInput("JoinGroup", "MEMBER_ID_REQUIRED", member_id)
        elif oldest.api == "SyncGroup":
            for partitions in self.assignments:
                yield ClientInput("SyncGroup", NONE, partitions=partitions)
        else:
            yield ClientInput(oldest.api, NONE)
        # A heartbeat's thread says so to the next poll, and a commit in flight hides which it was.
        hidden = oldest.api == "Heartbeat" and any(r.api == "OffsetCommit" for r in later)
        # Nor is it specified what the next poll does after a consumer's own commit.
        hidden = hidden or (self.settings.auto_commit and oldest.api == "OffsetCommit")
        if self.settings.static and not hidden:
            yield ClientInput(oldest.api, FENCED)
        yield from (ClientInput(oldest.api, error) for error in ERRORS[oldest.api])


def _found(state: Member) -> Iterator[ClientInput]:
    """The answers to FindCoordinator."""
    yield ClientInput("FindCoordinator", NONE)
    yield ClientInput("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    # A heartbeat's thread asks, too, and drops the error: the application sees it or not.
    if state.phase in (Phase.UNJOINED, Phase.PREPARING):
        yield ClientInput("FindCoordinator", "GROUP_AUTHORIZATION_FAILED")


def _take(step: MemberStep, given: ClientInput) -> None:
    """Take the answered request off those in flight."""
    if given.name == "FindCoordinator":
        step.set(finding=False)
    elif given.error:
        step.answered, *later = step.state.sent
        step.set(sent=tuple(later))


def _calls(state: Member, *, early: bool) -> Iterator[str]:
    application = state.application
    if application in (Application.NEW, Application.UNSUBSCRIBED):
        yield SUBSCRIBE
    if application == Application.STALLED:
        yield POLL
    idle = not state.finding and not state.sent
    if application == Application.POLLING and idle:
        yield UNSUBSCRIBE
    polling = application == Application.POLLING and (state.coordinator or early)
    if polling and state.owned and not (state.awaits("OffsetCommit") or state.pending):
        yield COMMIT
        yield COMMIT_SYNC
    closable = application in (Application.POLLING, Application.FAILED, Application.UNSUBSCRIBED)
    if closable and all(request.api == "Heartbeat" for request in state.sent):
        yield CLOSE


def _times(state: Member) -> Iterator[str]:
    polling = state.application == Application.POLLING and state.coordinator
    joined = state.phase in (Phase.COMPLETING, Phase.STABLE)
    if polling and joined and not state.awaits("Heartbeat"):
        yield HEARTBEAT_INTERVAL
    if polling and joined and all(request.api == "SyncGroup" for request in state.sent):
        yield POLL_INTERVAL
    if polling and [request.api for request in state.sent] == ["Heartbeat"] and joined:
        yield SESSION_TIMEOUT
    if state.application in _POLLS and state.sent:
        yield DISCONNECT


def _may_commit(state: Member) -> bool:
    """Whether an automatic commit can become due: it is a member, and has no other in flight."""
    stable = state.phase == Phase.STABLE and not state.rejoin and state.coordinator
    return stable and state.application == Application.POLLING and not state.awaits("OffsetCommit")


EAGER: Final = ((), (0, 1))
OVERLAPPING: Final = ((), (0,), (0, 1))


def instances(profile: str) -> dict[str, Consumer]:
    """The model instances of a version, by name."""
    since_3_2 = {"returning-leader": Consumer(profile, Settings(static=True, returns=True), EAGER)}
    return {
        "eager": Consumer(profile, Settings(), EAGER),
        "eager-static": Consumer(profile, Settings(static=True), EAGER),
        "cooperative": Consumer(profile, Settings(cooperative=True), OVERLAPPING),
        "cooperative-static": Consumer(
            profile, Settings(cooperative=True, static=True), OVERLAPPING
        ),
        "automatic": Consumer(profile, Settings(auto_commit=True), EAGER),
        "automatic-static": Consumer(profile, Settings(static=True, auto_commit=True), EAGER),
        "automatic-cooperative": Consumer(
            profile, Settings(cooperative=True, auto_commit=True), OVERLAPPING
        ),
        "early-commits": Consumer(
            profile, Settings(cooperative=True), OVERLAPPING, commits_early=True
        ),
        **(since_3_2 if profile == "4.1" else {}),
    }
