"""Heartbeat (2.7 GroupCoordinator.scala:607)."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.rules.guards import (
    COMPLETING,
    DEFERRED,
    PREPARING,
    STABLE,
    Checks,
    reply_with,
    state_is,
    state_is_not,
)
from groupcheck.model.classic.rules.session import RESTART_SESSION
from groupcheck.model.classic.sources import at
from groupcheck.model.engine.rules import rule, table
from groupcheck.model.vocabulary import ErrorCode, HeartbeatResponse

_reply: Final = reply_with(HeartbeatResponse)
_check: Final = Checks(_reply)

HEARTBEAT: Final = table(
    "Heartbeat",
    "Heartbeat",
    _check("heartbeat/invalid-group-id", at("", "", "GC:857", "GCS:954")),
    _check("heartbeat/not-active", at("GC:344", "GC:338", "GC:859", "GCS:948")),
    # Kafka answers NONE, so that members wait until the group is loaded.
    _check("heartbeat/loading", at("", "", "GC:615", "GCS:970"), _reply(ErrorCode.NONE)),
    _check("heartbeat/not-coordinator", at("GC:346", "GC:340", "GC:863", "CR:2209")),
    _check("heartbeat/no-group", at("GC:353", "GC:347", "GC:622", "GMM:7624")),
    rule(
        "heartbeat/unstable",
        "the group is not Stable: every heartbeat is rejected, and members have to rejoin",
        at("GC:363"),
        state_is_not(STABLE),
        _reply(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    _check("heartbeat/unknown-instance", at("", "", "", "CG:805")),
    _check("heartbeat/fenced", at("", "", "GC:632", "CG:810")),
    _check("heartbeat/unknown-member", at("GC:365", "GC:364", "GC:634", "GMM:7709")),
    rule(
        "heartbeat/completing",
        "the group waits for the assignments: every heartbeat is rejected, and members have to "
        "rejoin",
        at("", "GC:367"),
        state_is(COMPLETING),
        _reply(ErrorCode.REBALANCE_IN_PROGRESS),
    ),
    _check("heartbeat/other-generation", at("GC:367", "GC:372", "GC:636", "GMM:7715")),
    rule(
        "heartbeat/preparing",
        "a rebalance is being prepared, and the member has to rejoin",
        at("", "GC:376", "GC:650", "GMM:7664"),
        state_is(PREPARING),
        RESTART_SESSION,
        _reply(ErrorCode.REBALANCE_IN_PROGRESS),
        deferred=DEFERRED,
    ),
    rule(
        "heartbeat/alive",
        "the member is alive in the current generation",
        at("GC:371", "GC:387", "GC:643", "GMM:7671"),
        state_is(STABLE, COMPLETING).only(at("", "", "GC:643", "GMM:7671")),
        state_is(STABLE).only(at("GC:363", "GC:380")),
        RESTART_SESSION,
        _reply(ErrorCode.NONE),
        deferred=DEFERRED,
    ),
    moves={"4.1": (("heartbeat/not-active", "heartbeat/invalid-group-id"),)},
)
PARTS: Final = (HEARTBEAT,)
