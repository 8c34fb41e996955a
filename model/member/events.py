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
    AUTO_COMMIT,
    EAGER,
    LEAVE_GENERATION,
    LOSE,
    LOSE_COORDINATOR,
    OWNS,
    REVOKE,
    STABLE,
    STATIC,
    call_back,
    fails,
)
from groupcheck.model.member.sources import CC, at
from groupcheck.model.member.state import Application, MemberStep, Phase, Stage, does, when

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
    _, _, _, waited, automatic = step.answered
    step.send("OffsetCommit", waited=waited, automatic=automatic)


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
CLOSED: Final = (
    _tries("give its partitions away, and leave the group", LEAVE_PREPARE, LEAVE),
    _becomes(Application.CLOSED),
)
CLOSING: Final = table(
    "close",
    "application",
    rule(
        "application/commits-and-closes",
        "the application closes the consumer, which commits first",
        at(893, 1019, CC),
        AUTO_COMMIT,
        OWNS,
        _becomes(Application.CLOSING),
    ),
    rule(
        "application/closes-and-waits",
        "the application closes the consumer while an asynchronous commit waits",
        at(894, 1020, CC),
        when("an asynchronous commit waits for the coordinator", lambda s: s.state.pending),
        _becomes(Application.DRAINING),
    ),
    rule(
        "application/closes",
        "the application closes the consumer",
        at(1012, 1136),
        *CLOSED,
    ),
)
COMMITS: Final = table(
    "commit-call",
    "application",
    rule(
        "application/commits-later",
        "the application commits while the coordinator is unknown, and asked for",
        at(932, 1072, CC),
        when("the coordinator is unknown", lambda s: not s.state.coordinator),
        does("the commit waits for the coordinator", lambda s: s.set(pending=True)),
    ),
    rule(
        "application/commits",
        "the application commits",
        at(920, 1046, CC),
        _tries("send the commit, or fail it", SEND_COMMIT),
    ),
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
COMMIT_DUE: Final = single(
    "auto-commit-interval",
    "time",
    "time/auto-commit",
    "an automatic commit is due",
    at(1030, 1199, CC),
    does("remember that an automatic commit is due", lambda s: s.set(due=True)),
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


# The application waits in a call that sends a commit until it has a result.
_BLOCKED: Final = (Application.COMMITTING, Application.PREPARING, Application.CLOSING)


def _polls(step: MemberStep) -> bool:
    return step.state.application in (Application.POLLING, Application.DRAINING, *_BLOCKED)


def _find(step: MemberStep) -> None:
    step.do(ClientEvent("FindCoordinator"))
    step.set(finding=True)


def _waits(step: MemberStep) -> bool:
    return any(request.waited for request in step.state.sent)


def _resend(step: MemberStep, given: ClientInput) -> None:
    automatic = step.state.application != Application.COMMITTING
    step.answered = step.answered._replace(waited=True, automatic=automatic)
    decide(step, SEND_COMMIT, given)


def _in_poll(step: MemberStep) -> bool:
    return step.state.application == Application.POLLING and step.state.coordinator


def _pending(step: MemberStep) -> bool:
    return step.state.rejoin or step.state.joining


def _send_join(step: MemberStep) -> None:
    step.set(phase=Phase.PREPARING)
    step.send("JoinGroup", partitions=step.state.owned)
    step.stage = Stage.NONE


def _fail_join(step: MemberStep) -> None:
    step.set(phase=Phase.PREPARING)
    step.stage = Stage.NONE


def _prepares(step: MemberStep) -> bool:
    if step.stage == Stage.COMMITTED:  # and the coordinator may be unknown
        return step.state.application == Application.POLLING
    return _in_poll(step) and _pending(step) and step.state.prepare and not _waits(step)


def _prepared(step: MemberStep) -> None:
    step.set(prepare=False)
    step.stage = Stage.PREPARED


def _prepared_or_reset(step: MemberStep) -> None:
    # It was remembered before the commit; during the commit, it may have left the generation.
    if step.stage == Stage.COMMITTED:
        step.stage = Stage.PREPARED
    else:
        _prepared(step)


_PREPARES: Final = when(
    "the coordinator is known, it has to join, and has not prepared; or its commit before that has "
    "ended",
    _prepares,
)
_NOT_COMMITTED: Final = when(
    "it has not committed for this", lambda s: s.stage != Stage.COMMITTED, at(676, 762, CC)
)
_PREPARED: Final = (
    does(
        "remember that it has prepared, unless it did so before the commit",
        _prepared_or_reset,
        at(421),
    ),
    does("remember that it has prepared", _prepared, at("", 477)),
)
_LOST_GENERATION: Final = when(
    "generation and member id were reset, before the commit if there was one",
    lambda s: (
        s.stage != Stage.COMMITTED
        and (s.state.generation, s.state.member_id) == (NO_GENERATION, NO_MEMBER_ID)
    ),
    at(686, "", CC),
)
_LOST_EITHER: Final = when("generation or member id was reset", _was_reset, at("", 812, CC))
_DUE: Final = when(
    "an automatic commit is due, the coordinator is known, and it does not have to join",
    lambda s: s.state.due and _in_poll(s) and not _pending(s),
)
_NOT_DUE: Final = does(
    "remember that none is due before auto.commit.interval.ms", lambda s: s.set(due=False)
)


def _commit_and_wait(step: MemberStep) -> None:
    step.send("OffsetCommit", waited=True, automatic=True)


POLL_LOOP: Final = table(
    "poll",
    "poll",
    rule(
        "poll/find",
        "the coordinator is unknown",
        at(244, 295),
        when(
            "the application polls, or waits for a commit, and the coordinator is neither known "
            "nor being asked for",
            lambda s: (
                _polls(s)
                and s.stage == Stage.NONE
                and not s.state.coordinator
                and not s.state.finding
            ),
        ),
        does("send FindCoordinator", _find),
    ),
    rule(
        "poll/commit-again",
        "the commit that the application waits for has no result yet",
        at(1004, 1155, CC),
        when(
            "the application waits for a commit, the coordinator is known, and the commit is not "
            "in flight",
            lambda s: (
                s.state.application in _BLOCKED
                and s.stage == Stage.NONE
                and s.state.coordinator
                and not _waits(s)
            ),
        ),
        Effect("send the commit, or fail it", _resend),
    ),
    rule(
        "poll/close",
        "the commit of a consumer that is being closed has ended",
        at(900, 1026, CC),
        when(
            "the application waits in close, and the commit has ended",
            lambda s: s.state.application == Application.CLOSING and s.stage == Stage.COMMITTED,
        ),
        *CLOSED,
    ),
    rule(
        "poll/close-with-coordinator",
        "the coordinator for which a consumer that is being closed has waited is known",
        at(897, 1023, CC),
        when(
            "the application waits in close for the coordinator, which is known",
            lambda s: s.state.application == Application.DRAINING and s.state.coordinator,
        ),
        does("call the callback of a commit that has a result", call_back),
        *CLOSED,
    ),
    rule(
        "poll/join",
        "it has to join",
        at(505, 576),
        when(
            "the coordinator is known, it has prepared, and is not joining yet",
            lambda s: (
                _in_poll(s)
                and s.state.rejoin
                and not s.state.joining
                and s.stage != Stage.COMMITTED
                and (not s.state.prepare or s.stage == Stage.PREPARED)
            ),
        ),
        does("enter PREPARING_REBALANCE, and send JoinGroup", _send_join),
    ),
    rule(
        "poll/join-without-coordinator",
        "the coordinator is unknown since the commit before the join: it joins after a backoff",
        at(537),
        when(
            "it has prepared, and the coordinator is unknown",
            lambda s: s.stage == Stage.PREPARED and not s.state.coordinator,
        ),
        does("enter PREPARING_REBALANCE", _fail_join),
    ),
    rule(
        "poll/commit-before-join",
        "it commits before it gives its partitions away; in 2.7 the application waits",
        at(676, 764, CC),
        _PREPARES,
        _NOT_COMMITTED,
        AUTO_COMMIT,
        OWNS,
        STABLE,
        does("send OffsetCommit, and wait for the answer", _commit_and_wait),
        does(
            "the application waits in poll, and remember that it has prepared",
            lambda s: s.set(application=Application.PREPARING, prepare=False),
            at(1004, "", CC),
        ),
    ),
    rule(
        "poll/lost",
        "it owns partitions that others may own by now",
        at(693, 819, CC),
        _PREPARES,
        _LOST_GENERATION,
        _LOST_EITHER,
        OWNS,
        *_PREPARED,
        LOSE,
    ),
    rule(
        "poll/revoked",
        "it owns partitions, and joins without them",
        at(702, 828, CC),
        _PREPARES,
        EAGER,
        OWNS,
        *_PREPARED,
        REVOKE,
    ),
    rule(
        "poll/kept",
        "it owns no partitions, or keeps them",
        at(708, 834, CC),
        _PREPARES,
        *_PREPARED,
    ),
    rule(
        "poll/commit",
        "an automatic commit is due",
        at(1032, 1201, CC),
        _DUE,
        OWNS,
        _NOT_DUE,
        does("send OffsetCommit", lambda s: s.send("OffsetCommit", automatic=True)),
    ),
    rule(
        "poll/commits-nothing",
        "an automatic commit is due, but it owns no partitions",
        at(1093, 1271, CC),
        _DUE,
        _NOT_DUE,
    ),
)

PARTS: Final = (
    SUBSCRIPTION,
    UNSUBSCRIPTION,
    CLOSING,
    COMMITS,
    SYNC_COMMITS,
    HEARTBEAT_DUE,
    COMMIT_DUE,
    POLL_OVERDUE,
    SESSION_OVER,
    DISCONNECTED,
    LEAVE_PREPARE,
    LEAVE,
    SEND_COMMIT,
    POLL_LOOP,
)
