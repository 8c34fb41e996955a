"""The versions of Kafka in the model: their rules, supported API versions and defaults.

All versions share the same rules; each rule lists the versions that have it. Held appends differ
between 2.7 and 4.1. In 4.1 a record takes effect at once, and an answer waits until every record
written before it is committed, even if its request writes nothing. Thrown errors do not wait.
JoinGroup and SyncGroup wait only for their own appends. Requests that only read see what is
committed. Kafka waits for offsets.commit.timeout.ms (5 s) and then answers with an error; the model
has no such timeout.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupcheck.model.classic.apis import (
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
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.rules import (
    cleanup,
    ignored,
    membership,
    replacement,
    retention,
    timers,
)
from groupcheck.model.classic.step import WITHOUT_ZOOKEEPER, Profile
from groupcheck.model.classic.storing import committed, deferred, failover, log, records, rollback
from groupcheck.model.engine.rules import Part, version_of
from groupcheck.model.vocabulary import ErrorCode as E

GENERATION: Final = "generation"  # what is numbered

# In the order of the listing: APIs first, then shared tables.
PARTS: Final[tuple[Part, ...]] = tuple(
    part
    for module in (
        join_group,
        sync_group,
        heartbeat,
        leave_group,
        offset_commit,
        offset_fetch,
        txn_offset_commit,
        end_txn,
        describe_groups,
        list_groups,
        delete_groups,
        offset_delete,
        membership,
        replacement,
        ignored,
        timers,
        log,
        deferred,
        committed,
        records,
        rollback,
        failover,
        cleanup,
        retention,
    )
    for part in module.PARTS
)

_REPLICAS: Final = (E.NOT_ENOUGH_REPLICAS, E.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
_UNAVAILABLE: Final = dict.fromkeys(
    (E.UNKNOWN_TOPIC_OR_PARTITION, *_REPLICAS), E.COORDINATOR_NOT_AVAILABLE
)
_ELSEWHERE: Final = dict.fromkeys(
    (E.NOT_LEADER_OR_FOLLOWER, E.KAFKA_STORAGE_ERROR), E.NOT_COORDINATOR
)
_TOO_LARGE: Final = (E.MESSAGE_TOO_LARGE, E.RECORD_LIST_TOO_LARGE, E.INVALID_FETCH_SIZE)

# The answer of SyncGroup to the error of an append (2.7 GroupMetadataManager.scala:283).
_GROUP_ERRORS_2_7: Final = {
    **_UNAVAILABLE,
    **_ELSEWHERE,
    E.REQUEST_TIMED_OUT: E.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
}
# The answer of OffsetCommit (2.7 GroupMetadataManager.scala:430).
_COMMIT_ERRORS_2_7: Final = {
    **_UNAVAILABLE,
    **_ELSEWHERE,
    **dict.fromkeys(_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE),
}
# The answer of SyncGroup and of the JoinGroup that creates a group (4.1
# GroupMetadataManager.java:7533), of OffsetCommit and of the LeaveGroup that empties a group
# (4.1 CoordinatorOperationExceptionHelper.java:65).
_ERRORS_4_1: Final = {
    **dict.fromkeys(
        (E.UNKNOWN_TOPIC_OR_PARTITION, E.NOT_ENOUGH_REPLICAS, E.REQUEST_TIMED_OUT),
        E.COORDINATOR_NOT_AVAILABLE,
    ),
    **_ELSEWHERE,
    **dict.fromkeys(_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
}


def _without(errors: Mapping[E, E], *passed_on: E) -> dict[E, E]:
    """The answers to errors of appends, in a version that passes some errors on."""
    return {error: answer for error, answer in errors.items() if error not in passed_on}


def _profile(  # noqa: PLR0913, PLR0917 - one record of data
    name: str,
    kafka: str,
    max_versions: Mapping[str, int],
    config: Config,
    group_errors: Mapping[E, E],
    commit_errors: Mapping[E, E],
    min_versions: Mapping[str, int] = WITHOUT_ZOOKEEPER,
) -> Profile:
    version = version_of(name, PARTS)._replace(first_numbers={GENERATION: 1})
    return Profile(
        name,
        f"Apache Kafka {kafka}",
        version,
        {},
        frozenset(),
        max_versions,
        config,
        MappingProxyType(dict(group_errors)),
        MappingProxyType(dict(commit_errors)),
        min_versions,
    ).of(version)


_VERSIONS_0_10_2: Final = {
    "JoinGroup": 1,
    "SyncGroup": 0,
    "Heartbeat": 0,
    "LeaveGroup": 0,
    "OffsetCommit": 2,
    "OffsetFetch": 2,
    "DescribeGroups": 0,
    "ListGroups": 0,
}
_CONFIG_0_10: Final = Config(group_max_session_timeout_ms=300_000, offsets_retention_minutes=1_440)
PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        _profile(
            "0.10.0",
            "0.10.0.1",
            {**_VERSIONS_0_10_2, "JoinGroup": 0, "OffsetFetch": 1},
            _CONFIG_0_10,
            _without(_GROUP_ERRORS_2_7, E.KAFKA_STORAGE_ERROR, *_REPLICAS),
            _without(_COMMIT_ERRORS_2_7, E.KAFKA_STORAGE_ERROR, *_REPLICAS),
        ),
        _profile(
            "0.10.2",
            "0.10.2.2",
            _VERSIONS_0_10_2,
            _CONFIG_0_10,
            _without(_GROUP_ERRORS_2_7, E.KAFKA_STORAGE_ERROR),
            _without(_COMMIT_ERRORS_2_7, E.KAFKA_STORAGE_ERROR),
        ),
        _profile(
            "2.7",
            "2.7.2",
            {
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
            Config(),
            _GROUP_ERRORS_2_7,
            _COMMIT_ERRORS_2_7,
        ),
        _profile(
            "4.1",
            "4.1",
            {
                "JoinGroup": 9,
                "SyncGroup": 5,
                "Heartbeat": 4,
                "LeaveGroup": 5,
                "OffsetCommit": 9,
                # Requests of versions 8 and 9 name several groups, in another record.
                "OffsetFetch": 7,
                "DescribeGroups": 6,
                "TxnOffsetCommit": 5,
                "EndTxn": 0,
                "ListGroups": 5,
                "DeleteGroups": 2,
                "OffsetDelete": 0,
            },
            Config(),
            _ERRORS_4_1,
            _ERRORS_4_1,
            {"OffsetCommit": 2, "OffsetFetch": 1},
        ),
    )
}
