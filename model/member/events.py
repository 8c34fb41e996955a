"""What a consumer does when time passes or the application calls it, and in its poll loop."""

from __future__ import annotations

from typing import Final

from groupcheck.model.client import (
    NO_GENERATION,
    NO_MEMBER_ID,
    NOT_A_MEMBER,
    REBALANCING,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.engine.rules import Effect, Table, decide, rule, single, table
from groupcheck.model.member.effects import (
    EAGER,
    LEAVE_GENERATION,
    LOSE,
    LOSE_COORDINATOR,
    OWNS,
    REVOKE,
    STABLE,
    STATIC,
    fails,
)
from groupcheck.model.member.sources import CC, at
from groupcheck.model.member.state import Application, MemberStep, Phase, does, when

CONSUMER: Final = "KafkaConsumer.java"
CLASSIC: Final = "ClassicKafkaConsumer.java"


def _tries(words: str, *tables: Table) -> Effect:
    def apply(step: MemberStep, given: ClientInput) -> None:
        for each in tables:
            decide(step, each, given)

    return Effect(words, apply)


def _becomes(application: Application) -> Effect:
    return does(f"the application {application}", lambda s: s.set(application=application))


def _has_left(step: MemberStep) -> bool:
    state = step.state
    return state.phase == Phase.UNJOINED or state.member_id == NO_MEMBER_ID


def _was_reset(step: MemberStep) -> bool:
    return step.state.generation == NO_GENERATION or step.state.member_id == NO_MEMBER_ID


_NO_MEMBER: Final = when(
    "the generation was reset, or a rebalance is in progress",
    lambda s: _was_reset(s) or s.state.phase in (Phase.PREPARING, Phase.COMPLETING),
)

LEAVE_PREPARE: Final = table(
    "leave-prepare",
    "leave",
    rule(
        "leave/lost",
        "it owns partitions that others may own by now",
        at(747, 893, CC),
        OWNS,
        _NO_MEMBER,
        LOSE,
    ),
    rule("leave/revoked", "it owns partitions", at(749, 897, CC), OWNS, REVOKE),
)
LEAVE: Final = table(
    "leave",
    "leave",
    rule(
        "leave/static",
        "a static member keeps its place in the group until its session ends",
        at(1037, 1192),
        STATIC,
        LEAVE_GENERATION,
    ),
    rule(
        "leave/not-needed",
        "the coordinator is unknown, or the member is not in the group",
        at(1037, 1191),
        when(
            "coordinator or membership is unknown",
            lambda s: not s.state.coordinator or _has_left(s),
        ),
        LEAVE_GENERATION,
    ),
    rule(
        "leave/sent",
        "the member is in the group",
        at(1048, 1181),
        does("send LeaveGroup", lambda s: s.send("LeaveGroup")),
        LEAVE_GENERATION,
    ),
)


def _send_commit(step: MemberStep) -> None:
    waited = step.state.application == Application.COMMITTING
    step.send("OffsetCommit", waited=waited)


SEND_COMMIT: Final = table(
    "commit",
    "commit",
    rule(
        "commit/sent",
        "the member is STABLE",
        at(1148, 1331, CC),
        STABLE,
        does("send OffsetCommit", _send_commit),
    ),
    rule(
        "commit/in-rebalance",
        "a rebalance is in progress",
        at(1135, 1316, CC),
        when(
            "it is in PREPARING_REBALANCE or COMPLETING_REBALANCE",
            lambda s: s.state.phase != Phase.UNJOINED,
        ),
        fails(REBALANCING),
    ),
    rule("commit/not-a-member", "the member has left", at(1139, 1320, CC), fails(NOT_A_MEMBER)),
)

SUBSCRIPTION: Final = single(
    "subscribe",
    "application",
    "application/polls",
    "the application subscribes, or polls again after a pause",
    at(f"{CONSUMER}:944", f"{CLASSIC}:477"),
    _becomes(Application.POLLING),
)
UNSUBSCRIPTION: Final = single(
    "unsubscribe",
    "application",
    "application/unsubscribes",
    "the application unsubscribes",
    at(f"{CONSUMER}:1066", f"{CLASSIC}:583"),
    _tries("give its partitions away, and leave the group", LEAVE_PREPARE, LEAVE),
    _becomes(Application.UNSUBSCRIBED),
)
CLOSING: Final = single(
    "close",
    "application",
    "application/closes",
    "the application closes the consumer",
    at(1012, 1136),
    _tries("give its partitions away, and leave the group", LEAVE_PREPARE, LEAVE),
    _becomes(Application.CLOSED),
)
COMMITS: Final = single(
    "commit-call",
    "application",
    "application/commits",
    "the application commits",
    at(920, 1046, CC),
    _tries("send the commit, or fail it", SEND_COMMIT),
)
SYNC_COMMITS: Final = single(
    "commit-sync-call",
    "application",
    "application/commits-synchronously",
    "the application commits, and waits for the result",
    at(993, 1140, CC),
    _becomes(Application.COMMITTING),
)

HEARTBEAT_DUE: Final = single(
    "heartbeat-interval",
    "time",
    "time/heartbeat",
    "a heartbeat is due",
    at(1400, 1529),
    does("send Heartbeat", lambda s: s.send("Heartbeat")),
)
POLL_OVERDUE: Final = single(
    "poll-interval",
    "time",
    "time/poll-interval",
    "the application does not poll",
    at(1393, 1521),
    _tries("leave the group", LEAVE),
    _becomes(Application.STALLED),
)
SESSION_OVER: Final = single(
    "session-timeout",
    "time",
    "time/session-timeout",
    "the coordinator does not answer heartbeats",
    at(1380, 1513),
    LOSE_COORDINATOR,
)
DISCONNECTED: Final = single(
    "disconnect",
    "time",
    "time/disconnected",
    "the connection to the coordinator breaks",
    at(1164, 1307),
    LOSE_COORDINATOR,
)


def _polls(step: MemberStep) -> bool:
    return step.state.application in (Application.POLLING, Application.COMMITTING)


def _find(step: MemberStep) -> None:
    step.do(ClientEvent("FindCoordinator"))
    step.set(finding=True)


def _resend(step: MemberStep, given: ClientInput) -> None:
    step.answered = step.answered._replace(waited=True)
    decide(step, SEND_COMMIT, given)


def _in_poll(step: MemberStep) -> bool:
    return step.state.application == Application.POLLING and step.state.coordinator


def _pending(step: MemberStep) -> bool:
    return step.state.rejoin or step.state.joining


def _send_join(step: MemberStep) -> None:
    step.set(phase=Phase.PREPARING)
    step.send("JoinGroup", partitions=step.state.owned)


_PREPARES: Final = when(
    "the coordinator is known, it has to join, and has not prepared",
    lambda s: _in_poll(s) and _pending(s) and s.state.prepare,
)
_PREPARED: Final = does("remember that it has prepared", lambda s: s.set(prepare=False))
_LOST_GENERATION: Final = when(
    "generation and member id were reset",
    lambda s: (s.state.generation, s.state.member_id) == (NO_GENERATION, NO_MEMBER_ID),
    at(686, "", CC),
)
_LOST_EITHER: Final = when("generation or member id was reset", _was_reset, at("", 812, CC))

POLL_LOOP: Final = table(
    "poll",
    "poll",
    rule(
        "poll/find",
        "the coordinator is unknown",
        at(244, 295),
        when(
            "the application polls, and the coordinator is neither known nor being asked for",
            lambda s: _polls(s) and not s.state.coordinator and not s.state.finding,
        ),
        does("send FindCoordinator", _find),
    ),
    rule(
        "poll/commit-again",
        "commitSync has no answer yet",
        at(1004, 1155, CC),
        when(
            "the application waits in commitSync, the coordinator is known, and no commit is in "
            "flight",
            lambda s: (
                s.state.application == Application.COMMITTING
                and s.state.coordinator
                and not s.state.awaits("OffsetCommit")
            ),
        ),
        Effect("send the commit, or fail it", _resend),
    ),
    rule(
        "poll/lost",
        "it owns partitions that others may own by now",
        at(693, 819, CC),
        _PREPARES,
        _LOST_GENERATION,
        _LOST_EITHER,
        OWNS,
        _PREPARED,
        LOSE,
    ),
    rule(
        "poll/revoked",
        "it owns partitions, and joins without them",
        at(702, 828, CC),
        _PREPARES,
        EAGER,
        OWNS,
        _PREPARED,
        REVOKE,
    ),
    rule(
        "poll/kept",
        "it owns no partitions, or keeps them",
        at(708, 834, CC),
        _PREPARES,
        _PREPARED,
    ),
    rule(
        "poll/join",
        "it has to join",
        at(505, 576),
        when(
            "the coordinator is known, it has to join, and is not joining yet",
            lambda s: _in_poll(s) and s.state.rejoin and not s.state.joining,
        ),
        does("enter PREPARING_REBALANCE, and send JoinGroup", _send_join),
    ),
)

PARTS: Final = (
    SUBSCRIPTION,
    UNSUBSCRIPTION,
    CLOSING,
    COMMITS,
    SYNC_COMMITS,
    HEARTBEAT_DUE,
    POLL_OVERDUE,
    SESSION_OVER,
    DISCONNECTED,
    LEAVE_PREPARE,
    LEAVE,
    SEND_COMMIT,
    POLL_LOOP,
)
