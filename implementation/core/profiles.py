"""The versions of Kafka that the coordinator implements; each behaviour cites its source line.

The code reads a behaviour and never a version. Lines of 2.7 are at tag 2.7.2, of the Scala
coordinator; those of 4.1 are on branch 4.1, of the classic protocol in the Java coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.model.vocabulary import ErrorCode as E

NEVER_SINCE: Final = 2**15
"""A version that no API has."""

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
# From GroupMetadataManager.scala:284 on.
_GROUP_ERRORS_2_7: Final = MappingProxyType(
    {
        **_UNAVAILABLE_2_7,
        **_NOT_LEADER,
        E.REQUEST_TIMED_OUT: E.REBALANCE_IN_PROGRESS,
        **dict.fromkeys(_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
    }
)
# From GroupMetadataManager.scala:431 on.
_OFFSET_ERRORS_2_7: Final = MappingProxyType(
    {**_UNAVAILABLE_2_7, **_NOT_LEADER, **dict.fromkeys(_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE)}
)
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


class Behaviour(NamedTuple):
    """How one version of Kafka behaves where the versions differ; the defaults are those of 2.7.

    Args:
        name: the version.
        group_append_errors: the error code of a response, by the error of the append of a group's
            record. An error that is not in the mapping is returned as it is.
        offset_append_errors: the same for the append of offsets.
        sync_loading_error: the error of SyncGroup while the partition is loading.
        shutdown_before_group_id: a coordinator that is shut down returns
            COORDINATOR_NOT_AVAILABLE even if the group id is empty.
        session_timeout_before_partition: JoinGroup validates the session timeout before it checks
            that the partition is served.
        partition_error_drops_member_id: a JoinGroup that fails that check returns an empty member
            id.
        unknown_instance_fails: a group.instance.id that is not in the group is an error for every
            API, and for a member id that is pending.
        full_group_keeps_pending_id: GROUP_MAX_SIZE_REACHED leaves the member id pending, and
            removes the group.instance.id of the request.
        rejoin_updates_timeouts: a rejoin replaces the member's timeouts (KAFKA-14009).
        every_initial_delay_extends: a new member extends the initial delay of any generation, not
            only of the first.
        expiry_completes_initial_delay: when a member or a pending id expires during the initial
            delay, the join phase completes if all others have joined. A delay that ends with
            static members that have not joined is over.
        failed_join_completes_phase: every JoinGroup, also one that fails, completes the join phase
            if all members have joined.
        replaced_member_stays_new: a static member that is replaced before its first generation is
            still a new member.
        skip_assignment_since: first version of JoinGroup that returns the members to a static
            leader that rejoins a stable group, with SkipAssignment (KIP-814).
        has_sync_timeout: a member that does not sync within the rebalance timeout is removed
            (KAFKA-12890).
        stable_sync_restarts_session: a SyncGroup in Stable restarts the session timer.
        sync_checks_chosen_protocol_only: SyncGroup checks the protocol only if one is chosen, and
            fails with UNKNOWN_MEMBER_ID in an Empty group.
        leaves_one_by_one: LeaveGroup removes a member, with its rebalance, before it checks the
            next. Otherwise there is one rebalance for the batch, and its append error is returned.
        null_instance_is_static: members loaded from the log count as static (until KAFKA-10497).
        describes_assignments_always: DescribeGroups returns assignments in every state.
        describe_error_since: first version of DescribeGroups that returns GROUP_ID_NOT_FOUND.
        commit_not_found_since: first version of OffsetCommit that returns GROUP_ID_NOT_FOUND.
        simple_commit_skips_member_check: a commit without a generation to an Empty group succeeds
            whatever the member id.
        txn_commit_checks_member: TxnOffsetCommit with a member id or an instance id is checked like
            OffsetCommit, and one with a generation does not create a group.
        offsets_are_pending: a commit is pending until it is appended, also the partitions that it
            rejects (KAFKA-16371), and pending partitions are unstable. Pending offsets do not
            expire.
        repeats_requested_partitions: a response lists partitions as requested, duplicates included.
        failed_appends_roll_back: a failed append leaves no change, removals of offsets and groups
            included, and a group is visible only after something is appended to its partition.
            Otherwise tombstones are best effort, and OffsetDelete of a group's last offset removes
            an Empty group.
        join_appends_group: the JoinGroup that creates a group appends its record.
        appends_markers: the coordinator appends transaction markers. Otherwise they are in the log
            whichever broker coordinates the group.
        tombstones_clear_transactions: an offset tombstone removes the partition from open
            transactions.
        defers_responses: an append takes effect at once, and responses, also of requests that
            append nothing, wait until it is committed. Reads return what is committed. Otherwise
            only the request that appends waits.
        replacement_is_new_member: the result of an append for a static member that is replaced
            again does not affect the later member.
        expires_in_stable_only: offsets of a group with members expire only in Stable.
        list_compares_exactly: ListGroups compares states and types case-sensitively.
        list_ignores_loading: ListGroups returns the groups of the other partitions while one is
            loading.
        shutdown_fails_parked: a shutdown answers parked requests with NOT_COORDINATOR.
    """

    name: str = "2.7"
    group_append_errors: Mapping[E, E] = _GROUP_ERRORS_2_7
    offset_append_errors: Mapping[E, E] = _OFFSET_ERRORS_2_7
    sync_loading_error: E = E.REBALANCE_IN_PROGRESS  # GroupCoordinator.scala:356
    shutdown_before_group_id: bool = False  # GroupCoordinator.scala:857
    session_timeout_before_partition: bool = False  # GroupCoordinator.scala:172
    partition_error_drops_member_id: bool = False  # GroupCoordinator.scala:167
    unknown_instance_fails: bool = False  # GroupMetadata.scala:399
    full_group_keeps_pending_id: bool = True  # GroupCoordinator.scala:185
    rejoin_updates_timeouts: bool = False  # GroupMetadata.scala:496
    every_initial_delay_extends: bool = False  # GroupCoordinator.scala:1008
    expiry_completes_initial_delay: bool = False  # DelayedJoin.scala:65
    failed_join_completes_phase: bool = True  # GroupCoordinator.scala:196
    replaced_member_stays_new: bool = True  # GroupMetadata.scala:319
    skip_assignment_since: int = NEVER_SINCE  # GroupCoordinator.scala:1086
    has_sync_timeout: bool = False  # GroupCoordinator.scala:1242
    stable_sync_restarts_session: bool = True  # GroupCoordinator.scala:445
    sync_checks_chosen_protocol_only: bool = False  # GroupCoordinator.scala:397
    leaves_one_by_one: bool = True  # GroupCoordinator.scala:499
    null_instance_is_static: bool = True  # GroupMetadataManager.scala:1429
    describes_assignments_always: bool = False  # MemberMetadata.scala:127
    describe_error_since: int = NEVER_SINCE  # GroupCoordinator.scala:825
    commit_not_found_since: int = NEVER_SINCE  # GroupCoordinator.scala:703
    simple_commit_skips_member_check: bool = False  # GroupCoordinator.scala:764
    txn_commit_checks_member: bool = False  # GroupCoordinator.scala:737
    offsets_are_pending: bool = True  # GroupMetadataManager.scala:469
    repeats_requested_partitions: bool = False  # KafkaApis.scala:477
    failed_appends_roll_back: bool = False  # GroupCoordinator.scala:1056
    join_appends_group: bool = False  # GroupMetadataManager.scala:224
    appends_markers: bool = False  # KafkaApis.scala:2155
    tombstones_clear_transactions: bool = False  # GroupMetadataManager.scala:650
    defers_responses: bool = False  # GroupMetadataManager.scala:325
    replacement_is_new_member: bool = False  # GroupMetadata.scala:319
    expires_in_stable_only: bool = False  # GroupMetadata.scala:745
    list_compares_exactly: bool = True  # GroupCoordinator.scala:812
    list_ignores_loading: bool = True  # GroupCoordinator.scala:810
    shutdown_fails_parked: bool = False  # GroupCoordinator.scala:118

    def group_error(self, error: E) -> E:
        """The error code returned when the append of a group's record fails with `error`."""
        return self.group_append_errors.get(error, error)

    def offset_error(self, error: E) -> E:
        """The error code returned when the append of offsets fails with `error`."""
        return self.offset_append_errors.get(error, error)


PROFILE_2_7: Final = Behaviour()
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
