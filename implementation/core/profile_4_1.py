"""Kafka 4.1, groups of the classic protocol, with where its source says what not all do alike."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from groupcheck.implementation.core.traits import Traits
from groupcheck.model.vocabulary import ErrorCode as E

# GroupMetadataManager.java:7533 and CoordinatorOperationExceptionHelper.java:65 say the same, but
# for an error of the network, which no append of one's own has.
_ERRORS: Final = MappingProxyType(
    {
        E.UNKNOWN_TOPIC_OR_PARTITION: E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_ENOUGH_REPLICAS: E.COORDINATOR_NOT_AVAILABLE,
        E.REQUEST_TIMED_OUT: E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_LEADER_OR_FOLLOWER: E.NOT_COORDINATOR,
        E.KAFKA_STORAGE_ERROR: E.NOT_COORDINATOR,
        E.MESSAGE_TOO_LARGE: E.UNKNOWN_SERVER_ERROR,
        E.RECORD_LIST_TOO_LARGE: E.UNKNOWN_SERVER_ERROR,
        E.INVALID_FETCH_SIZE: E.UNKNOWN_SERVER_ERROR,
    }
)

PROFILE_4_1: Final = Traits(
    name="4.1",
    group_errors=_ERRORS,
    commit_errors=_ERRORS,
    sync_while_loading=E.COORDINATOR_LOAD_IN_PROGRESS,  # GroupCoordinatorService.java:927
    active_first=True,  # GroupCoordinatorService.java:851
    session_first=True,  # GroupCoordinatorService.java:865
    gate_forgets_member=True,  # GroupCoordinatorService.java:886
    checks_instances=True,  # ClassicGroup.java:797
    turned_away_keeps_pending=False,  # GroupMetadataManager.java:6170
    rejoin_sets_timeouts=True,  # ClassicGroup.java:1206
    delays_grow_always=True,  # GroupMetadataManager.java:6856
    removal_ends_delay=True,  # GroupMetadataManager.java:6765
    refused_joins_complete=False,  # GroupMetadataManager.java:6236
    returned_stay_new=False,  # ClassicGroup.java:577
    skips_assignment_since=9,  # GroupMetadataManager.java:7274
    syncs_expire=True,  # GroupMetadataManager.java:6669
    sync_keeps_alive=False,  # GroupMetadataManager.java:7450
    sync_compares_known=True,  # GroupMetadataManager.java:7352
    leaves_at_once=False,  # GroupMetadataManager.java:7976
    loaded_null_instances=False,  # GroupMetadataManager.java:6060
    keeps_assignments=True,  # ClassicGroupMember.java:355
    unknown_is_error_since=6,  # GroupMetadataManager.java:774
    commit_unknown_since=9,  # OffsetMetadataManager.java:468
    manual_commits_first=True,  # ClassicGroup.java:840
    txn_commits_like_members=True,  # OffsetMetadataManager.java:506
    commits_are_prepared=False,  # OffsetMetadataManager.java:1151
    answers_as_asked=True,  # OffsetMetadataManager.java:624
    writes_are_undone=True,  # CoordinatorRuntime.java:873
    new_groups_are_written=True,  # GroupMetadataManager.java:6191
    writes_markers=True,  # KafkaApis.scala:1785
    tombstones_end_transactions=True,  # OffsetMetadataManager.java:1191
    answers_wait=True,  # CoordinatorRuntime.java:960, and of who reads 1613
    returned_are_others=True,  # ClassicGroup.java:577
    only_stable_expire=True,  # ClassicGroup.java:960
    list_is_strict=False,  # GroupMetadataManager.java:610
    shutdown_unloads=True,  # GroupCoordinatorService.java:2270
)
