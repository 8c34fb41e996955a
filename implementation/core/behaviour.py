"""What differs between versions of Kafka, as a record of named behaviours that `profiles` fills in.

The rules ask for a behaviour and never for a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from groupcheck.model.vocabulary import ErrorCode


class Behaviour(NamedTuple):
    """How one version of Kafka behaves where the versions differ.

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

    name: str
    group_append_errors: Mapping[ErrorCode, ErrorCode]
    offset_append_errors: Mapping[ErrorCode, ErrorCode]
    sync_loading_error: ErrorCode
    shutdown_before_group_id: bool
    session_timeout_before_partition: bool
    partition_error_drops_member_id: bool
    unknown_instance_fails: bool
    full_group_keeps_pending_id: bool
    rejoin_updates_timeouts: bool
    every_initial_delay_extends: bool
    expiry_completes_initial_delay: bool
    failed_join_completes_phase: bool
    replaced_member_stays_new: bool
    skip_assignment_since: int
    has_sync_timeout: bool
    stable_sync_restarts_session: bool
    sync_checks_chosen_protocol_only: bool
    leaves_one_by_one: bool
    null_instance_is_static: bool
    describes_assignments_always: bool
    describe_error_since: int
    commit_not_found_since: int
    simple_commit_skips_member_check: bool
    txn_commit_checks_member: bool
    offsets_are_pending: bool
    repeats_requested_partitions: bool
    failed_appends_roll_back: bool
    join_appends_group: bool
    appends_markers: bool
    tombstones_clear_transactions: bool
    defers_responses: bool
    replacement_is_new_member: bool
    expires_in_stable_only: bool
    list_compares_exactly: bool
    list_ignores_loading: bool
    shutdown_fails_parked: bool

    def group_error(self, error: ErrorCode) -> ErrorCode:
        """The error code returned when the append of a group's record fails with `error`."""
        return self.group_append_errors.get(error, error)

    def offset_error(self, error: ErrorCode) -> ErrorCode:
        """The error code returned when the append of offsets fails with `error`."""
        return self.offset_append_errors.get(error, error)


NEVER_SINCE: Final = 2**15
"""A version that no API has."""
