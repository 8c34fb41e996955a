"""Kafka 0.10.2 (tag 0.10.2.2): what it has of 2.7's rules, and the rules that are its own.

No ids given out first, no initial delay, no limit to how long a new member may wait; the group id
is looked at by JoinGroup alone. CompletingRebalance is called AwaitingSync.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.model.apis import (
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_fetch,
    sync_group,
)
from groupcheck.model.config import Config
from groupcheck.model.rules import cleanup, rebalance, timers
from groupcheck.model.step import Profile, Rule, Traits, apis, by_name, cited, gc, gm, gmm, source
from groupcheck.model.storing import failover, log
from groupcheck.model.vocabulary import (
    ErrorCode,
    HeartbeatResponse,
)

JOIN = by_name(join_group.RULES)
SYNC = by_name(sync_group.RULES)
HEARTBEAT = by_name(heartbeat.RULES)
LEAVE = by_name(leave_group.RULES)
COMMIT = by_name(offset_commit.RULES)
FETCH = by_name(offset_fetch.RULES)
DESCRIBE = by_name(describe_groups.RULES)
REBALANCE = by_name(
    (
        *rebalance.RULES,
        rebalance.NO_PROTOCOL,
        rebalance.PREPARE_FROM_EMPTY._replace(says="the first member joins"),
    )
)
LOG = by_name(log.RULES)
FAILOVER = by_name(failover.RULES)
TIMERS = by_name((*timers.RULES, timers.GHOST_EXPIRED))


def without(
    errors: Mapping[ErrorCode, ErrorCode], *unmapped: ErrorCode
) -> dict[ErrorCode, ErrorCode]:
    """What the errors of appends are to clients, where some are passed on as they are."""
    return {error: told for error, told in errors.items() if error not in unmapped}


# A partition is owned once it has been loaded: no request ever meets one that is being loaded.
JOIN_GATE: Final = cited(
    JOIN,
    {
        "join/not-active": gc(101),
        "join/invalid-group-id": gc(103),
        "join/not-coordinator": gc(105),
        "join/session-timeout-out-of-range": gc(109),
        "join/no-group": gc(118),
    },
)

# An Empty group asks nothing of who joins, not even a protocol (KAFKA-6005).
JOIN_UNKNOWN: Final = (
    JOIN["join/new-inconsistent"]._replace(source=gc(141), when=join_group.inconsistent_in_use),
    JOIN["join/new-member"].at(gc(611)),
)
JOIN_KNOWN: Final = (
    JOIN["join/inconsistent"]._replace(source=gc(141), when=join_group.inconsistent_in_use),
    *cited(
        JOIN,
        {
            "join/unknown-member": gc(144),
            "join/rejoin-preparing": gc(162),
            "join/repeated-completing": gc(170),
            "join/changed-completing": gc(187),
            "join/leader-stable": gc(197),
            "join/changed-stable": gc(197),
            "join/repeated-stable": gc(202),
        },
    ),
)
SYNC_GROUP: Final = cited(
    SYNC,
    {
        "sync/not-active": gc(227),
        "sync/not-coordinator": gc(229),
        "sync/no-group": gc(233),
        "sync/unknown-member": gc(247),
        "sync/other-generation": gc(249),
        "sync/preparing": gc(256),
        "sync/leader-completing": gc(263),
        "sync/follower-completing": gc(260),
        "sync/stable": gc(288),
    },
)
HEARTBEAT_COMPLETING: Final = Rule(
    "heartbeat/completing",
    "the group waits for its leader, and no heartbeat counts: the member is told to join again",
    gc(367),
    when=lambda step, _request: step.existing.state is rebalance.COMPLETING,
    then=lambda step, request: step.answer(
        request.request_id, HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    ),
)
HEARTBEATS: Final = (
    *cited(
        HEARTBEAT,
        {
            "heartbeat/not-active": gc(338),
            "heartbeat/not-coordinator": gc(340),
            "heartbeat/no-group": gc(347),
            "heartbeat/unknown-member": gc(364),
        },
    ),
    HEARTBEAT_COMPLETING,
    *cited(
        HEARTBEAT,
        {
            "heartbeat/other-generation": gc(372),
            "heartbeat/preparing": gc(376),
            "heartbeat/alive": gc(387),
        },
    ),
)
LEAVE_GROUP: Final = cited(
    LEAVE,
    {
        "leave/not-active": gc(304),
        "leave/not-coordinator": gc(306),
        "leave/no-group": gc(312),
        "leave/batch": gc(319),
    },
)
OFFSET_COMMIT: Final = cited(
    COMMIT,
    {
        "commit/nothing": apis(278),
        "commit/not-active": gc(401),
        "commit/not-coordinator": gc(403),
        "commit/simple-no-group": gc(410),
        "commit/no-group": gc(414),
        "commit/simple-empty": gc(435),
        "commit/completing": gc(439),
        "commit/unknown-member": gc(441),
        "commit/other-generation": gc(443),
        "commit/member": gc(446),
    },
)
OFFSET_FETCH: Final = cited(
    FETCH,
    {
        "fetch/not-active": gc(459),
        "fetch/not-coordinator": gc(461),
        "fetch/no-group": gmm(338),
        "fetch/committed": gmm(357),
    },
)
DESCRIBE_GROUPS: Final = cited(
    DESCRIBE,
    {
        "describe/not-active": gc(483),
        "describe/not-coordinator": gc(485),
        "describe/no-group": gc(491),
        "describe/stable": gm(255),
        "describe/unstable": gm(259),
    },
)
LIST_GROUPS: Final = cited(
    by_name(list_groups.RULES),
    {
        "list/not-active": gc(475),
        "list/loading": gc(477),
        "list/no-group": gc(478),
        "list/group": gc(478),
    },
)
SHARED: Final = (
    *cited(LEAVE, {"leave/unknown-member": gc(321), "leave/member": gc(324)}),
    *cited(COMMIT, {"commit/metadata-too-large": gmm(306)}),
    *cited(
        REBALANCE,
        {
            "rebalance/prepare-from-empty": gc(650),
            "rebalance/prepare-from-stable": gc(650),
            "rebalance/prepare-from-completing": gc(647),
            "rebalance/complete": gc(691),
            "rebalance/complete-empty": gc(692),
            "rebalance/drop-not-rejoined": gc(685),
            "rebalance/no-protocol": gm(207),
            "rebalance/elect-leader": gm(177),
        },
    ),
    *cited(
        LOG,
        {
            "log/hold": gmm(253),
            "log/release": gmm(253),
            "log/assignments-stored": gc(280),
            "log/assignments-outdated": gc(275),
            "log/offsets-stored": gmm(268),
            "log/fail": gmm(167),
            "log/assignments-failed": gc(276),
            "log/offsets-failed": gmm(283),
            "log/offsets-outlive-group": gmm(266),
        },
    ),
    *cited(
        FAILOVER,
        {
            "failover/crash": gmm(406),
            "failover/unload": gc(504),
            "failover/loading": gmm(387),
            "failover/load": gmm(397),
            "failover/shutdown": gc(83),
            "failover/restored": gmm(1002),
            "failover/restored-empty": gmm(481),
        },
    ),
    *cited(
        TIMERS,
        {
            "time/pass": source("Timer.scala")(103),
            "time/session-expired": gc(739),
            "time/ghost-expired": gc(739),
            "time/rebalance-timeout": source("DelayedJoin.scala")(43),
        },
    ),
    cleanup.EXPIRED.at(gm(305)),
    cleanup.GROUP_GONE.at(gmm(575)),
)

PROFILE_0_10_2: Final = Profile(
    name="0.10.2",
    kafka="Apache Kafka 0.10.2.2",
    max_versions={
        "JoinGroup": 1,
        "SyncGroup": 0,
        "Heartbeat": 0,
        "LeaveGroup": 0,
        "OffsetCommit": 2,
        "OffsetFetch": 2,
        "DescribeGroups": 0,
        "ListGroups": 0,
    },
    join_gate=JOIN_GATE,
    join_unknown=JOIN_UNKNOWN,
    join_known=JOIN_KNOWN,
    sync_group=SYNC_GROUP,
    heartbeat=HEARTBEATS,
    leave_group=LEAVE_GROUP,
    offset_commit=OFFSET_COMMIT,
    offset_fetch=OFFSET_FETCH,
    describe_groups=DESCRIBE_GROUPS,
    config=Config(group_max_session_timeout_ms=300_000, offsets_retention_minutes=1_440),
    traits=Traits(
        initial_delay=False,
        new_members_expire=False,
        removed_are_answered=False,
        dropped_keep_timers=True,
        refused_generation_id=0,
        completing_rebalance="AwaitingSync",
        subscriptions=False,
        retained_from_empty=False,
    ),
    cleanup=(cleanup.NOTHING.at(gmm(568)), cleanup.EACH_BY_ITSELF),
    list_groups=LIST_GROUPS,
    group_errors=without(log.GROUP_ERRORS, ErrorCode.KAFKA_STORAGE_ERROR),
    commit_errors=without(log.COMMIT_ERRORS, ErrorCode.KAFKA_STORAGE_ERROR),
).with_rules(*SHARED)
