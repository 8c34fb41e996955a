"""Safety of what is recorded: the log, and a group that is lost and loaded from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.rules.retention import ageless
from groupcheck.model.state import (
    Crash,
    Load,
    Loading,
    Log,
    Member,
    OffsetsAppend,
    Serving,
    Shutdown,
    StaticAppend,
    Unload,
)
from groupcheck.model.storing.committed import ANSWERS_WAIT
from groupcheck.model.vocabulary import (
    DeleteGroupsResponse,
    EndTxnRequest,
    ErrorCode,
    GroupState,
    OffsetCommitResponse,
    Request,
    ResponseBody,
    TxnOffsetCommitResponse,
)
from groupcheck.properties.temporal.step import (
    CheckedStep,
    Property,
    answered_if_lost,
    outlived,
    waiting,
)

# What happens to a coordinator, and is nothing that the group does.
# What ends a join phase; the last one does so half-way, which still raises the generation.
ENDS: Final = ("rebalance/complete", "rebalance/complete-empty", "rebalance/no-protocol")
MOVES: Final = (Crash, Unload, Loading, Load, Shutdown)


def _log(step: CheckedStep) -> Log:
    return step.before.log or Log()


def _is_loaded(step: CheckedStep) -> bool:
    """Whether the step ends with a group that has just been loaded."""
    served = step.after.serving is Serving.SERVED
    crashed = isinstance(step.given, Crash)
    return served and (crashed or step.before.serving is not Serving.SERVED)


def _takes_a_commit(step: CheckedStep) -> bool:
    """Whether an answer says that offsets are stored."""
    return any(
        partition.error_code is ErrorCode.NONE
        for response in step.responses
        if isinstance(response.body, OffsetCommitResponse)
        for topic in response.body.topics
        for partition in topic.partitions
    )


def _acknowledged_survive(step: CheckedStep) -> bool:
    """What is acknowledged, or can be fetched, is recorded, and is there again after a load."""
    if step.after.log is None:
        return True
    recorded = step.after.log.offsets
    if _takes_a_commit(step) and not recorded:
        return False
    if _is_loaded(step):
        return step.new.offsets == recorded
    return {partition for partition, _ in step.new.offsets} <= {p for p, _ in recorded}


def _restored_as_recorded(step: CheckedStep) -> bool:
    """State, protocol, leader, and the members with what they offer and were assigned."""
    if not _is_loaded(step):
        return True
    group, record = step.new, _log(step).group
    if record is None:
        return not group.members
    state = GroupState.STABLE if record.members else GroupState.EMPTY
    said = (state, record.protocol_type, record.protocol_name, record.leader)
    shown = (group.state, group.protocol_type, group.protocol_name, group.leader)
    return said == shown and _lasting(group.members) == _lasting(record.members)


def _lasting(members: tuple[Member, ...]) -> list[tuple[object, ...]]:
    return [(m.member_id, m.protocols, m.assignment, m.session_timeout_ms) for m in members]


def _sessions_begin_anew(step: CheckedStep) -> bool:
    return not _is_loaded(step) or all(
        m.session_left_ms == m.session_timeout_ms for m in step.new.members
    )


def _generation_is_recorded(step: CheckedStep) -> bool:
    """A group that is loaded has the recorded generation, and 0 if none is recorded."""
    record = _log(step).group
    recorded = record.generation_id if record else 0
    return not _is_loaded(step) or step.new.generation_id == recorded


def _failed_leave_nothing(step: CheckedStep) -> bool:
    """The step in which an append fails records nothing, nor does the group take it over."""
    if step.before.failing is None or step.after.failing is not None:
        return True
    stabilised = step.new.state is GroupState.STABLE is not step.old.state
    news = {*ageless(step.new).offsets} - {*ageless(step.old).offsets}
    recorded = ageless(step.after.log or Log()) != ageless(_log(step))
    return not (news or recorded or stabilised)


def _lost_are_told(step: CheckedStep) -> bool:
    """Who waits in a group that is unloaded is sent elsewhere; after a crash nobody is told.

    A commit on its way to the log waits on through an unload, and so does a static member whose
    new id is. Where it is the answers that wait, they all become errors, and so are those told who
    were given up.
    """
    if not isinstance(step.given, MOVES):
        return True
    before = waiting(step.before)
    kept = {e.request_id for e in step.before.appends if isinstance(e, OffsetsAppend)}
    kept |= _returning(step)
    stuck = step.old.state is GroupState.PREPARING_REBALANCE and step.old.join_timer is None
    unloaded = not isinstance(step.given, Crash) and step.after.group is None
    lost = before if isinstance(step.given, Crash) else before - kept if unloaded else set()
    told = lost if unloaded and not stuck else set()
    given_up = answered_if_lost(step.before) if unloaded else set()
    errors = {error for response in step.responses for error in _errors(response.body)}
    return (
        told <= {response.request_id for response in step.responses} <= told | given_up
        and errors <= ELSEWHERE
        and waiting(step.after) == before - lost
    )


def _returning(step: CheckedStep) -> set[int]:
    """The JoinGroups of static members that wait for the log alone, and not for others to join."""
    entries = [e for e in step.before.appends if isinstance(e, StaticAppend)]
    members = (step.old.member(e.member_id) for e in entries if e.member_id is not None)
    joins = {m.awaiting_join for m in members if m is not None and m.awaiting_join is not None}
    answers_wait = ANSWERS_WAIT.holds_in(step.profile.version)
    return outlived(step.before) | (
        set() if answers_wait or step.old.join_timer is not None else joins
    )


# Of a marker that this is not the group's coordinator is told in other words.
ELSEWHERE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER})


def _errors(body: ResponseBody) -> set[ErrorCode]:
    """What an answer says is wrong, of the whole or of each partition or group."""
    if isinstance(body, OffsetCommitResponse | TxnOffsetCommitResponse):
        return {partition.error_code for topic in body.topics for partition in topic.partitions}
    if isinstance(body, DeleteGroupsResponse):
        return {result.error_code for result in body.results}
    return {getattr(body, "error_code", ErrorCode.NONE)}


def _refused_elsewhere(step: CheckedStep) -> bool:
    """Who does not serve the group leaves it alone, and takes no commit.

    A transaction's marker is in the log, whoever coordinates the group.
    """
    served = step.before.serving is Serving.SERVED and step.before.active
    if served or not isinstance(step.given, Request):
        return True
    before = step.before
    if isinstance(step.given.body, EndTxnRequest):
        before = before._replace(log=step.after.log)
    return before == step.after and not _takes_a_commit(step)


def _dead_is_final(step: CheckedStep) -> bool:
    """Of a group that is gone nothing comes back but its offsets, unless it is loaded."""
    before, after = step.before.group, step.after.group
    there = before is not None and before.state is not GroupState.DEAD
    if there or after is None or isinstance(step.given, MOVES):
        return True
    completed = sum(rule in ENDS for rule in step.fired)
    return not step.old.members and after.generation_id == completed


LOG_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "offsets-durable",
        "an offset that was acknowledged, or can be fetched, is in the log, and those in the log "
        "are the group's whenever it is loaded",
        "GroupMetadataManager.scala:733",
    ): _acknowledged_survive,
    Property(
        "restored-as-recorded",
        "a group that is loaded has the state, protocol, leader and members of its last record, "
        "and nothing of what was not recorded",
        "GroupMetadata.scala:129",
    ): _restored_as_recorded,
    Property(
        "restored-sessions",
        "the session of every member that is loaded begins anew",
        "GroupCoordinator.scala:901",
    ): _sessions_begin_anew,
    Property(
        "restored-generation",
        "a group that is loaded has the generation of its last record, 0 without one, and no other",
        "GroupMetadata.scala:139",
    ): _generation_is_recorded,
    Property(
        "failed-append-without-effect",
        "an append that fails leaves nothing in the log, makes no offset readable and no group "
        "Stable",
        "GroupCoordinator.scala:428",
    ): _failed_leave_nothing,
    Property(
        "unload-answers-requests",
        "who waits in a group that is unloaded is told NOT_COORDINATOR, but for commits and static "
        "members that came back, who are answered as their appends complete, unless it is the "
        "answers that wait; who waits when a coordinator crashes is never answered",
        "GroupCoordinator.scala:869",
    ): _lost_are_told,
    Property(
        "unavailable-changes-nothing",
        "a coordinator that is shut down, loading or not the group's changes nothing of it and "
        "takes no commit; the markers of transactions are in the log nevertheless",
        "GroupCoordinator.scala:856",
    ): _refused_elsewhere,
    Property(
        "dead-is-final",
        "a group that is Dead or gone has no members, and whoever comes next finds a new one, "
        "without a generation",
        "GroupCoordinator.scala:180",
    ): _dead_is_final,
}
