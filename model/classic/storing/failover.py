"""Faults of a coordinator: a moved partition, a crash, a shutdown.

A load restores the state from the log, as far as it was recorded (`records`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.members import refused_join
from groupcheck.model.classic.rules.rebalance import EMPTY_IS_DEAD, prepare_rebalance
from groupcheck.model.classic.rules.session import restart_session
from groupcheck.model.classic.rules.subscription import subscription
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import (
    Configure,
    Group,
    GroupRecord,
    Log,
    Member,
    OffsetsAppend,
    Serving,
    StaticAppend,
)
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.storing.deferred import fail_deferred
from groupcheck.model.classic.storing.new_ids import new_id_answer
from groupcheck.model.engine.rules import Effect, Guard, Table, decide, rule, single, table
from groupcheck.model.vocabulary import ErrorCode, GroupState, SyncGroupResponse

AREA: Final = "failover"


def _lose_memory(step: Step, _subject: object) -> None:
    """Appends in flight are in the log, and never answered; held or failing appends stay so.

    What is loaded is committed.
    """
    step.group, step.appends, step.committed, step.active = None, (), None, True
    step.removed_group_join_ms = None
    if step.serving is not Serving.UNLOADED:
        _load(step)


def _unload(step: Step, _subject: object) -> None:
    """The group is Dead: its parked requests are answered NOT_COORDINATOR.

    Appends of commits in flight are answered as they complete, and so are those of static members
    that rejoined, unless the answers wait; assignments reach no member.

    Source: 2.7 GroupCoordinator.scala:869, GroupMetadataManager.scala:758.
    """
    if ANSWERS_ARE_DEFERRED(step):
        fail_deferred(step, ErrorCode.NOT_COORDINATOR)
    answered = {response.request_id for response in step.responses}
    group, step.group, step.serving, step.committed = step.group, None, Serving.UNLOADED, None
    step.removed_group_join_ms = None
    step.appends = tuple(
        _outliving(a, group) for a in step.appends if isinstance(a, StaticAppend | OffsetsAppend)
    )
    for member in group.members if group else ():
        # Also in a group that got stuck at the end of its join phase (KAFKA-6005): the JoinGroup of
        # its only member is parked although it has an answer, and gets another (0.10.2 GC:513).
        joins = group is not None and group.state is GroupState.PREPARING_REBALANCE
        if joins and member.awaiting_join is not None and member.awaiting_join not in answered:
            answer = refused_join(step, ErrorCode.NOT_COORDINATOR, member.member_id)
            step.answer(member.awaiting_join, answer)
        if member.awaiting_sync is not None and member.awaiting_sync not in answered:
            step.answer(member.awaiting_sync, SyncGroupResponse(ErrorCode.NOT_COORDINATOR))


def _outliving(
    entry: StaticAppend | OffsetsAppend, group: Group | None
) -> StaticAppend | OffsetsAppend:
    """An append after its group is unloaded: the answer that it still owes, if any."""
    if isinstance(entry, OffsetsAppend):
        return entry._replace(after_unload=True)
    member = group.member(entry.member_id) if group and entry.member_id is not None else None
    # While a rebalance is prepared, unloading itself answers the parked JoinGroup.
    if group and member and member.awaiting_join is not None and group.join_timer is None:
        entry = entry._replace(after_unload=(member.awaiting_join, new_id_answer(group, entry)))
    return entry._replace(member_id=None)


def _begin_loading(step: Step, _subject: object) -> None:
    step.serving = Serving.LOADING


def _load_unless_served(step: Step, _subject: object) -> None:
    if step.serving is not Serving.SERVED:
        _load(step)


def _configure(step: Step, given: Configure) -> None:
    if step.serving is not Serving.SERVED:
        same = given.max_size == step.config.group_max_size
        step.max_size = None if same else given.max_size


def _shut_down(step: Step, _subject: object) -> None:
    """Stop all timers. A partition that is served now is loaded after the restart."""
    step.active, step.removed_group_join_ms = False, None


def _unload_at_shutdown(step: Step, _subject: object) -> None:
    if step.group is not None or step.committed is not None:
        serving = step.serving
        decide(step, UNLOAD_NOW, None)
        step.serving = serving


_UNLOAD: Final = Effect(
    "unload the partition: answer every parked request with NOT_COORDINATOR", _unload
)
CRASH: Final = single(
    "Crash",
    AREA,
    "failover/crash",
    "the broker crashes, and its memory and parked requests are lost; the partition is loaded from "
    "the log",
    at("GMM:355", "GMM:406", "GMM:544", "CR:2455"),
    Effect("discard the memory, and load the partition from the log", _lose_memory),
)
UNLOAD_NOW: Final = single(
    "Unload",
    AREA,
    "failover/unload",
    "the partition is unloaded: the group is Dead, and its parked requests fail",
    at("GC:473", "GC:504", "GC:869", "GMM:5971"),
    _UNLOAD,
)
LOADING: Final = single(
    "Loading",
    AREA,
    "failover/loading",
    "the coordinator begins to load the partition",
    at("GMM:363", "GMM:387", "GMM:533", "CR:652"),
    _UNLOAD,
    Effect("begin to load the partition", _begin_loading),
)
LOAD: Final = single(
    "Load",
    AREA,
    "failover/load",
    "the partition is loaded, and the coordinator serves it",
    at("GMM:457", "GMM:397", "GMM:558", "CR:673"),
    Effect("finish loading the partition unless it is served already", _load_unless_served),
)
CONFIGURE: Final = single(
    "Configure",
    AREA,
    "failover/configured",
    "the broker that loads the partition next has another group.max.size",
    at("", "", "GC:1357", "GMM:5940"),
    Effect("change group.max.size unless the partition is served", _configure),
)
STAY: Final = single(
    "The partition does not move",
    AREA,
    "failover/not-active",
    "the coordinator is shut down: the partition does not move",
    at("GMM:612", "GMM:643", "GMM:933", "GCS:2177"),
)
SHUTDOWN: Final = single(
    "Shutdown",
    AREA,
    "failover/shutdown",
    "the coordinator is shut down",
    at("GC:90", "GC:83", "GC:118", "GCS:2262"),
    Effect("stop every timer", _shut_down),
    Effect("unload the partition", _unload_at_shutdown).only(at("", "", "", "GCS:2270")),
)


def move(step: Step, fault: Table) -> None:
    """Move the partition; after a shutdown nothing is scheduled."""
    decide(step, fault if step.active else STAY, None)


def _load(step: Step) -> None:
    """The group as it was last recorded, with its offsets (2.7 GroupMetadataManager.scala:564)."""
    step.serving = Serving.SERVED
    log = step.log or Log()
    if log.emptied and step.choose(Choice.COMPACTION, [True, False]):
        step.log = log = log._replace(emptied=False)
    if EMPTY_IS_DEAD(step) and log.group is None and log.offsets:
        step.group = Group(GroupState.DEAD, offsets=log.offsets)
        return
    decide(step, RESTORE, log)
    decide(step, TOO_LARGE, None)


def _statics(step: Step, members: Iterable[Member]) -> tuple[tuple[str, str], ...]:
    """The member of each group.instance.id: of several, the last one that Kafka reads.

    They are in the order of a hash map (2.7 GroupMetadata.scala:149, 378).
    """
    named: dict[str, list[str]] = {}
    for member in members:
        if member.group_instance_id is not None:
            named.setdefault(member.group_instance_id, []).append(member.member_id)
    return tuple(
        (instance_id, step.choose(Choice.LOADED_INSTANCE, named[instance_id]))
        for instance_id in sorted(named)
    )


def _restore_group(step: Step, log: Log) -> None:
    record = log.group or GroupRecord(0, None, None, None, ())
    group = Group(
        GroupState.STABLE if record.members else GroupState.EMPTY,
        *record[:-1],
        offsets=log.offsets,
        statics=_statics(step, record.members),
        transactions=log.transactions,
        producers=log.producers,
        empty_left_ms=record.empty_left_ms,
    )
    step.group = group._replace(subscribed=subscription(step, group, group.protocol_name))
    for member in record.members:
        restart_session(step, member)


RESTORE: Final = table(
    "Load the group",
    AREA,
    rule(
        "failover/restored",
        "the last record of the group has members, so the group is Stable",
        at("GMM:940", "GMM:1002", "GMM:1417", "GMM:6078"),
        Guard(
            "the last record of the group has members",
            lambda _step, log: log.group is not None and bool(log.group.members),
        ),
        Effect("restore the group, and start the session timers", _restore_group),
    ),
    rule(
        "failover/restored-empty",
        "the last record of the group has no members, or the log has only offsets, so the group is "
        "Empty",
        at("", "GMM:481", "GMM:714", "OMM:1148"),
        Guard(
            "there is a record of the group or of its offsets",
            lambda _step, log: bool(log.group or log.offsets or log.transactions or log.emptied),
        ),
        Effect("restore an Empty group with its offsets", _restore_group),
    ),
)
TOO_LARGE: Final = single(
    "Load a group that is too large",
    AREA,
    "failover/too-large",
    "the loaded group has more members than the broker allows, so a rebalance begins",
    at("", "", "GC:897", "GMM:5940"),
    Guard(
        "the group has more than group.max.size members",
        lambda step, _s: step.group is not None and len(step.members) > step.group_max_size,
    ),
    Effect("prepare a rebalance", lambda step, _s: prepare_rebalance(step)),
)
PARTS: Final = (
    CRASH,
    UNLOAD_NOW,
    LOADING,
    LOAD,
    CONFIGURE,
    STAY,
    SHUTDOWN,
    RESTORE,
    TOO_LARGE,
)
