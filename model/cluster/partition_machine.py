"""The state machine of partitions in a controller: `PartitionStateMachine`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupcheck.model.brokers import NO_LEADER, Partition
from groupcheck.model.cluster.machines import NEWER, NO_NODE, becomes, check_epoch
from groupcheck.model.cluster.sources import PSM, at
from groupcheck.model.cluster.state import PartitionPhase
from groupcheck.model.cluster.step import (
    About,
    Batch,
    ClusterStep,
    add_leader_and_isr,
    does,
    existing,
    send,
    watches,
    when,
    write,
)
from groupcheck.model.engine.rules import Effect, Guard, Table, decide, rule, table

# The phases from which a change is valid; any other change is logged, and nothing happens
# (PartitionStateMachine.scala:552).
PARTITION_BEFORE: Final = {
    PartitionPhase.NEW: (PartitionPhase.NON_EXISTENT,),
    PartitionPhase.ONLINE: (
        PartitionPhase.NEW,
        PartitionPhase.ONLINE,
        PartitionPhase.OFFLINE,
    ),
    PartitionPhase.OFFLINE: (
        PartitionPhase.NEW,
        PartitionPhase.ONLINE,
        PartitionPhase.OFFLINE,
    ),
    PartitionPhase.NON_EXISTENT: (PartitionPhase.OFFLINE,),
}


def _partition_is(*phases: PartitionPhase) -> Guard:
    words = " or ".join(phases)
    guard = when(
        f"the partition is in {words}", lambda s, about: s.topic(about.topic).phase in phases
    )
    return guard._replace(states=frozenset(phases))


def _partition_becomes(phase: PartitionPhase) -> Effect:
    return does(becomes(phase), lambda s, about: s.set_topic(about.topic, phase=phase))


def _live_replicas(step: ClusterStep, topic: int) -> tuple[int, ...]:
    return tuple(each for each in step.topic(topic).assigned if step.is_live(each))


def _create_node(step: ClusterStep, about: About) -> None:
    check_epoch(step)
    live = _live_replicas(step, about.topic)
    created = Partition(live[0], 0, live, step.controller.epoch, 0)
    step.node_at("partitions", about.topic, created)
    step.set_topic(about.topic, leadership=created)
    add_leader_and_isr(step, live, about.topic)


def _cannot_create(step: ClusterStep, about: About) -> bool:
    nodes = step.state.nodes
    return nodes.partitions[about.topic] is not None or not nodes.topics[about.topic]


def leader_for(step: ClusterStep, about: About) -> int:
    """The replica that becomes the leader; `NO_LEADER` if none can."""
    node = existing(step.state.nodes.partitions[about.topic])
    live = _live_replicas(step, about.topic)
    in_sync = [each for each in live if each in node.isr]
    if about.preferred:
        first = step.topic(about.topic).assigned[:1]
        return next((each for each in in_sync if each in first), NO_LEADER)
    if about.reassigned:
        return next(iter(in_sync), NO_LEADER)
    allowed = in_sync or (live if step.settings.unclean else ())
    return next(iter(allowed), NO_LEADER)


def _elect(step: ClusterStep, about: About) -> None:
    node = existing(step.state.nodes.partitions[about.topic])
    leader = leader_for(step, about)
    isr = node.isr
    keeps_isr = about.preferred or about.reassigned
    if not keeps_isr:
        isr = tuple(each for each in isr if step.is_live(each)) if leader in isr else (leader,)
    check_epoch(step)
    write(step, about.topic, leader, isr)
    assigned = step.topic(about.topic).assigned
    receivers = assigned if keeps_isr else _live_replicas(step, about.topic)
    add_leader_and_isr(step, receivers, about.topic)


def _has_unclean_leader(step: ClusterStep, about: About) -> bool:
    node = step.state.nodes.partitions[about.topic]
    leader = leader_for(step, about)
    return node is not None and leader != NO_LEADER and leader not in node.isr


_ELECTABLE: Final = _partition_is(PartitionPhase.OFFLINE, PartitionPhase.ONLINE)
_ONLINE: Final = _partition_becomes(PartitionPhase.ONLINE)
_READ_STATE: Final = watches(PSM, 370)
_WRITE: Final = does(
    "write the node with the next leader epoch; send LeaderAndIsr to the replicas, and "
    "UpdateMetadata to all",
    _elect,
)

PARTITION: Final[dict[PartitionPhase, Table]] = {
    PartitionPhase.NEW: table(
        "NewPartition",
        "partition",
        rule(
            "partition/new",
            "the topic was created",
            at(PSM, 216, 214),
            _partition_is(*PARTITION_BEFORE[PartitionPhase.NEW]),
            _partition_becomes(PartitionPhase.NEW),
        ),
    ),
    PartitionPhase.ONLINE: table(
        "OnlinePartition",
        "partition",
        rule(
            "partition/no-live-replica",
            "no replica is live",
            at(PSM, 286, 282),
            _partition_is(PartitionPhase.NEW),
            when("no replica is live", lambda s, about: not _live_replicas(s, about.topic)),
        ),
        rule(
            "partition/exists",
            "the node of the partition exists, or that of the topic does not",
            at(PSM, 320, 316),
            _partition_is(PartitionPhase.NEW),
            when("the node cannot be created", _cannot_create),
            does("check the controller epoch", lambda s, _: check_epoch(s)),
        ),
        rule(
            "partition/first-leader",
            "the partition is new",
            at(PSM, 294, 290),
            _partition_is(PartitionPhase.NEW),
            does(
                "create the node: the first live replica leads, and all live ones are in sync; "
                "send LeaderAndIsr to them, and UpdateMetadata to all",
                _create_node,
            ),
            _ONLINE,
        ),
        rule(
            "partition/node-is-newer",
            "a later controller has written the node",
            at(PSM, 388, 384),
            _ELECTABLE,
            NEWER,
            _READ_STATE,
        ),
        rule(
            "partition/node-is-gone",
            "the node of the partition does not exist",
            at(PSM, 402, 398),
            _ELECTABLE,
            NO_NODE,
        ),
        rule(
            "partition/no-leader",
            "no replica that can lead is live",
            at(PSM, 428, 424),
            _ELECTABLE,
            when("no replica can lead", lambda s, about: leader_for(s, about) == NO_LEADER),
            _READ_STATE,
        ),
        rule(
            "partition/unclean-leader",
            "no in-sync replica is live, and unclean leader election is enabled",
            at(PSM, 525, 514),
            _ELECTABLE,
            when("no in-sync replica can lead", _has_unclean_leader),
            _READ_STATE,
            _WRITE,
            _ONLINE,
        ),
        rule(
            "partition/leader",
            "an in-sync replica is live",
            at(PSM, 435, 431),
            _ELECTABLE,
            _READ_STATE,
            _WRITE,
            _ONLINE,
        ),
    ),
    PartitionPhase.OFFLINE: table(
        "OfflinePartition",
        "partition",
        rule(
            "partition/offline",
            "its leader is not live, or its topic is to be deleted",
            at(PSM, 255, 253),
            _partition_is(*PARTITION_BEFORE[PartitionPhase.OFFLINE]),
            _partition_becomes(PartitionPhase.OFFLINE),
        ),
    ),
    PartitionPhase.NON_EXISTENT: table(
        "NonExistentPartition",
        "partition",
        rule(
            "partition/non-existent",
            "its topic is to be deleted",
            at(PSM, 262, 259),
            _partition_is(*PARTITION_BEFORE[PartitionPhase.NON_EXISTENT]),
            _partition_becomes(PartitionPhase.NON_EXISTENT),
        ),
    ),
}


def move_partitions(
    step: ClusterStep, topics: Iterable[int], target: PartitionPhase, **strategy: bool
) -> None:
    """Move the partitions of topics to a phase, and send the requests.

    Args:
        step: of the controller.
        topics: the numbers of the topics.
        target: the phase.
        strategy: `preferred` or `reassigned`, as `About` has them.

    Raises:
        MovedError: another controller has been elected since.
    """
    step.batch = Batch()
    # New partitions get their first leader before others get another one.
    for topic in sorted(topics, key=lambda each: (step.topic(each).phase != "NewPartition", each)):
        decide(step, PARTITION[target], About(topic, **strategy))
    send(step)


def elect_offline(step: ClusterStep) -> None:
    """Elect a leader for new and offline partitions: `triggerOnlinePartitionStateChange`."""
    phases = (PartitionPhase.NEW, PartitionPhase.OFFLINE)
    topics = step.topics_where(lambda topic: topic.phase in phases and not topic.queued)
    move_partitions(step, topics, PartitionPhase.ONLINE)


PARTS: Final = tuple(PARTITION.values())
