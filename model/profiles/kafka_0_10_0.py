"""Kafka 0.10.0 (tag 0.10.0.1): a group is there while it has members, and no longer.

There is no Empty state: a group begins in Stable, and dies when its last member has gone, while its
offsets stay. A rebalance takes as long as the longest session timeout. The rest is 0.10.2's, but
that heartbeats count in Stable alone.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model.profiles.kafka_0_10_2 import HEARTBEAT_COMPLETING, PROFILE_0_10_2, without
from groupcheck.model.rules import cleanup, rebalance, timers
from groupcheck.model.step import apis, by_name, cited, gc, gm, gmm, source
from groupcheck.model.vocabulary import ErrorCode, GroupState

RULES = by_name(tuple(PROFILE_0_10_2.rules.values()))
REPLICAS = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
LOST = by_name((rebalance.COMPLETE_DEAD, timers.GHOST_EXPIRED))

JOIN_GATE: Final = cited(
    RULES,
    {
        "join/not-active": gc(107),
        "join/invalid-group-id": gc(109),
        "join/not-coordinator": gc(111),
        "join/session-timeout-out-of-range": gc(115),
        "join/no-group": gc(124),
    },
)
JOIN_UNKNOWN: Final = cited(RULES, {"join/new-inconsistent": gc(145), "join/new-member": gc(580)})
JOIN_KNOWN: Final = cited(
    RULES,
    {
        "join/inconsistent": gc(145),
        "join/unknown-member": gc(148),
        "join/rejoin-preparing": gc(166),
        "join/repeated-completing": gc(174),
        "join/changed-completing": gc(191),
        "join/leader-stable": gc(201),
        "join/changed-stable": gc(201),
        "join/repeated-stable": gc(206),
    },
)
SYNC_GROUP: Final = cited(
    RULES,
    {
        "sync/not-active": gc(231),
        "sync/not-coordinator": gc(233),
        "sync/no-group": gc(237),
        "sync/unknown-member": gc(252),
        "sync/other-generation": gc(254),
        "sync/preparing": gc(261),
        "sync/leader-completing": gc(269),
        "sync/follower-completing": gc(265),
        "sync/stable": gc(294),
    },
)
HEARTBEATS: Final = (
    *cited(
        RULES,
        {
            "heartbeat/not-active": gc(344),
            "heartbeat/not-coordinator": gc(346),
            "heartbeat/no-group": gc(353),
        },
    ),
    HEARTBEAT_COMPLETING._replace(
        name="heartbeat/unstable",
        says="the group is not Stable, and no heartbeat counts: whoever asks is told to join again",
        source=gc(363),
        when=lambda step, _request: step.existing.state is not GroupState.STABLE,
    ),
    *cited(
        RULES,
        {
            "heartbeat/unknown-member": gc(365),
            "heartbeat/other-generation": gc(367),
            "heartbeat/alive": gc(371),
        },
    ),
)
LEAVE_GROUP: Final = cited(
    RULES,
    {
        "leave/not-active": gc(309),
        "leave/not-coordinator": gc(311),
        "leave/no-group": gc(317),
        "leave/batch": gc(324),
    },
)
OFFSET_COMMIT: Final = cited(
    RULES,
    {
        "commit/nothing": apis(254),
        "commit/not-active": gc(386),
        "commit/not-coordinator": gc(388),
        "commit/simple-no-group": gc(395),
        "commit/no-group": gc(399),
        "commit/completing": gc(407),
        "commit/unknown-member": gc(409),
        "commit/other-generation": gc(411),
        "commit/member": gc(413),
    },
)
OFFSET_FETCH: Final = cited(
    RULES,
    {
        "fetch/not-active": gc(429),
        "fetch/not-coordinator": gc(432),
        "fetch/committed": gmm(323),
    },
)
DESCRIBE_GROUPS: Final = cited(
    RULES,
    {
        "describe/not-active": gc(455),
        "describe/not-coordinator": gc(457),
        "describe/no-group": gc(463),
        "describe/stable": gm(221),
        "describe/unstable": gm(225),
    },
)
LIST_GROUPS: Final = cited(
    RULES,
    {
        "list/not-active": gc(447),
        "list/loading": gc(449),
        "list/no-group": gc(450),
        "list/group": gc(450),
    },
)
SHARED: Final = cited(
    RULES | LOST,
    {
        "leave/unknown-member": gc(327),
        "leave/member": gc(330),
        "commit/metadata-too-large": gmm(306),
        "rebalance/prepare-from-stable": gc(616),
        "rebalance/prepare-from-completing": gc(613),
        "rebalance/complete": gc(664),
        "rebalance/complete-dead": gc(657),
        "rebalance/drop-not-rejoined": gc(651),
        "rebalance/no-protocol": gm(179),
        "rebalance/elect-leader": gm(147),
        "log/hold": gmm(253),
        "log/release": gmm(253),
        "log/assignments-stored": gc(286),
        "log/assignments-outdated": gc(281),
        "log/offsets-stored": gmm(283),
        "log/fail": gmm(197),
        "log/assignments-failed": gc(282),
        "log/offsets-failed": gmm(291),
        "log/offsets-outlive-group": gmm(283),
        "failover/crash": gmm(355),
        "failover/unload": gc(473),
        "failover/loading": gmm(363),
        "failover/load": gmm(457),
        "failover/shutdown": gc(90),
        "failover/restored": gmm(940),
        "time/pass": source("Timer.scala")(103),
        "time/session-expired": gc(696),
        "time/ghost-expired": gc(696),
        "time/rebalance-timeout": source("DelayedJoin.scala")(39),
    },
)

PROFILE_0_10_0: Final = PROFILE_0_10_2._replace(
    name="0.10.0",
    kafka="Apache Kafka 0.10.0.1",
    max_versions={**PROFILE_0_10_2.max_versions, "JoinGroup": 0, "OffsetFetch": 1},
    join_gate=JOIN_GATE,
    join_unknown=JOIN_UNKNOWN,
    join_known=JOIN_KNOWN,
    sync_group=SYNC_GROUP,
    heartbeat=HEARTBEATS,
    leave_group=LEAVE_GROUP,
    offset_commit=OFFSET_COMMIT,
    offset_fetch=OFFSET_FETCH,
    describe_groups=DESCRIBE_GROUPS,
    list_groups=LIST_GROUPS,
    cleanup=(cleanup.NOTHING.at(gmm(544)), cleanup.EACH_WHATEVER_COMES.at(gmm(545))),
    traits=PROFILE_0_10_2.traits._replace(
        begins=GroupState.STABLE, empty_dies=True, empty_fetch_is_all=True, retention_wraps=True
    ),
    group_errors=without(PROFILE_0_10_2.group_errors, *REPLICAS),
    commit_errors=without(PROFILE_0_10_2.commit_errors, *REPLICAS),
).with_rules(*SHARED, cleanup.EXPIRED.at(gmm(555)))
