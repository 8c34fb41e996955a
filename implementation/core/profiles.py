"""The versions of Kafka that the coordinator implements; each behaviour cites its source line.

Lines of 2.7 are at tag 2.7.2, of the Scala coordinator; those of 4.1 are on branch 4.1, of the
classic protocol in the Java coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupcheck.implementation.core.behaviour import NEVER_SINCE, Behaviour
from groupcheck.model.vocabulary import ErrorCode as E

_TOO_LARGE: Final = (E.MESSAGE_TOO_LARGE, E.RECORD_LIST_TOO_LARGE, E.INVALID_FETCH_SIZE)
_NOT_LEADER: Final = {
    E.NOT_LEADER_OR_FOLLOWER: E.NOT_COORDINATOR,
    E.KAFKA_STORAGE_ERROR: E.NOT_COORDINATOR,
}
_UNAVAILABLE: Final = {
    E.UNKNOWN_TOPIC_OR_PARTITION: E.COORDINATOR_NOT_AVAILABLE,
    E.NOT_ENOUGH_REPLICAS: E.COORDINATOR_NOT_AVAILABLE,
}
_UNAVAILABLE_2_7: Final = {
    **_UNAVAILABLE,
    E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: E.COORDINATOR_NOT_AVAILABLE,
}
# GroupMetadataManager.java:7533 and CoordinatorOperationExceptionHelper.java:65 agree, except for
# a network error, which an append to the broker's own log does not have.
_APPEND_ERRORS_4_1: Final = MappingProxyType(
    {
        **_UNAVAILABLE,
        **_NOT_LEADER,
        E.REQUEST_TIMED_OUT: E.COORDINATOR_NOT_AVAILABLE,
        **dict.fromkeys(_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
    }
)

PROFILE_2_7: Final = Behaviour(
    name="2.7",
    group_append_errors=MappingProxyType(  # GroupMetadataManager.scala:284
        {
            **_UNAVAILABLE_2_7,
            **_NOT_LEADER,
            E.REQUEST_TIMED_OUT: E.REBALANCE_IN_PROGRESS,
            **dict.fromkeys(_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        }
    ),
    offset_append_errors=MappingProxyType(  # GroupMetadataManager.scala:431
        {
            **_UNAVAILABLE_2_7,
            **_NOT_LEADER,
            **dict.fromkeys(_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE),
        }
    ),
    sync_loading_error=E.REBALANCE_IN_PROGRESS,  # GroupCoordinator.scala:356
    shutdown_before_group_id=False,  # GroupCoordinator.scala:857
    session_timeout_before_partition=False,  # GroupCoordinator.scala:172
    partition_error_drops_member_id=False,  # GroupCoordinator.scala:167
    unknown_instance_fails=False,  # GroupMetadata.scala:399
    full_group_keeps_pending_id=True,  # GroupCoordinator.scala:185
    rejoin_updates_timeouts=False,  # GroupMetadata.scala:496
    every_initial_delay_extends=False,  # GroupCoordinator.scala:1008
    expiry_completes_initial_delay=False,  # DelayedJoin.scala:65
    failed_join_completes_phase=True,  # GroupCoordinator.scala:196
    replaced_member_stays_new=True,  # GroupMetadata.scala:319
    skip_assignment_since=NEVER_SINCE,  # GroupCoordinator.scala:1086
    has_sync_timeout=False,  # GroupCoordinator.scala:1242
    stable_sync_restarts_session=True,  # GroupCoordinator.scala:445
    sync_checks_chosen_protocol_only=False,  # GroupCoordinator.scala:397
    leaves_one_by_one=True,  # GroupCoordinator.scala:499
    null_instance_is_static=True,  # GroupMetadataManager.scala:1429
    describes_assignments_always=False,  # MemberMetadata.scala:127
    describe_error_since=NEVER_SINCE,  # GroupCoordinator.scala:825
    commit_not_found_since=NEVER_SINCE,  # GroupCoordinator.scala:703
    simple_commit_skips_member_check=False,  # GroupCoordinator.scala:764
    txn_commit_checks_member=False,  # GroupCoordinator.scala:737
    offsets_are_pending=True,  # GroupMetadataManager.scala:469
    repeats_requested_partitions=False,  # KafkaApis.scala:477
    failed_appends_roll_back=False,  # GroupCoordinator.scala:1056
    join_appends_group=False,  # GroupMetadataManager.scala:224
    appends_markers=False,  # KafkaApis.scala:2155
    tombstones_clear_transactions=False,  # GroupMetadataManager.scala:650
    defers_responses=False,  # GroupMetadataManager.scala:325
    replacement_is_new_member=False,  # GroupMetadata.scala:319
    expires_in_stable_only=False,  # GroupMetadata.scala:745
    list_compares_exactly=True,  # GroupCoordinator.scala:812
    list_ignores_loading=True,  # GroupCoordinator.scala:810
    shutdown_fails_parked=False,  # GroupCoordinator.scala:118
)

PROFILE_4_1: Final = Behaviour(
    name="4.1",
    group_append_errors=_APPEND_ERRORS_4_1,
    offset_append_errors=_APPEND_ERRORS_4_1,
    sync_loading_error=E.COORDINATOR_LOAD_IN_PROGRESS,  # GroupCoordinatorService.java:927
    shutdown_before_group_id=True,  # GroupCoordinatorService.java:851
    session_timeout_before_partition=True,  # GroupCoordinatorService.java:865
    partition_error_drops_member_id=True,  # GroupCoordinatorService.java:886
    unknown_instance_fails=True,  # ClassicGroup.java:797
    full_group_keeps_pending_id=False,  # GroupMetadataManager.java:6170
    rejoin_updates_timeouts=True,  # ClassicGroup.java:1206
    every_initial_delay_extends=True,  # GroupMetadataManager.java:6856
    expiry_completes_initial_delay=True,  # GroupMetadataManager.java:6765
    failed_join_completes_phase=False,  # GroupMetadataManager.java:6236
    replaced_member_stays_new=False,  # ClassicGroup.java:577
    skip_assignment_since=9,  # GroupMetadataManager.java:7274
    has_sync_timeout=True,  # GroupMetadataManager.java:6669
    stable_sync_restarts_session=False,  # GroupMetadataManager.java:7450
    sync_checks_chosen_protocol_only=True,  # GroupMetadataManager.java:7352
    leaves_one_by_one=False,  # GroupMetadataManager.java:7976
    null_instance_is_static=False,  # GroupMetadataManager.java:6060
    describes_assignments_always=True,  # ClassicGroupMember.java:355
    describe_error_since=6,  # GroupMetadataManager.java:774
    commit_not_found_since=9,  # OffsetMetadataManager.java:468
    simple_commit_skips_member_check=True,  # ClassicGroup.java:840
    txn_commit_checks_member=True,  # OffsetMetadataManager.java:506
    offsets_are_pending=False,  # OffsetMetadataManager.java:1151
    repeats_requested_partitions=True,  # OffsetMetadataManager.java:624
    failed_appends_roll_back=True,  # CoordinatorRuntime.java:873
    join_appends_group=True,  # GroupMetadataManager.java:6191
    appends_markers=True,  # KafkaApis.scala:1785
    tombstones_clear_transactions=True,  # OffsetMetadataManager.java:1191
    defers_responses=True,  # CoordinatorRuntime.java:960; of reads 1613
    replacement_is_new_member=True,  # ClassicGroup.java:577
    expires_in_stable_only=True,  # ClassicGroup.java:960
    list_compares_exactly=False,  # GroupMetadataManager.java:610
    list_ignores_loading=False,  # CoordinatorRuntime.java:2207
    shutdown_fails_parked=True,  # GroupCoordinatorService.java:2270
)

PROFILES: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {profile.name: profile for profile in (PROFILE_2_7, PROFILE_4_1)}
)
