"""Kafka 2.7.2: how it does what not all versions do alike, with where its source says so."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from groupcheck.implementation.core.traits import NEVER_SINCE, Traits
from groupcheck.model.vocabulary import ErrorCode as E

_UNAVAILABLE: Final = dict.fromkeys(
    (
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ),
    E.COORDINATOR_NOT_AVAILABLE,
)
_ELSEWHERE: Final = dict.fromkeys(
    (E.NOT_LEADER_OR_FOLLOWER, E.KAFKA_STORAGE_ERROR), E.NOT_COORDINATOR
)
_TOO_LARGE: Final = (E.MESSAGE_TOO_LARGE, E.RECORD_LIST_TOO_LARGE, E.INVALID_FETCH_SIZE)

PROFILE_2_7: Final = Traits(
    name="2.7",
    group_errors=MappingProxyType(  # GroupMetadataManager.scala:284
        {
            **_UNAVAILABLE,
            **_ELSEWHERE,
            E.REQUEST_TIMED_OUT: E.REBALANCE_IN_PROGRESS,
            **dict.fromkeys(_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        }
    ),
    commit_errors=MappingProxyType(  # GroupMetadataManager.scala:431
        {
            **_UNAVAILABLE,
            **_ELSEWHERE,
            **dict.fromkeys(_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE),
        }
    ),
    sync_while_loading=E.REBALANCE_IN_PROGRESS,  # GroupCoordinator.scala:356
    active_first=False,  # GroupCoordinator.scala:857
    session_first=False,  # GroupCoordinator.scala:172
    gate_forgets_member=False,  # GroupCoordinator.scala:167
    checks_instances=False,  # GroupMetadata.scala:399
    turned_away_keeps_pending=True,  # GroupCoordinator.scala:185
    rejoin_sets_timeouts=False,  # GroupMetadata.scala:496
    delays_grow_always=False,  # GroupCoordinator.scala:1008
    removal_ends_delay=False,  # DelayedJoin.scala:65
    refused_joins_complete=True,  # GroupCoordinator.scala:196
    returned_stay_new=True,  # GroupMetadata.scala:319
    skips_assignment_since=NEVER_SINCE,  # GroupCoordinator.scala:1086
    syncs_expire=False,  # GroupCoordinator.scala:1242
    sync_keeps_alive=True,  # GroupCoordinator.scala:445
    sync_compares_known=False,  # GroupCoordinator.scala:397
    leaves_at_once=True,  # GroupCoordinator.scala:499
    loaded_null_instances=True,  # GroupMetadataManager.scala:1429
    keeps_assignments=False,  # MemberMetadata.scala:127
    unknown_is_error_since=NEVER_SINCE,  # GroupCoordinator.scala:825
    commit_unknown_since=NEVER_SINCE,  # GroupCoordinator.scala:703
    manual_commits_first=False,  # GroupCoordinator.scala:764
    txn_commits_like_members=False,  # GroupCoordinator.scala:737
    commits_are_prepared=True,  # GroupMetadataManager.scala:469
    answers_as_asked=False,  # KafkaApis.scala:477
    writes_are_undone=False,  # GroupCoordinator.scala:1056
    new_groups_are_written=False,  # GroupMetadataManager.scala:224
    writes_markers=False,  # KafkaApis.scala:2155
    tombstones_end_transactions=False,  # GroupMetadataManager.scala:650
    answers_wait=False,  # GroupMetadataManager.scala:325
    returned_are_others=False,  # GroupMetadata.scala:319
    only_stable_expire=False,  # GroupMetadata.scala:745
    list_is_strict=True,  # GroupCoordinator.scala:812
    shutdown_unloads=False,  # GroupCoordinator.scala:118
)
