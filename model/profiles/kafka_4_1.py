"""Kafka 4.1 (branch 4.1), groups of the classic protocol: 2.7's rules, and those that are its own.

Time to sync is limited, a batch leaves as one, what a member was assigned shows in every state, and
a group.instance.id that nobody has is refused.

To hold appends is another matter here than in 2.7: what is written takes effect at once, and it is
the answers that wait, even of those who write nothing, until all that was written before is
committed. Errors that are thrown do not wait, nor do JoinGroup and SyncGroup, unless they wait for
an append of their own; and what is read is what is committed. (Kafka waits for
offsets.commit.timeout.ms, 5 s, and then answers with an error. Here it waits without end.)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from groupcheck.model.apis import (
    delete_groups,
    describe_groups,
    end_txn,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    sync_group,
    txn_offset_commit,
)
from groupcheck.model.apis.gate import gate
from groupcheck.model.profiles.kafka_2_7 import PROFILE_2_7
from groupcheck.model.rules import cleanup, static_members, timers
from groupcheck.model.step import by_name, cited, source
from groupcheck.model.storing import committed, log, revert, waiting
from groupcheck.model.vocabulary import ErrorCode

apis = source("KafkaApis.scala")
cg = source("ClassicGroup.java")
cr = source("CoordinatorRuntime.java")
gcs = source("GroupCoordinatorService.java")
gmm = source("GroupMetadataManager.java")
omm = source("OffsetMetadataManager.java")
shard = source("GroupCoordinatorShard.java")

RULES = by_name(tuple(PROFILE_2_7.rules.values()))
LOADING, ELSEWHERE = cr(2207), cr(2209)  # whoever gets to the runtime before the partition has

# What the error of an append is to SyncGroup and to the JoinGroup that makes a group
# (GroupMetadataManager.java:7533), to OffsetCommit and to the LeaveGroup that empties a group
# (CoordinatorOperationExceptionHelper.java:65).
APPEND_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **dict.fromkeys(
        (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            ErrorCode.REQUEST_TIMED_OUT,
        ),
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ),
    **log.ELSEWHERE,
    **dict.fromkeys(log.TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}

# The runtime does not know the member's id.
OF_RUNTIME = by_name(gate("join", partial(join_group.refuse, keep_id=False)))
JOIN_GATE: Final = (
    *cited(
        RULES,
        {
            "join/not-active": gcs(851),
            "join/invalid-group-id": gcs(858),
            "join/session-timeout-out-of-range": gcs(865),
        },
    ),
    *cited(OF_RUNTIME, {"join/loading": LOADING, "join/not-coordinator": ELSEWHERE}),
    RULES["join/no-group"].at(gmm(6161)),
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
            "sync/not-active": gcs(905),
            "sync/invalid-group-id": gcs(911),
        },
    ),
    *cited(
        by_name(gate("sync", sync_group.refuse)),
        {"sync/loading": LOADING, "sync/not-coordinator": ELSEWHERE},
    ),
    RULES["sync/no-group"].at(gmm(7346)),
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
    *cited(
        RULES,
        {
            "heartbeat/not-active": gcs(948),
            "heartbeat/invalid-group-id": gcs(954),
            "heartbeat/loading": gcs(970),
            "heartbeat/not-coordinator": ELSEWHERE,
            "heartbeat/no-group": gmm(7624),
        },
    ),
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
    *cited(
        RULES,
        {
            "leave/not-active": gcs(991),
            "leave/invalid-group-id": gcs(997),
            "leave/loading": LOADING,
            "leave/not-coordinator": ELSEWHERE,
            "leave/no-group": gmm(7811),
        },
    ),
    leave_group.TOGETHER,
)
OFFSET_COMMIT: Final = (
    *cited(
        RULES,
        {
            "commit/nothing": apis(343),
            "commit/not-active": gcs(1976),
            "commit/loading": LOADING,
            "commit/not-coordinator": ELSEWHERE,
            "commit/simple-no-group": omm(460),
        },
    ),
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
OFFSET_FETCH: Final = cited(
    RULES,
    {
        "fetch/not-active": gcs(1555),
        "fetch/loading": LOADING,
        "fetch/not-coordinator": ELSEWHERE,
        "fetch/no-group": omm(871),
        "fetch/in-transaction": omm(900),
        "fetch/committed": omm(915),
    },
)
DESCRIBE_GROUPS: Final = (
    *cited(
        RULES,
        {
            "describe/not-active": gcs(1274),
            "describe/loading": LOADING,
            "describe/not-coordinator": ELSEWHERE,
        },
    ),
    describe_groups.NOT_FOUND,
    describe_groups.UNWRITTEN,
    RULES["describe/stable"].at(gmm(747)),
    RULES["describe/unstable"]._replace(
        says="outside Stable members are shown without metadata, but with what they were assigned",
        source=gmm(763),
    ),
)
CLEANUP: Final = (
    cleanup.NOTHING.at(shard(1002)),
    cleanup.outside_transactions(cleanup.EMPTY_GROUP.at(cg(951))),
    cleanup.outside_transactions(cleanup.in_peace(cleanup.CONSUMERS.at(cg(960)))),
    cleanup.outside_transactions(cleanup.SIMPLE.at(cg(967))),
    cleanup.IN_USE._replace(
        rule=cleanup.IN_USE.rule._replace(
            says="the group rebalances, or nobody knows which topics its members need",
            source=cg(972),
        )
    ),
)
# Unlike 2.7's, a TxnOffsetCommit is looked at as an OffsetCommit is, but for the group's state.
TXN_OFFSET_COMMIT: Final = (
    *cited(
        RULES,
        {
            "txn-commit/nothing": apis(2077),
            "txn-commit/not-active": gcs(2014),
            "txn-commit/invalid-group-id": gcs(2021),
            "txn-commit/loading": LOADING,
            "txn-commit/not-coordinator": ELSEWHERE,
        },
    ),
    txn_offset_commit.NO_GROUP,
    txn_offset_commit.SIMPLE,
    txn_offset_commit.UNKNOWN_INSTANCE,
    RULES["txn-commit/fenced"].at(cg(810)),
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
END_TXN: Final = (
    *cited(by_name(end_txn.GATE), {"end-txn/not-active": gcs(2093)}),
    RULES["end-txn/invalid-group-id"].at(gcs(2021)),
    *cited(
        by_name(end_txn.GATE),
        {"end-txn/loading": LOADING, "end-txn/not-coordinator": ELSEWHERE},
    ),
    end_txn.NOT_WRITTEN,
    *cited(
        RULES,
        {
            "end-txn/nothing-pending": omm(1209),
            "end-txn/committed": omm(1223),
            "end-txn/aborted": omm(1259),
        },
    ),
)
LIST_GROUPS: Final = (
    *cited(RULES, {"list/not-active": gcs(1040), "list/loading": LOADING}),
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
        "delete/not-active": gcs(1329),
        "delete/loading": LOADING,
        "delete/not-coordinator": ELSEWHERE,
        "delete/no-group": gmm(8398),
        "delete/not-empty": cg(920),
        "delete/empty": source("GroupCoordinatorShard.java")(622),
    },
)
OFFSET_DELETE: Final = cited(
    RULES,
    {
        "offset-delete/not-active": gcs(2055),
        "offset-delete/invalid-group-id": gcs(2061),
        "offset-delete/loading": LOADING,
        "offset-delete/not-coordinator": ELSEWHERE,
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
            "log/hold": cr(955),
            "log/release": cr(1946),
            "log/assignments-stored": gmm(7438),
            "log/assignments-outdated": gmm(7430),
            "log/offsets-stored": omm(660),
            "log/fail": cr(802),
            "log/assignments-failed": gmm(7431),
            "log/offsets-failed": gcs(1996),
            "failover/crash": cr(2455),
            "failover/unload": gmm(5971),
            "failover/loading": cr(652),
            "failover/load": cr(673),
            "failover/shutdown": gcs(2262),
            "failover/restored": gmm(6078),
            "failover/restored-empty": omm(1148),
            "log/new-id-stored": gmm(7274),
            "log/new-id-failed": gmm(7252),
            "log/transaction-stored": omm(1169),
            "log/transaction-failed": gcs(2037),
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
    leave_group.UNKNOWN_INSTANCE,
    timers.SYNCS_EXPIRED,
    leave_group.EMPTY_NOT_STORED,
    delete_groups.NOT_STORED,
    offset_delete.NOT_STORED,
    revert.FORGOTTEN,
    cleanup.EXPIRED.at(omm(1047)),
    cleanup.GROUP_GONE.at(gmm(8410)),
    timers.LOST_SYNC_EXPIRED,
    log.TOLD_ALREADY._replace(
        says="the new id of a static member is stored too late: it was answered or is gone, or "
        "leads a group that prepares a rebalance, where Kafka fails to tell it the members",
        source=cg(1228),
    ),
    log.COMMITTED_AT_LAST,
    waiting.LOST,
    committed.READ,
)

# Whose answers are results of what is written, and not errors that are thrown.
WAITING: Final = frozenset(
    {
        "heartbeat/preparing",
        "heartbeat/alive",
        "leave/together",
        *(rule.name for rule in (leave_group.PENDING, leave_group.UNKNOWN, leave_group.REMOVED)),
        *(rule.name for rule in (leave_group.FENCED, leave_group.UNKNOWN_INSTANCE)),
        "commit/metadata-too-large",
        "log/offsets-stored",
        "log/transaction-stored",
        "end-txn/nothing-pending",
        "end-txn/committed",
        "end-txn/aborted",
        "fetch/no-group",
        "fetch/in-transaction",
        "fetch/committed",
        "delete/no-group",
        "delete/not-empty",
        "delete/empty",
        "offset-delete/empty",
        "offset-delete/consumers",
    }
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
    cleanup=CLEANUP,
    group_errors=APPEND_ERRORS,
    commit_errors=APPEND_ERRORS,
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
        new_groups_are_recorded=True,
        commits_fail_whole=True,
        shutdown_unloads=True,
        removals_are_written=True,
        returned_stay_new=False,
        any_join_ends=False,
        refused_stay_pending=False,
        failures_are_undone=True,
        writes_markers=True,
        tombstones_end_transactions=True,
        last_offset_takes_group=False,
        answers_wait=True,
        returned_are_others=True,
    ),
    waiting=WAITING,
).with_rules(*SHARED)
