"""Kafka 4.1 (branch 4.1), groups of the classic protocol: 2.7's rules, and those that are its own.

Time to sync is limited, a batch leaves as one, and what a member was assigned shows in every state.

Appends complete at once: this profile has no held appends. In 4.1 an answer without records waits
for earlier writes of its partition, errors and the answers of JoinGroup and SyncGroup do not, and
what is read is what is committed, so that to hold appends is another matter there than in 2.7.
Nor does an append fail, or the coordinator: its APIs have no gate, and nothing is ever loaded.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model import (
    describe_groups,
    leave_group,
    list_groups,
    offset_commit,
    sync_group,
    timers,
    txn_offset_commit,
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
JOIN_UNKNOWN: Final = cited(
    RULES,
    {
        "join/new-inconsistent": gmm(6271),
        "join/member-id-required": gmm(6367),
        "join/new-member": gmm(6394),
    },
)
JOIN_KNOWN: Final = cited(
    RULES,
    {
        "join/inconsistent": gmm(6428),
        "join/pending-member": gmm(6433),
        "join/unknown-member": gmm(6452),
        "join/rejoin-preparing": gmm(6468),
        "join/repeated-completing": gmm(6478),
        "join/changed-completing": gmm(6494),
        "join/leader-stable": gmm(6504),
        "join/changed-stable": gmm(6516),
        "join/repeated-stable": gmm(6524),
    },
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
    *cited(
        RULES,
        {
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
HEARTBEAT: Final = cited(
    RULES,
    {
        "heartbeat/invalid-group-id": gcs(954),
        "heartbeat/no-group": gmm(7624),
        "heartbeat/unknown-member": gmm(7709),
        "heartbeat/other-generation": gmm(7715),
        "heartbeat/preparing": gmm(7664),
        "heartbeat/alive": gmm(7671),
    },
)
LEAVE_GROUP: Final = (
    *cited(RULES, {"leave/invalid-group-id": gcs(997), "leave/no-group": gmm(7811)}),
    leave_group.TOGETHER,
)
OFFSET_COMMIT: Final = (
    *cited(RULES, {"commit/nothing": apis(343), "commit/simple-no-group": omm(460)}),
    offset_commit.NOT_FOUND,
    RULES["commit/simple-empty"].at(cg(840)),
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
OFFSET_FETCH: Final = cited(
    RULES,
    {
        "fetch/no-group": omm(871),
        "fetch/in-transaction": omm(900),
        "fetch/committed": omm(915),
    },
)
DESCRIBE_GROUPS: Final = (
    describe_groups.NOT_FOUND,
    describe_groups.UNWRITTEN,
    RULES["describe/stable"].at(gmm(747)),
    RULES["describe/unstable"]._replace(
        says="outside Stable members are shown without metadata, but with what they were assigned",
        source=gmm(763),
    ),
)
# Unlike 2.7's, a TxnOffsetCommit is looked at as an OffsetCommit is, but for the group's state.
TXN_OFFSET_COMMIT: Final = (
    *cited(RULES, {"txn-commit/nothing": apis(2077), "txn-commit/invalid-group-id": gcs(2021)}),
    txn_offset_commit.NO_GROUP,
    txn_offset_commit.SIMPLE,
    RULES["txn-commit/unknown-member"]._replace(
        says="a member id or a generation is said, and the member id is not in the group",
        source=cg(814),
        when=txn_offset_commit.is_no_member,
    ),
    RULES["txn-commit/other-generation"]._replace(
        says="a member says a generation that is not the group's, or none",
        source=cg(850),
        when=txn_offset_commit.is_not_of_generation,
    ),
    RULES["txn-commit/pending"].at(omm(723)),
)
# A refused partition is not pending, so that a marker always comes to its end.
END_TXN: Final = cited(
    RULES,
    {
        "end-txn/invalid-group-id": gcs(2021),
        "end-txn/nothing-pending": omm(1209),
        "end-txn/committed": omm(1223),
        "end-txn/aborted": omm(1259),
    },
)
LIST_GROUPS: Final = (
    RULES["list/no-group"].at(gmm(627)),
    RULES["list/other-state"]._replace(
        says="the group's state is none of those asked for, in upper or lower case",
        source=gmm(621),
        when=list_groups.filtered_out_in_any_case,
    ),
    list_groups.OTHER_TYPE,
    list_groups.UNWRITTEN,
    RULES["list/group"].at(gmm(631)),
)
DELETE_GROUPS: Final = cited(
    RULES,
    {
        "delete/no-group": gmm(8398),
        "delete/not-empty": cg(920),
        "delete/empty": source("GroupCoordinatorShard.java")(622),
    },
)
OFFSET_DELETE: Final = cited(
    RULES,
    {
        "offset-delete/invalid-group-id": gcs(2061),
        "offset-delete/no-group": omm(558),
        "offset-delete/empty": cg(905),
        "offset-delete/consumers": omm(746),
        "offset-delete/not-consumers": cg(902),
    },
)
SHARED: Final = (
    *cited(
        RULES,
        {
            "leave/pending-member": gmm(7933),
            "leave/unknown-member": gmm(7957),
            "leave/member": gmm(7946),
            "commit/metadata-too-large": omm(630),
            "rebalance/prepare-from-empty": gmm(6915),
            "rebalance/prepare-from-stable": gmm(6930),
            "rebalance/prepare-from-completing": gmm(6908),
            "rebalance/complete": gmm(6640),
            "rebalance/complete-empty": gmm(6622),
            "rebalance/drop-not-rejoined": gmm(6593),
            "rebalance/elect-leader": cg(488),
            "log/assignments-stored": gmm(7438),
            "log/offsets-stored": omm(660),
            "log/transaction-stored": omm(1169),
            "group/deleted": gmm(6046),
            "time/pass": source("CoordinatorTimer.java")(60),
            "time/session-expired": gmm(6726),
            "time/new-member-expired": gmm(6726),
            "time/pending-expired": gmm(6716),
            "time/rebalance-timeout": gmm(6556),
            "time/initial-delay-extended": gmm(6985),
            "time/initial-delay-over": gmm(6998),
        },
    ),
    timers.SYNCS_EXPIRED,
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
        "TxnOffsetCommit": 5,
        "EndTxn": 0,
        "ListGroups": 5,
        "DeleteGroups": 2,
        "OffsetDelete": 0,
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
    txn_offset_commit=TXN_OFFSET_COMMIT,
    end_txn=END_TXN,
    list_groups=LIST_GROUPS,
    delete_groups=DELETE_GROUPS,
    offset_delete=OFFSET_DELETE,
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
        refused_stay_pending=False,
        last_offset_takes_group=False,
    ),
).with_rules(*SHARED)
