"""Kafka 4.1 (branch 4.1), groups of the classic protocol: 2.7's rules, and those that are its own.

Time to sync is limited, a batch leaves as one, what a member was assigned shows in every state, and
a group.instance.id that nobody has is refused.

Appends complete at once: this profile has no held appends. In 4.1 an answer without records waits
for earlier writes of its partition, errors and the answers of JoinGroup and SyncGroup do not, and
what is read is what is committed, so that to hold appends is another matter there than in 2.7.
Nor does an append fail, or the coordinator: its APIs have no gate, and nothing is ever loaded.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model import (
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    static_members,
    sync_group,
    timers,
)
from groupcheck.model.profile_2_7 import PROFILE_2_7
from groupcheck.model.step import by_name, cited, source

apis = source("KafkaApis.scala")
cg = source("ClassicGroup.java")
gcs = source("GroupCoordinatorService.java")
gmm = source("GroupMetadataManager.java")
omm = source("OffsetMetadataManager.java")

RULES = by_name(tuple(PROFILE_2_7.rules.values()))

JOIN_GATE: Final = cited(
    RULES,
    {
        "join/invalid-group-id": gcs(858),
        "join/session-timeout-out-of-range": gcs(865),
        "join/no-group": gmm(6161),
    },
)
FULL: Final = RULES["join/group-full"]._replace(
    source=gmm(6169), then=join_group.forget_turned_away
)
# A group.instance.id always stands for a member here: there is no join/static-gone.
JOIN_UNKNOWN: Final = (
    FULL,
    RULES["join/new-inconsistent"].at(gmm(6271)),
    static_members.RESTARTED,
    RULES["join/static-unchanged"]._replace(
        source=gmm(7287), when=static_members.selects_the_same_and_may_not_skip
    ),
    *cited(
        RULES,
        {
            "join/static-changed": gmm(7304),
            "join/static-completing": gmm(7316),
            "join/static-preparing": gmm(7326),
            "join/member-id-required": gmm(6367),
            "join/new-member": gmm(6394),
        },
    ),
)
JOIN_KNOWN: Final = (
    FULL,
    *cited(
        RULES,
        {
            "join/inconsistent": gmm(6428),
            "join/pending-static": gmm(6436),
            "join/pending-member": gmm(6433),
            "join/unknown-instance": cg(805),
            "join/fenced": cg(810),
            "join/unknown-member": gmm(6452),
            "join/rejoin-preparing": gmm(6468),
            "join/repeated-completing": gmm(6478),
            "join/changed-completing": gmm(6494),
            "join/leader-stable": gmm(6504),
            "join/changed-stable": gmm(6516),
            "join/repeated-stable": gmm(6524),
        },
    ),
)
SYNC_GROUP: Final = (
    *cited(
        RULES,
        {
            "sync/protocol-missing": apis(1398),
            "sync/invalid-group-id": gcs(911),
            "sync/no-group": gmm(7346),
        },
    ),
    sync_group.EMPTY_GROUP,
    sync_group.UNKNOWN_INSTANCE,
    *cited(
        RULES,
        {
            "sync/fenced": cg(810),
            "sync/unknown-member": gmm(7566),
            "sync/other-generation": gmm(7575),
            "sync/other-protocol-type": gmm(7577),
        },
    ),
    RULES["sync/other-protocol-name"]._replace(source=gmm(7578), when=sync_group.other_than_chosen),
    *cited(
        RULES,
        {
            "sync/preparing": gmm(7392),
            "sync/leader-completing": gmm(7400),
            "sync/follower-completing": gmm(7396),
        },
    ),
    RULES["sync/stable"]._replace(source=gmm(7450), then=sync_group.tell_assignment),
)
HEARTBEAT: Final = (
    *cited(RULES, {"heartbeat/invalid-group-id": gcs(954), "heartbeat/no-group": gmm(7624)}),
    heartbeat.UNKNOWN_INSTANCE,
    *cited(
        RULES,
        {
            "heartbeat/fenced": cg(810),
            "heartbeat/unknown-member": gmm(7709),
            "heartbeat/other-generation": gmm(7715),
            "heartbeat/preparing": gmm(7664),
            "heartbeat/alive": gmm(7671),
        },
    ),
)
LEAVE_GROUP: Final = (
    *cited(RULES, {"leave/invalid-group-id": gcs(997), "leave/no-group": gmm(7811)}),
    leave_group.TOGETHER,
)
OFFSET_COMMIT: Final = (
    *cited(RULES, {"commit/nothing": apis(343), "commit/simple-no-group": omm(460)}),
    offset_commit.NOT_FOUND,
    RULES["commit/simple-empty"].at(cg(840)),
    offset_commit.UNKNOWN_INSTANCE,
    RULES["commit/fenced"].at(cg(810)),
    offset_commit.SIMPLE_IN_USE,
    *cited(
        RULES,
        {
            "commit/unknown-member": cg(814),
            "commit/other-generation": cg(850),
            "commit/completing": cg(861),
            "commit/member": omm(610),
        },
    ),
)
# A stable offset is asked for only against open transactions: one that waits for an earlier commit
# is answered after it.
OFFSET_FETCH: Final = cited(RULES, {"fetch/no-group": omm(871), "fetch/committed": omm(915)})
DESCRIBE_GROUPS: Final = (
    describe_groups.NOT_FOUND,
    describe_groups.UNWRITTEN,
    RULES["describe/stable"].at(gmm(747)),
    RULES["describe/unstable"]._replace(
        says="outside Stable members are shown without metadata, but with what they were assigned",
        source=gmm(763),
    ),
)
SHARED: Final = (
    *cited(
        RULES,
        {
            "leave/pending-member": gmm(7933),
            "leave/unknown-member": gmm(7957),
            "leave/member": gmm(7946),
            "leave/fenced": cg(810),
            "commit/metadata-too-large": omm(630),
            "rebalance/prepare-from-empty": gmm(6915),
            "rebalance/prepare-from-stable": gmm(6930),
            "rebalance/prepare-from-completing": gmm(6908),
            "rebalance/complete": gmm(6640),
            "rebalance/complete-empty": gmm(6622),
            "rebalance/drop-not-rejoined": gmm(6593),
            "rebalance/elect-leader": cg(488),
            "rebalance/nobody-rejoined": gmm(6605),
            "rebalance/elect-joined-leader": cg(509),
            "log/assignments-stored": gmm(7438),
            "log/offsets-stored": omm(660),
            "log/new-id-stored": gmm(7274),
            "time/pass": source("CoordinatorTimer.java")(60),
            "time/session-expired": gmm(6726),
            "time/new-member-expired": gmm(6726),
            "time/pending-expired": gmm(6716),
            "time/rebalance-timeout": gmm(6556),
            "time/initial-delay-extended": gmm(6985),
            "time/initial-delay-over": gmm(6998),
        },
    ),
    leave_group.UNKNOWN_INSTANCE,
    timers.SYNCS_EXPIRED,
    timers.LOST_SYNC_EXPIRED,
)

PROFILE_4_1: Final = PROFILE_2_7._replace(
    name="4.1",
    kafka="Apache Kafka 4.1",
    max_versions={
        "JoinGroup": 9,
        "SyncGroup": 5,
        "Heartbeat": 4,
        "LeaveGroup": 5,
        "OffsetCommit": 9,
        # Versions 8 and 9 ask for several groups at a time, which is another record.
        "OffsetFetch": 7,
        "DescribeGroups": 6,
    },
    min_versions={"OffsetCommit": 2, "OffsetFetch": 1},
    join_gate=JOIN_GATE,
    join_unknown=JOIN_UNKNOWN,
    join_known=JOIN_KNOWN,
    sync_group=SYNC_GROUP,
    heartbeat=HEARTBEAT,
    leave_group=LEAVE_GROUP,
    offset_commit=OFFSET_COMMIT,
    offset_fetch=OFFSET_FETCH,
    describe_groups=DESCRIBE_GROUPS,
    txn_offset_commit=(),  # and the rest of what is not modelled of this version
    end_txn=(),
    list_groups=(),
    delete_groups=(),
    offset_delete=(),
    group_errors={},
    commit_errors={},
    traits=PROFILE_2_7.traits._replace(
        loaded_count_as_static=False,
        every_delay_grows=True,
        expiry_ends_delay=True,
        rejoin_sets_timeouts=True,
        syncs_expire=True,
        assignments_stay=True,
        commits_are_unstable=False,
        answers_as_asked=True,
        hides_unwritten=True,
        returned_stay_new=False,
        any_join_ends=False,
    ),
).with_rules(*SHARED)
