"""Kafka 2.7 (tag 2.7.2), whose tables are those of the APIs' own modules."""

from __future__ import annotations

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
    offset_fetch,
    sync_group,
    txn_offset_commit,
)
from groupcheck.model.config import Config
from groupcheck.model.rules import cleanup, rebalance, timers
from groupcheck.model.step import Profile, Traits
from groupcheck.model.storing import failover, log

PROFILE_2_7: Final = Profile(
    name="2.7",
    kafka="Apache Kafka 2.7.2",
    max_versions={
        "JoinGroup": 7,
        "SyncGroup": 5,
        "Heartbeat": 4,
        "LeaveGroup": 4,
        "OffsetCommit": 8,
        "OffsetFetch": 7,
        "DescribeGroups": 5,
        "TxnOffsetCommit": 3,
        "EndTxn": 0,
        "ListGroups": 4,
        "DeleteGroups": 2,
        "OffsetDelete": 0,
    },
    join_gate=join_group.GATE,
    join_unknown=join_group.UNKNOWN,
    join_known=join_group.KNOWN,
    sync_group=sync_group.RULES,
    heartbeat=heartbeat.RULES,
    leave_group=leave_group.DECISIONS,
    offset_commit=offset_commit.DECISIONS,
    offset_fetch=offset_fetch.RULES,
    describe_groups=describe_groups.RULES,
    config=Config(),
    traits=Traits(loaded_count_as_static=True),
    txn_offset_commit=txn_offset_commit.RULES,
    end_txn=end_txn.RULES,
    list_groups=list_groups.RULES,
    delete_groups=delete_groups.DECISIONS,
    offset_delete=offset_delete.RULES,
    cleanup=cleanup.BY_STATE,
    group_errors=log.GROUP_ERRORS,
    commit_errors=log.COMMIT_ERRORS,
).with_rules(
    *join_group.RULES,
    *leave_group.RULES,
    *offset_commit.RULES,
    *rebalance.RULES,
    *log.RULES,
    log.TXN_STORED,
    log.NEW_ID_FAILED,
    log.TXN_FAILED,
    *delete_groups.RULES,
    *failover.RULES,
    *timers.RULES,
    *cleanup.RULES,
)
