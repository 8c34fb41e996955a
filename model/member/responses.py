"""What a consumer does when a request is answered: a table for each API."""

from __future__ import annotations

from typing import Final

from groupcheck.model.client import (
    FATAL,
    NO_GENERATION,
    NONE,
    NOT_A_MEMBER,
    OTHER,
    REBALANCING,
    RETRIABLE,
    ClientInput,
)
from groupcheck.model.engine.rules import Effect, Guard, decide, rule, table
from groupcheck.model.member.effects import (
    ASSIGN,
    COOPERATIVE,
    GIVE_UP,
    LEAVE_GENERATION,
    LEAVE_GENERATION_ONLY,
    LOSE_COORDINATOR,
    PREPARING,
    REJOIN,
    RESET,
    RETRY_COMMIT,
    REVOKE_OTHERS,
    STABLE,
    SUCCEED,
    UNCHANGED,
    fails,
    go_on,
    raises,
)
from groupcheck.model.member.events import CLOSED, SEND_COMMIT
from groupcheck.model.member.sources import CC, at
from groupcheck.model.member.state import Application, MemberStep, Phase, does, error_is, when

_SUCCESS: Final = error_is(NONE)
_NOT_COORDINATOR: Final = error_is("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_UNKNOWN_MEMBER: Final = error_is("UNKNOWN_MEMBER_ID")
_ILLEGAL_GENERATION: Final = error_is("ILLEGAL_GENERATION")
_FENCED: Final = error_is("FENCED_INSTANCE_ID")
_REBALANCING: Final = error_is("REBALANCE_IN_PROGRESS")
_COMMITTING: Final = when(
    "the application waits in commitSync",
    lambda s: s.state.application == Application.COMMITTING,
)
_WAITED: Final = when("it is a synchronous commit", lambda s: s.answered.waited)
_COMMITS_ITSELF: Final = when(
    "the application waits in poll or close for an automatic commit",
    lambda s: s.state.application in (Application.PREPARING, Application.CLOSING),
)
_PENDING: Final = when(
    "an asynchronous commit waits for the coordinator", lambda s: s.state.pending
)
_NOT_PENDING: Final = does("no commit waits for the coordinator", lambda s: s.set(pending=False))
_FOUND: Final = does("know the coordinator", lambda s: s.set(coordinator=True))
_RAISE: Final = raises(OTHER)
_RAISE_FATAL: Final = raises(FATAL)

FIND_COORDINATOR: Final = table(
    "FindCoordinator",
    "FindCoordinator",
    rule(
        "find/found-and-commits",
        "the coordinator is found, and an asynchronous commit waits for it",
        at(936, 1076, CC),
        _SUCCESS,
        _PENDING,
        _FOUND,
        _NOT_PENDING,
        Effect("send the commit, or fail it", lambda s, given: decide(s, SEND_COMMIT, given)),
    ),
    rule("find/found", "the coordinator is found", at(836, 933), _SUCCESS, _FOUND),
    rule(
        "find/commit-not-authorized",
        "the application may not use the group, and waits in commitSync",
        at(851, 948),
        error_is("GROUP_AUTHORIZATION_FAILED"),
        _COMMITTING,
        fails(OTHER),
        does(
            "the application polls again",
            lambda s: s.set(application=Application.POLLING),
        ),
    ),
    rule(
        "find/automatic-commit-not-authorized",
        "the application may not use the group: the commit is given up, and the error is logged",
        at(1069, 1191, CC),
        error_is("GROUP_AUTHORIZATION_FAILED"),
        _COMMITS_ITSELF,
        does("go on to join or to leave", go_on),
    ),
    rule(
        "find/close-not-authorized",
        "the application may not use the group, and waits in close, which raises the error",
        at(895, 1021, CC),
        error_is("GROUP_AUTHORIZATION_FAILED"),
        when(
            "the application waits in close for the coordinator",
            lambda s: s.state.application == Application.DRAINING,
        ),
        _NOT_PENDING,
        does("forget the result of a commit", lambda s: s.set(completed="")),
        *CLOSED,
        _RAISE,
    ),
    rule(
        "find/not-authorized-and-commits",
        "the application may not use the group, and an asynchronous commit waits",
        at(943, 1083, CC),
        error_is("GROUP_AUTHORIZATION_FAILED"),
        _PENDING,
        _NOT_PENDING,
        fails(RETRIABLE),
        _RAISE,
    ),
    rule(
        "find/not-authorized",
        "the application may not use the group",
        at(851, 948),
        error_is("GROUP_AUTHORIZATION_FAILED"),
        _RAISE,
    ),
    rule(
        "find/retriable-and-commits",
        "there is no coordinator yet, and an asynchronous commit waits: it is not sent later",
        at(943, 1083, CC),
        error_is("COORDINATOR_NOT_AVAILABLE"),
        _PENDING,
        _NOT_PENDING,
        fails(RETRIABLE),
    ),
    rule(
        "find/retriable",
        "there is no coordinator yet: it is asked for again after a backoff",
        at(853, 950),
        error_is("COORDINATOR_NOT_AVAILABLE"),
    ),
)


def _join(step: MemberStep, given: ClientInput) -> None:
    step.set(
        phase=Phase.COMPLETING,
        member_id=given.member_id,
        generation=given.generation,
        latest=given.generation,
    )
    step.send("SyncGroup", leader=given.leader and not given.skips)


def _take_member_id(step: MemberStep, given: ClientInput) -> None:
    step.set(member_id=given.member_id, generation=NO_GENERATION)


JOIN_GROUP: Final = table(
    "JoinGroup",
    "JoinGroup",
    rule(
        "join/left",
        "the member has left meanwhile: it joins again after a backoff",
        at(580, 656),
        _SUCCESS,
        when("it is not in PREPARING_REBALANCE", lambda s: s.state.phase != Phase.PREPARING),
        Effect(
            "note the generation of the group",
            lambda step, given: step.set(latest=given.generation),
        ),
        REJOIN,
    ),
    rule(
        "join/returned",
        "a static leader has returned, and the group keeps its assignments: it sends none",
        at("", 680, CC),
        _SUCCESS,
        Guard("the answer has skipAssignment", lambda _, given: given.skips),
        Effect(
            "enter COMPLETING_REBALANCE with member id and generation, and send SyncGroup", _join
        ),
    ),
    rule(
        "join/joined",
        "the member has joined; the leader sends the assignments",
        at(585, 661),
        _SUCCESS,
        Effect(
            "enter COMPLETING_REBALANCE with member id and generation, and send SyncGroup", _join
        ),
    ),
    rule(
        "join/loading",
        "the group is being loaded: it joins again after a backoff",
        at(606, 684),
        error_is("COORDINATOR_LOAD_IN_PROGRESS"),
        REJOIN,
    ),
    rule(
        "join/unknown-member",
        "the coordinator does not know the member",
        at(615, 693),
        _UNKNOWN_MEMBER,
        UNCHANGED,
        LEAVE_GENERATION,
    ),
    rule(
        "join/unknown-member-stale",
        "the coordinator does not know a member id that was reset meanwhile",
        at(618, 696),
        _UNKNOWN_MEMBER,
        REJOIN,
    ),
    rule(
        "join/not-coordinator",
        "the broker is not the coordinator",
        at(619, 697),
        _NOT_COORDINATOR,
        LOSE_COORDINATOR,
        REJOIN,
    ),
    rule(
        "join/fenced",
        "another member has the same group.instance.id",
        at(626, 704),
        _FENCED,
        REJOIN,
        _RAISE_FATAL,
        GIVE_UP,
    ),
    rule(
        "join/rejected",
        "the group rejects the member",
        at(632, 710),
        error_is(
            "INCONSISTENT_GROUP_PROTOCOL",
            "INVALID_SESSION_TIMEOUT",
            "INVALID_GROUP_ID",
            "GROUP_AUTHORIZATION_FAILED",
            "GROUP_MAX_SIZE_REACHED",
        ),
        REJOIN,
        _RAISE,
    ),
    rule(
        "join/member-id-required",
        "the coordinator gives a member id, to join with",
        at(651, 729),
        error_is("MEMBER_ID_REQUIRED"),
        Effect("take the member id; the generation is reset", _take_member_id),
        REJOIN,
    ),
    rule(
        "join/rebalancing",
        "the coordinator could not store the group in time: it joins again at once",
        at("", 741),
        _REBALANCING,
        REJOIN,
    ),
    rule(
        "join/unexpected",
        "the error is not expected",
        at(661, 745),
        REJOIN,
        _RAISE,
    ),
)


def _gone(step: MemberStep, given: ClientInput) -> bool:
    return not set(step.state.owned) <= set(given.partitions)


_JOINED_AGAIN: Final = does(
    "be STABLE, and prepare before the next JoinGroup",
    lambda s: s.set(phase=Phase.STABLE, rejoin=False, prepare=True),
)

SYNC_GROUP: Final = table(
    "SyncGroup",
    "SyncGroup",
    rule(
        "sync/left",
        "the member has left meanwhile: it joins again",
        at(766, 860),
        _SUCCESS,
        RESET,
        REJOIN,
    ),
    rule(
        "sync/revoked",
        "the assignment lacks partitions that the member owns",
        at(404, 437, CC),
        _SUCCESS,
        COOPERATIVE,
        Guard("the assignment lacks partitions that it owns", _gone),
        _JOINED_AGAIN,
        REVOKE_OTHERS,
        ASSIGN,
    ),
    rule(
        "sync/assigned",
        "the member has its assignment",
        at(757, 850),
        _SUCCESS,
        _JOINED_AGAIN,
        ASSIGN,
    ),
    rule(
        "sync/not-authorized",
        "the application may not use the group",
        at(778, 870),
        error_is("GROUP_AUTHORIZATION_FAILED"),
        REJOIN,
        _RAISE,
    ),
    rule(
        "sync/rebalancing",
        "the next rebalance has begun: it joins again at once",
        at(780, 872),
        _REBALANCING,
        REJOIN,
    ),
    rule(
        "sync/fenced",
        "another member has the same group.instance.id",
        at(784, 876),
        _FENCED,
        REJOIN,
        _RAISE_FATAL,
        GIVE_UP,
    ),
    rule(
        "sync/unknown-member",
        "the coordinator does not know the member",
        at(794, 886),
        _UNKNOWN_MEMBER,
        UNCHANGED,
        LEAVE_GENERATION,
    ),
    rule(
        "sync/illegal-generation",
        "the generation is over; from 3.2 on the member id is kept",
        at(794, 888),
        _ILLEGAL_GENERATION,
        UNCHANGED,
        LEAVE_GENERATION.only(at(795)),
        LEAVE_GENERATION_ONLY.only(at("", 888)),
    ),
    rule(
        "sync/stale",
        "the generation was reset meanwhile",
        at(797, 891),
        error_is("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"),
        REJOIN,
    ),
    rule(
        "sync/not-coordinator",
        "the broker is not the coordinator",
        at(798, 892),
        _NOT_COORDINATOR,
        LOSE_COORDINATOR,
        REJOIN,
    ),
    rule(
        "sync/unexpected",
        "the error is not expected",
        at(804, 898),
        REJOIN,
        _RAISE,
    ),
)

HEARTBEAT: Final = table(
    "Heartbeat",
    "Heartbeat",
    rule("heartbeat/alive", "the coordinator knows the member", at(1109, 1250), _SUCCESS),
    rule(
        "heartbeat/not-coordinator",
        "the broker is not the coordinator",
        at(1112, 1253),
        _NOT_COORDINATOR,
        LOSE_COORDINATOR,
    ),
    rule(
        "heartbeat/rebalancing",
        "a rebalance has begun",
        at(1121, 1263),
        _REBALANCING,
        STABLE,
        REJOIN,
    ),
    rule(
        "heartbeat/rebalancing-already",
        "the member takes part in the rebalance already",
        at(1125, 1266),
        _REBALANCING,
    ),
    rule(
        "heartbeat/unknown-member",
        "the coordinator does not know the member",
        at(1132, 1274),
        _UNKNOWN_MEMBER,
        UNCHANGED,
        LEAVE_GENERATION,
    ),
    rule(
        "heartbeat/illegal-generation",
        "the generation is over; from 3.2 on the member id is kept",
        at(1132, 1274),
        _ILLEGAL_GENERATION,
        UNCHANGED,
        LEAVE_GENERATION.only(at(1135)),
        LEAVE_GENERATION_ONLY.only(at("", 1278)),
    ),
    rule(
        "heartbeat/fenced",
        "another member has the same group.instance.id",
        at(1131, 1273),
        _FENCED,
        UNCHANGED,
        LEAVE_GENERATION,
        _RAISE_FATAL,
        GIVE_UP,
    ),
    rule(
        "heartbeat/stale",
        "the generation was reset meanwhile",
        at(1137, 1280),
        error_is("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"),
    ),
    rule(
        "heartbeat/other-error",
        "any other error is ignored: the next heartbeat comes after a backoff",
        at(1143, 1286),
    ),
)

_RESETTING: Final = at(1250, 1439, CC)

OFFSET_COMMIT: Final = table(
    "OffsetCommit",
    "OffsetCommit",
    rule("commit/committed", "the offsets are stored", at(1184, 1367, CC), _SUCCESS, SUCCEED),
    rule(
        "commit/rejected",
        "the application may not commit, or the metadata is too large",
        at(1193, 1376, CC),
        error_is(
            "GROUP_AUTHORIZATION_FAILED",
            "TOPIC_AUTHORIZATION_FAILED",
            "OFFSET_METADATA_TOO_LARGE",
            "INVALID_COMMIT_OFFSET_SIZE",
        ),
        fails(OTHER),
    ),
    rule(
        "commit/retriable",
        "the group is being loaded, or the broker does not know the partition",
        at(1203, 1386, CC),
        error_is("COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"),
        RETRY_COMMIT,
    ),
    rule(
        "commit/not-coordinator",
        "the broker is not the coordinator, or did not store the offsets in time",
        at(1208, 1391, CC),
        error_is("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "REQUEST_TIMED_OUT"),
        RETRY_COMMIT,
        LOSE_COORDINATOR,
    ),
    rule(
        "commit/fenced-synchronous",
        "another member has the same group.instance.id",
        at(1218, 1401, CC),
        _FENCED,
        UNCHANGED,
        _WAITED,
        fails(FATAL),
        GIVE_UP,
    ),
    rule(
        "commit/fenced",
        "another member has the same group.instance.id: the callback is not called",
        at(1218, 1401, CC),
        _FENCED,
        UNCHANGED,
        _RAISE_FATAL,
        GIVE_UP,
    ),
    rule(
        "commit/rebalancing",
        "a rebalance has begun",
        at(1230, 1417, CC),
        _REBALANCING,
        REJOIN,
        fails(REBALANCING),
    ),
    rule(
        "commit/stale",
        "the generation was reset meanwhile, and the member is joining again",
        _RESETTING,
        error_is("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"),
        PREPARING,
        when("member id or generation are others by now", lambda s: not s.unchanged),
        fails(REBALANCING),
    ),
    rule(
        "commit/stale-fenced",
        "the generation was reset meanwhile, and the member does not join yet",
        at(1225, 1410, CC),
        _FENCED,
        fails(NOT_A_MEMBER),
    ),
    rule(
        "commit/unknown-member",
        "the coordinator does not know the member",
        at(1255, 1445, CC),
        _UNKNOWN_MEMBER,
        LEAVE_GENERATION,
        fails(NOT_A_MEMBER),
    ),
    rule(
        "commit/illegal-generation",
        "the generation is over; from 3.2 on the member id is kept",
        at(1255, 1445, CC),
        _ILLEGAL_GENERATION,
        LEAVE_GENERATION.only(at(1255, "", CC)),
        LEAVE_GENERATION_ONLY.only(at("", 1445, CC)),
        fails(NOT_A_MEMBER),
    ),
    rule(
        "commit/unexpected",
        "the error is not expected",
        at(1260, 1452, CC),
        fails(OTHER),
    ),
)

PARTS: Final = (FIND_COORDINATOR, JOIN_GROUP, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT)
