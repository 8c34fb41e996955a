"""Heartbeat (2.7 GroupCoordinator.scala:607)."""

from __future__ import annotations

from typing import Final

from groupcheck.model.engine.rules import Effect, Rule, Table
from groupcheck.model.rules.guards import (
    COMPLETING,
    FENCED,
    NO_GROUP,
    NO_GROUP_ID,
    OTHER_GENERATION,
    PREPARING,
    RUNTIME_ELSEWHERE,
    STABLE,
    UNKNOWN_INSTANCE,
    UNKNOWN_MEMBER,
    preconditions,
    state_is,
    state_is_not,
)
from groupcheck.model.rules.session import RESTART_SESSION
from groupcheck.model.sources import at
from groupcheck.model.vocabulary import ErrorCode, HeartbeatResponse


def _answers(error: ErrorCode) -> tuple[Effect, ...]:
    return (
        Effect(
            f"answer {error.name}",
            lambda step, request: step.answer(request.request_id, HeartbeatResponse(error)),
        ),
    )


_NOT_ACTIVE, _LOADING, _NOT_COORDINATOR = preconditions(
    "heartbeat",
    _answers,
    not_active=at("GC:344", "GC:338", "GC:859", "GCS:948"),
    # Members wait until the group is loaded.
    loading=at("", "", "GC:615", "GCS:970"),
    loading_effects=_answers(ErrorCode.NONE),
    not_coordinator=at("GC:346", "GC:340", "GC:863", RUNTIME_ELSEWHERE),
)

HEARTBEAT: Final = Table(
    "Heartbeat",
    "Heartbeat",
    (
        Rule(
            "heartbeat/invalid-group-id",
            "the group id is empty",
            at("", "", "GC:857", "GCS:954"),
            (NO_GROUP_ID,),
            _answers(ErrorCode.INVALID_GROUP_ID),
        ),
        _NOT_ACTIVE,
        _LOADING,
        _NOT_COORDINATOR,
        Rule(
            "heartbeat/no-group",
            "the group does not exist",
            at("GC:353", "GC:347", "GC:622", "GMM:7624"),
            (NO_GROUP,),
            _answers(ErrorCode.UNKNOWN_MEMBER_ID),
        ),
        Rule(
            "heartbeat/unstable",
            "the group is not Stable, and no heartbeat counts: members have to join again",
            at("GC:363"),
            (state_is_not(STABLE),),
            _answers(ErrorCode.REBALANCE_IN_PROGRESS),
        ),
        Rule(
            "heartbeat/unknown-instance",
            "the group.instance.id belongs to no member",
            at("", "", "", "CG:805"),
            (UNKNOWN_INSTANCE,),
            _answers(ErrorCode.UNKNOWN_MEMBER_ID),
        ),
        Rule(
            "heartbeat/fenced",
            "another member has come back under the same group.instance.id",
            at("", "", "GC:632", "CG:810"),
            (FENCED,),
            _answers(ErrorCode.FENCED_INSTANCE_ID),
        ),
        Rule(
            "heartbeat/unknown-member",
            "the member id is not in the group",
            at("GC:365", "GC:364", "GC:634", "GMM:7709"),
            (UNKNOWN_MEMBER,),
            _answers(ErrorCode.UNKNOWN_MEMBER_ID),
        ),
        Rule(
            "heartbeat/completing",
            "the group waits for its leader, and no heartbeat counts: members have to join again",
            at("", "GC:367"),
            (state_is(COMPLETING),),
            _answers(ErrorCode.REBALANCE_IN_PROGRESS),
        ),
        Rule(
            "heartbeat/other-generation",
            "the generation is not the group's",
            at("GC:367", "GC:372", "GC:636", "GMM:7715"),
            (OTHER_GENERATION,),
            _answers(ErrorCode.ILLEGAL_GENERATION),
        ),
        Rule(
            "heartbeat/preparing",
            "a rebalance is being prepared, and the member has to join it",
            at("", "GC:376", "GC:650", "GMM:7664"),
            (state_is(PREPARING),),
            (RESTART_SESSION, *_answers(ErrorCode.REBALANCE_IN_PROGRESS)),
            deferred=at("", "", "", "CR:960"),
        ),
        Rule(
            "heartbeat/alive",
            "the member is alive in the current generation",
            at("GC:371", "GC:387", "GC:643", "GMM:7671"),
            (
                state_is(STABLE, COMPLETING).only(at("", "", "GC:643", "GMM:7671")),
                state_is(STABLE).only(at("GC:363", "GC:380")),
            ),
            (RESTART_SESSION, *_answers(ErrorCode.NONE)),
            deferred=at("", "", "", "CR:960"),
        ),
    ),
    moves={"4.1": (("heartbeat/not-active", "heartbeat/invalid-group-id"),)},
)
PARTS: Final = (HEARTBEAT,)
