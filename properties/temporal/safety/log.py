"""Properties of the log, and of a group that is lost and loaded from it."""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.rules.retention import ageless
from groupcheck.model.classic.state import Crash, Log, Member, OffsetsAppend, Serving, StaticAppend
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.storing.records import LATE_ERRORS, LATE_ERRORS_ARE_APPENDED
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    GroupState,
    OffsetCommitResponse,
    Request,
)
from groupcheck.properties.temporal.property import action_property
from groupcheck.properties.temporal.safety.rebalances import ENDS
from groupcheck.properties.temporal.step import (
    FAILOVER,
    CheckedStep,
    answered_if_lost,
    error_codes,
    orphaned_joins,
    waiting,
)

# The answers of a coordinator that has lost the partition, the second to transaction markers.
NOT_HERE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER})


def _log(step: CheckedStep) -> Log:
    return step.before.log or Log()


def _is_loaded(step: CheckedStep) -> bool:
    """Whether the group has just been loaded at the end of the step."""
    served = step.after.serving is Serving.SERVED
    crashed = isinstance(step.given, Crash)
    return served and (crashed or step.before.serving is not Serving.SERVED)


def _acknowledges_commit(step: CheckedStep) -> bool:
    return any(
        isinstance(response.body, OffsetCommitResponse)
        and ErrorCode.NONE in error_codes(response.body)
        for response in step.responses
    )


@action_property("offsets-durable", "GroupMetadataManager.scala:733", on_failover=True)
def _offsets_durable(step: CheckedStep) -> bool:
    """An offset that was acknowledged or can be fetched is in the log.

    Loading the group restores the offsets of the log.
    """
    if step.after.log is None:
        return True
    recorded = step.after.log.offsets
    if _acknowledges_commit(step) and not recorded:
        return False
    if _is_loaded(step):
        return step.new.offsets == recorded
    return {partition for partition, _ in step.new.offsets} <= {p for p, _ in recorded}


@action_property("restored-as-recorded", "GroupMetadata.scala:129", on_failover=True)
def _restored_as_recorded(step: CheckedStep) -> bool:
    """A loaded group has exactly the state, protocol, leader and members of its last record.

    A group with more members than group.max.size rebalances instead.
    """
    if not _is_loaded(step) or _is_too_large(step):
        return True
    group, record = step.new, _log(step).group
    if record is None:
        return not group.members
    state = GroupState.STABLE if record.members else GroupState.EMPTY
    expected = (state, record.protocol_type, record.protocol_name, record.leader)
    restored = (group.state, group.protocol_type, group.protocol_name, group.leader)
    return restored == expected and _recorded(group.members) == _recorded(record.members)


def _is_too_large(step: CheckedStep) -> bool:
    """Whether the log has more members of the group than group.max.size."""
    record = _log(step).group
    return record is not None and len(record.members) > step.group_max_size


def _recorded(members: tuple[Member, ...]) -> list[tuple[object, ...]]:
    """What a record has of the members."""
    return [(m.member_id, m.protocols, m.assignment, m.session_timeout_ms) for m in members]


@action_property("restored-sessions", "GroupCoordinator.scala:901", on_failover=True)
def _restored_sessions(step: CheckedStep) -> bool:
    """Loading a group restarts the session of every member."""
    return not _is_loaded(step) or all(
        m.session_left_ms == m.session_timeout_ms for m in step.new.members
    )


@action_property("restored-generation", "GroupMetadata.scala:139", on_failover=True)
def _restored_generation(step: CheckedStep) -> bool:
    """A loaded group has the generation of its last record, or 0 without a record."""
    record = _log(step).group
    recorded = record.generation_id if record else 0
    return not _is_loaded(step) or step.new.generation_id == recorded


