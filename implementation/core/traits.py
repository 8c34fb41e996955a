"""What differs between the versions of Kafka, as one record of facts. No rule belongs here.

A profile (`profile_2_7`, `profile_4_1`) is such a record; the rooms of the rules ask it, and never
which version it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from groupcheck.model.vocabulary import ErrorCode


class Traits(NamedTuple):
    """How one version of Kafka does what not all do alike.

    Args:
        name: the version.
        group_errors: what is answered if a group's record cannot be stored, for the error of the
            append; what is not named is passed on.
        commit_errors: the same of offsets.
        sync_while_loading: what SyncGroup is answered while the partition is loaded.
        active_first: a coordinator that is shut down says so before it looks at the group's name.
        session_first: JoinGroup's session timeout is looked at before who serves the group.
        gate_forgets_member: a JoinGroup that is refused because of the partition is not told its
            member id again.
        checks_instances: a request of a group.instance.id that nobody has is refused, and so is
            whoever names one beside an id that was only given out.
        turned_away_keeps_pending: who finds the group full stays among those who are waited for,
            and its group.instance.id is free for another.
        rejoin_sets_timeouts: a member that joins again has the timeouts it says then.
        delays_grow_always: whoever joins during any initial delay prolongs it, and not only in the
            group's first generation.
        removal_ends_delay: who goes by a timer during the initial delay may be the last one that
            was waited for; and the delay, once it has ended without anybody, is not over.
        refused_joins_complete: after any JoinGroup the join phase ends if everybody has joined, and
            not only after one that is parked.
        returned_stay_new: a static member that comes back before its first generation is new still.
        skips_assignment_since: the version of JoinGroup from which a static leader that comes back
            to a stable group is told its members and need not assign them (KIP-814).
        syncs_expire: who does not sync in time is removed (KAFKA-12890).
        sync_keeps_alive: a SyncGroup in a stable group counts as a heartbeat.
        sync_compares_known: the protocol of a SyncGroup is compared only if the group has one, and
            an Empty group knows no member.
        leaves_at_once: each member that LeaveGroup names has left before the next is looked at;
            else they leave together, and an error of storing it is told.
        loaded_null_instances: members loaded from the log count as static ones (until KAFKA-10497).
        keeps_assignments: DescribeGroups shows assignments in any state.
        unknown_is_error_since: the version of DescribeGroups from which a group that is not there
            is an error.
        commit_unknown_since: the version of OffsetCommit from which a group that is not there is
            called so.
        manual_commits_first: to commit without a generation to an Empty group needs no name.
        txn_commits_like_members: a transaction's commit that names anybody is checked as a
            member's, and one with a generation makes no group.
        commits_are_prepared: a commit is pending until it is in the log, with what was refused of
            it (KAFKA-16371), and its partitions are not stable; else it is there or is not.
        answers_as_asked: partitions are answered as they were asked for, twice if named twice.
        writes_are_undone: what cannot be written has not happened, the removal of offsets and
            groups included; of a group nothing shows before something is written to its partition.
            Else removals are best effort, and one of a group's last offset takes an Empty group.
        new_groups_are_written: a group that JoinGroup makes is in the log at once.
        writes_markers: the marker of a transaction is written by the coordinator; else it is in the
            log, whoever coordinates the group.
        tombstones_end_transactions: the removal of an offset is also that of what transactions
            have of its partition.
        answers_wait: what is appended takes effect at once, and answers, be they of who writes
            nothing, wait until it is committed; who only reads waits for nothing, and is told what
            is committed. Else nobody waits but for what is written on their own behalf.
        returned_are_others: a static member that has come back is another one than it was: how the
            append of one before it went is no matter to it.
        only_stable_expire: of members' groups only those that are Stable lose offsets to time.
        list_is_strict: ListGroups compares states letter by letter, and lists what there is while
            another partition is loaded.
        shutdown_unloads: a coordinator that is shut down tells who waits.
    """

    name: str
    group_errors: Mapping[ErrorCode, ErrorCode]
    commit_errors: Mapping[ErrorCode, ErrorCode]
    sync_while_loading: ErrorCode
    active_first: bool
    session_first: bool
    gate_forgets_member: bool
    checks_instances: bool
    turned_away_keeps_pending: bool
    rejoin_sets_timeouts: bool
    delays_grow_always: bool
    removal_ends_delay: bool
    refused_joins_complete: bool
    returned_stay_new: bool
    skips_assignment_since: int
    syncs_expire: bool
    sync_keeps_alive: bool
    sync_compares_known: bool
    leaves_at_once: bool
    loaded_null_instances: bool
    keeps_assignments: bool
    unknown_is_error_since: int
    commit_unknown_since: int
    manual_commits_first: bool
    txn_commits_like_members: bool
    commits_are_prepared: bool
    answers_as_asked: bool
    writes_are_undone: bool
    new_groups_are_written: bool
    writes_markers: bool
    tombstones_end_transactions: bool
    answers_wait: bool
    returned_are_others: bool
    only_stable_expire: bool
    list_is_strict: bool
    shutdown_unloads: bool


NEVER_SINCE = 2**15
"""A version of an API that there will not be."""
