"""What happens to a coordinator: its partition moves, its process dies, it is shut down.

Whatever is lost in memory is found in the log, if it was recorded (`records`).
"""

from __future__ import annotations

from groupcheck.model.rules.rebalance import subscription
from groupcheck.model.rules.session import rearm_session
from groupcheck.model.state import (
    Group,
    Log,
    OffsetsAppend,
    Serving,
    StaticAppend,
)
from groupcheck.model.step import Rule, Step, gc, gmm
from groupcheck.model.storing.log import told_new_id
from groupcheck.model.storing.waiting import lose
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    SyncGroupResponse,
)

CRASH = Rule(
    "failover/crash",
    "memory is lost, and with it who waited; what was served is loaded from the log",
    gmm(544),
)
UNLOAD = Rule(
    "failover/unload", "the partition is lost: the group is Dead, and who waits is told", gc(869)
)
LOADING = Rule("failover/loading", "the partition begins to be loaded", gmm(533))
LOAD = Rule("failover/load", "the partition has been loaded, and is served", gmm(558))
SHUTDOWN = Rule("failover/shutdown", "the coordinator is shut down", gc(118))
RESTORED = Rule(
    "failover/restored", "the last record has members, so the group is Stable again", gmm(1417)
)
RESTORED_EMPTY = Rule(
    "failover/restored-empty", "the last record has no members, or there are only offsets", gmm(714)
)
RULES = (CRASH, UNLOAD, LOADING, LOAD, SHUTDOWN, RESTORED, RESTORED_EMPTY)


def crash(step: Step) -> None:
    """Memory is lost; appends that are on their way are in the log, and answered never.

    What holds appends back, or makes them fail, is no part of the memory. What is loaded is
    committed.
    """
    step.fire(CRASH)
    step.group, step.appends, step.committed, step.active = None, (), None, True
    if step.serving is not Serving.UNLOADED:
        _load(step)


def unload(step: Step) -> None:
    """The partition is lost (GroupMetadataManager.scala:758)."""
    if _may(step):
        step.fire(UNLOAD)
        _unload(step)


def loading(step: Step) -> None:
    """The partition is being loaded from now on (GroupMetadataManager.scala:533)."""
    if _may(step):
        step.fire(LOADING)
        _unload(step)
        step.serving = Serving.LOADING


def load(step: Step) -> None:
    """The partition has been loaded; to load what is served changes nothing."""
    if _may(step):
        step.fire(LOAD)
        if step.serving is not Serving.SERVED:
            _load(step)


def shutdown(step: Step) -> None:
    """The coordinator is shut down: no timer of it fires any more.

    What it served will be loaded when it comes back, even if it is unloaded now.
    """
    step.fire(SHUTDOWN)
    step.active = False
    keeps_any = step.group is not None or step.committed is not None
    if step.profile.traits.shutdown_unloads and keeps_any:
        serving = step.serving
        step.fire(UNLOAD)
        _unload(step)
        step.serving = serving


def _may(step: Step) -> bool:
    """Whether the partition can move: after a shutdown nothing is scheduled any more."""
    return step.active


def _unload(step: Step) -> None:
    """The group is Dead: who waits for it is told to look elsewhere (GroupCoordinator.scala:869).

    Commits on their way to the log are answered as they complete, and so are static members that
    came back and wait for the log, unless it is the answers that wait; assignments reach nobody.
    """
    if step.profile.traits.answers_wait:
        lose(step, ErrorCode.NOT_COORDINATOR)
    told = {response.request_id for response in step.responses}
    group, step.group, step.serving, step.committed = step.group, None, Serving.UNLOADED, None
    step.appends = tuple(
        _outliving(a, group) for a in step.appends if isinstance(a, StaticAppend | OffsetsAppend)
    )
    for member in group.members if group else ():
        # Of a group that got stuck at the end of its join phase everybody has been told.
        joins = group is not None and group.join_timer is not None
        if joins and member.awaiting_join is not None and member.awaiting_join not in told:
            generation_id = step.profile.traits.refused_generation_id
            answer = JoinGroupResponse(
                ErrorCode.NOT_COORDINATOR, generation_id, member_id=member.member_id
            )
            step.answer(member.awaiting_join, answer)
        if member.awaiting_sync is not None and member.awaiting_sync not in told:
            step.answer(member.awaiting_sync, SyncGroupResponse(ErrorCode.NOT_COORDINATOR))


def _outliving(
    entry: StaticAppend | OffsetsAppend, group: Group | None
) -> StaticAppend | OffsetsAppend:
    """What is left of an append once its group is unloaded: the answer, if one is still due."""
    if isinstance(entry, OffsetsAppend):
        return entry._replace(outlived=True)
    member = group.member(entry.member_id) if group and entry.member_id is not None else None
    # While a rebalance is prepared who waits is told by the unloading itself.
    if group and member and member.awaiting_join is not None and group.join_timer is None:
        entry = entry._replace(outlived=(member.awaiting_join, told_new_id(group, entry)))
    return entry._replace(member_id=None)


def _offsets_alone(step: Step, log: Log) -> Group:
    """What there is of a group that was never recorded, or was removed."""
    if step.profile.traits.empty_dies:
        return Group(GroupState.DEAD, offsets=log.offsets)
    step.fire(RESTORED_EMPTY)
    return Group(offsets=log.offsets, transactions=log.transactions, producers=log.producers)


def _load(step: Step) -> None:
    """The group as it was last recorded, with the offsets (GroupMetadataManager.scala:564)."""
    step.serving = Serving.SERVED
    log = step.log or Log()
    record = log.group
    if record is None:
        if log.offsets or log.transactions:
            step.group = _offsets_alone(step, log)
        return
    statics = {m.group_instance_id: m.member_id for m in record.members if m.group_instance_id}
    step.fire(RESTORED if record.members else RESTORED_EMPTY)
    group = Group(
        GroupState.STABLE if record.members else GroupState.EMPTY,
        *record[:-1],
        offsets=log.offsets,
        statics=tuple(sorted(statics.items())),
        transactions=log.transactions,
        producers=log.producers,
        empty_left_ms=record.empty_left_ms,
    )
    step.group = group._replace(subscribed=subscription(step, group, group.protocol_name))
    for member in record.members:
        rearm_session(step, member)