@action_property("failed-append-without-effect", "GroupCoordinator.scala:428", on_failover=True)
def _failed_append_without_effect(step: CheckedStep) -> bool:
    """A failed append makes no offset readable and no group Stable, and writes nothing to the log.

    Only an error that comes after the leader's append leaves the record in the log.
    """
    failing = step.before.failing
    if failing is None or step.after.failing is not None:
        return True
    stabilised = step.new.state is GroupState.STABLE is not step.old.state
    readable = {*ageless(step.new).offsets} - {*ageless(step.old).offsets}
    recorded = ageless(step.after.log or Log()) != ageless(_log(step))
    written = LATE_ERRORS_ARE_APPENDED.holds_in(step.profile.version)
    late = written and failing.error in LATE_ERRORS
    return not (readable or (recorded and not late) or stabilised)


@action_property(
    "unload-answers-requests", "GroupCoordinator.scala:869", *FAILOVER, on_failover=True
)
def _unload_answers_requests(step: CheckedStep) -> bool:
    """Unloading a group answers its parked requests with NOT_COORDINATOR.

    Commits and rejoining static members whose appends are pending are answered when these complete,
    except where the version holds responses. A crash answers no request.
    """
    before = waiting(step.before)
    crashed = isinstance(step.given, Crash)
    unloaded = not crashed and step.after.group is None
    lost = before if crashed else before - _pending_appends(step) if unloaded else set()
    expected = lost if unloaded else set()
    allowed = expected | (answered_if_lost(step.before) if unloaded else set())
    errors = {error for response in step.responses for error in error_codes(response.body)}
    return (
        expected <= {response.request_id for response in step.responses} <= allowed
        and errors <= NOT_HERE
        and waiting(step.after) == before - lost
    )


def _pending_appends(step: CheckedStep) -> set[int]:
    """The commits that wait for the log, and the JoinGroups of static members that rejoin."""
    commits = {e.request_id for e in step.before.appends if isinstance(e, OffsetsAppend)}
    kept = commits | orphaned_joins(step.before)
    if ANSWERS_ARE_DEFERRED.holds_in(step.profile.version) or step.old.join_timer is not None:
        return kept
    entries = [e for e in step.before.appends if isinstance(e, StaticAppend)]
    members = (step.old.member(e.member_id) for e in entries if e.member_id is not None)
    joins = {m.awaiting_join for m in members if m is not None and m.awaiting_join is not None}
    return kept | joins


@action_property("size-on-load", "KIP-389", on_failover=True)
def _size_on_load(step: CheckedStep) -> bool:
    """A load begins a rebalance if and only if the group has more than group.max.size members."""
    recorded = _log(step).group
    if recorded is None or not _is_loaded(step):
        return True
    raised = step.new.generation_id != recorded.generation_id
    began = raised or step.new.state is GroupState.PREPARING_REBALANCE
    return began == _is_too_large(step)


@action_property(
    "unavailable-changes-nothing", "GroupCoordinator.scala:856", Request, on_failover=True
)
def _unavailable_changes_nothing(step: CheckedStep) -> bool:
    """A coordinator that does not serve the group changes nothing and accepts no commit.

    It is shut down or loading, or the group belongs to another one. Transaction markers are in the
    log nevertheless.
    """
    served = step.before.serving is Serving.SERVED and step.before.active
    if served:
        return True
    before = step.before
    if isinstance(step.body, EndTxnRequest):
        before = before._replace(log=step.after.log)
    return before == step.after and not _acknowledges_commit(step)


@action_property("dead-is-final", "GroupCoordinator.scala:180", on_failover=True)
def _dead_is_final(step: CheckedStep) -> bool:
    """A group that is Dead or was removed has no members.

    The next member creates a new group, without a generation.
    """
    before, after = step.before.group, step.after.group
    exists = before is not None and before.state is not GroupState.DEAD
    if exists or after is None or isinstance(step.given, FAILOVER):
        return True
    completed = sum(rule in ENDS for rule in step.applied)
    return not step.old.members and after.generation_id == completed
