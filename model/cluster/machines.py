"""The state machines of partitions and replicas in a controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from groupcheck.model.brokers import NO_LEADER, Partition
from groupcheck.model.cluster.sources import PSM, RSM, ZK, at
from groupcheck.model.cluster.state import PartitionPhase, ReplicaPhase, Session
from groupcheck.model.cluster.step import (
    About,
    Batch,
    ClusterStep,
    EventFailedError,
    MovedError,
    add_leader_and_isr,
    add_metadata,
    add_stop,
    does,
    existing,
    replaced,
    send,
    watches,
    when,
    write,
)
from groupcheck.model.engine.rules import Effect, Guard, Table, decide, rule, single, table

P = TypeVar("P", ReplicaPhase, PartitionPhase)

# The phases from which a change is valid; any other change is logged, and nothing happens.
# ReplicaStateMachine.scala:453 and PartitionStateMachine.scala:552.
REPLICA_BEFORE: Final = {
    ReplicaPhase.NEW: (ReplicaPhase.NON_EXISTENT,),
    ReplicaPhase.ONLINE: (
        ReplicaPhase.NEW,
        ReplicaPhase.ONLINE,
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_INELIGIBLE,
    ),
    ReplicaPhase.OFFLINE: (
        ReplicaPhase.NEW,
        ReplicaPhase.ONLINE,
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_INELIGIBLE,
    ),
    ReplicaPhase.DELETION_STARTED: (ReplicaPhase.OFFLINE,),
    ReplicaPhase.DELETION_SUCCESSFUL: (ReplicaPhase.DELETION_STARTED,),
    ReplicaPhase.DELETION_INELIGIBLE: (ReplicaPhase.OFFLINE, ReplicaPhase.DELETION_STARTED),
    ReplicaPhase.NON_EXISTENT: (ReplicaPhase.DELETION_SUCCESSFUL,),
}
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


def _moved(_step: ClusterStep, _subject: object) -> None:
    raise MovedError


FENCED: Final = single(
    "write",
    "controller",
    "write/fenced",
    "another controller has raised /controller_epoch since",
    at(ZK, 1906, 1883),
    when(
        "/controller_epoch has another version than it expects",
        lambda s, _: s.state.nodes.controller_epoch != s.controller.epoch,
    ),
    does("throw ControllerMovedException", _moved),
)


def check_epoch(step: ClusterStep) -> None:
    """What every write of a controller checks first.

    Raises:
        MovedError: another controller has been elected since.
        EventFailedError: ZooKeeper has ended the session of the controller:
            SessionExpiredException.
    """
    if step.me.session != Session.LIVE:
        raise EventFailedError
    decide(step, FENCED, None)


# Replicas


def replica_phase(step: ClusterStep, about: About) -> ReplicaPhase:
    """The phase of a replica."""
    return step.topic(about.topic).replicas[about.broker - 1]


def _set_phase(step: ClusterStep, about: About, phase: ReplicaPhase) -> None:
    replicas = step.topic(about.topic).replicas
    step.set_topic(about.topic, replicas=replaced(replicas, about.broker - 1, phase))


def _is(*phases: ReplicaPhase) -> Guard:
    words = " or ".join(phases)
    guard = when(f"the replica is in {words}", lambda s, about: replica_phase(s, about) in phases)
    return guard._replace(states=frozenset(phases))


def _becomes_words(phase: ReplicaPhase | PartitionPhase) -> str:
    return f"it becomes {phase}"


def _becomes(phase: ReplicaPhase) -> Effect:
    return does(_becomes_words(phase), lambda s, about: _set_phase(s, about, phase))


def _valid(target: ReplicaPhase) -> Guard:
    return _is(*REPLICA_BEFORE[target])


HAS_LEADERSHIP: Final = when(
    "the controller knows a leader and an ISR",
    lambda s, about: s.topic(about.topic).leadership is not None,
)


def _is_in_isr(step: ClusterStep, about: About) -> bool:
    node = step.state.nodes.partitions[about.topic]
    return node is not None and about.broker in node.isr


def _copy(step: ClusterStep, about: About) -> None:
    node = existing(step.state.nodes.partitions[about.topic])
    copied = node._replace(controller_epoch=step.controller.epoch)
    step.set_topic(about.topic, leadership=copied)


def _remove_from_isr(step: ClusterStep, about: About) -> None:
    node = existing(step.state.nodes.partitions[about.topic])
    left = tuple(each for each in node.isr if each != about.broker)
    leader = NO_LEADER if node.leader == about.broker else node.leader
    check_epoch(step)
    write(step, about.topic, leader, left or node.isr)


def _tell_others(step: ClusterStep, about: About) -> None:
    topic = step.topic(about.topic)
    if not topic.queued:
        add_leader_and_isr(step, (b for b in topic.assigned if b != about.broker), about.topic)


def _forget(step: ClusterStep, about: About) -> None:
    topic = step.topic(about.topic)
    for field in ("assigned", "adding", "removing"):
        left = tuple(each for each in getattr(topic, field) if each != about.broker)
        step.set_topic(about.topic, **{field: left})


STOP: Final = does(
    "send StopReplica", lambda s, about: add_stop(s, about.broker, about.topic, delete=False)
)
TELL_IT: Final = does(
    "send LeaderAndIsr to it, and UpdateMetadata to all",
    lambda s, about: add_leader_and_isr(s, [about.broker], about.topic),
)
TELL_OTHERS: Final = does(
    "send LeaderAndIsr to the other replicas, and UpdateMetadata to all, unless the topic is to be "
    "deleted",
    _tell_others,
)
_NEWER: Final = when(
    "a later controller has written the node",
    lambda s, about: (
        (node := s.state.nodes.partitions[about.topic]) is not None
        and node.controller_epoch > s.controller.epoch
    ),
)
_NO_NODE: Final = when(
    "the node of the partition does not exist",
    lambda s, about: s.state.nodes.partitions[about.topic] is None,
)
_READ: Final = watches(RSM, 380)

REPLICA: Final[dict[ReplicaPhase, Table]] = {
    ReplicaPhase.NEW: table(
        "NewReplica",
        "replica",
        rule(
            "replica/new",
            "the partition is new",
            at(RSM, 190, 185),
            _valid(ReplicaPhase.NEW),
            when(
                "the controller knows no leader",
                lambda s, about: s.topic(about.topic).leadership is None,
            ),
            _becomes(ReplicaPhase.NEW),
        ),
        rule(
            "replica/added",
            "a reassignment adds the replica",
            at(RSM, 178, 174),
            _valid(ReplicaPhase.NEW),
            when(
                "it is not the leader",
                lambda s, about: existing(s.topic(about.topic).leadership).leader != about.broker,
            ),
            TELL_IT,
            _becomes(ReplicaPhase.NEW),
        ),
    ),
    ReplicaPhase.ONLINE: table(
        "OnlineReplica",
        "replica",
        rule(
            "replica/started",
            "the replica is new",
            at(RSM, 199, 194),
            _is(ReplicaPhase.NEW),
            _becomes(ReplicaPhase.ONLINE),
        ),
        rule(
            "replica/online",
            "its broker is live",
            at(RSM, 206, 199),
            _valid(ReplicaPhase.ONLINE),
            HAS_LEADERSHIP,
            TELL_IT,
            _becomes(ReplicaPhase.ONLINE),
        ),
        rule(
            "replica/without-leader",
            "its broker is live, and the partition has no leader yet",
            at(RSM, 212, 205),
            _valid(ReplicaPhase.ONLINE),
            _becomes(ReplicaPhase.ONLINE),
        ),
    ),
    ReplicaPhase.OFFLINE: table(
        "OfflineReplica",
        "replica",
        rule(
            "replica/offline-without-leader",
            "the partition has no leader yet",
            at(RSM, 245, 235),
            _valid(ReplicaPhase.OFFLINE),
            when(
                "the controller knows no leader",
                lambda s, about: s.topic(about.topic).leadership is None,
            ),
            STOP,
            does(
                "send UpdateMetadata to all",
                lambda s, about: add_metadata(s, s.live(), [about.topic]),
            ),
            _becomes(ReplicaPhase.OFFLINE),
        ),
        rule(
            "replica/session-ended",
            "ZooKeeper has ended the session of the controller, which cannot read the node",
            at(RSM, 427, 411),
            _valid(ReplicaPhase.OFFLINE),
            when("its session has ended", lambda s, _: s.me.session != Session.LIVE),
            STOP,
        ),
        rule(
            "replica/node-is-newer",
            "a later controller has written the node",
            at(RSM, 412, 396),
            _valid(ReplicaPhase.OFFLINE),
            _NEWER,
            STOP,
            _READ,
        ),
        rule(
            "replica/node-is-gone",
            "the node of the partition does not exist",
            at(RSM, 354, 339),
            _valid(ReplicaPhase.OFFLINE),
            _NO_NODE,
            STOP,
        ),
        rule(
            "replica/leaves-isr",
            "the replica is in the ISR",
            at(RSM, 342, 324),
            _valid(ReplicaPhase.OFFLINE),
            when("it is in the ISR of the node", _is_in_isr),
            STOP,
            _READ,
            does(
                "write the node with the next leader epoch: without the replica in the ISR, unless "
                "it is the only one, and without a leader if it was the leader",
                _remove_from_isr,
            ),
            TELL_OTHERS,
            _becomes(ReplicaPhase.OFFLINE),
        ),
        rule(
            "replica/offline",
            "the replica is not in the ISR",
            at(RSM, 364, 349),
            _valid(ReplicaPhase.OFFLINE),
            STOP,
            _READ,
            does("copy the node", _copy),
            TELL_OTHERS,
            _becomes(ReplicaPhase.OFFLINE),
        ),
    ),
    ReplicaPhase.DELETION_STARTED: table(
        "ReplicaDeletionStarted",
        "replica",
        rule(
            "replica/deletion-started",
            "the replica is to be deleted",
            at(RSM, 251, 240),
            _valid(ReplicaPhase.DELETION_STARTED),
            _becomes(ReplicaPhase.DELETION_STARTED),
            does(
                "send StopReplica that deletes it",
                lambda s, about: add_stop(s, about.broker, about.topic, delete=True),
            ),
        ),
    ),
    ReplicaPhase.DELETION_SUCCESSFUL: table(
        "ReplicaDeletionSuccessful",
        "replica",
        rule(
            "replica/deleted",
            "its broker has deleted the replica",
            at(RSM, 266, 253),
            _valid(ReplicaPhase.DELETION_SUCCESSFUL),
            _becomes(ReplicaPhase.DELETION_SUCCESSFUL),
        ),
    ),
    ReplicaPhase.DELETION_INELIGIBLE: table(
        "ReplicaDeletionIneligible",
        "replica",
        rule(
            "replica/ineligible",
            "the replica cannot be deleted now",
            at(RSM, 259, 247),
            _valid(ReplicaPhase.DELETION_INELIGIBLE),
            _becomes(ReplicaPhase.DELETION_INELIGIBLE),
        ),
    ),
    ReplicaPhase.NON_EXISTENT: table(
        "NonExistentReplica",
        "replica",
        rule(
            "replica/forgotten",
            "the replica is deleted",
            at(RSM, 273, 259),
            _valid(ReplicaPhase.NON_EXISTENT),
            does("remove it from the assignment that the controller knows", _forget),
            _becomes(ReplicaPhase.NON_EXISTENT),
        ),
    ),
}


def _throw(_step: ClusterStep, _subject: object) -> None:
    """IllegalStateException, which the state machine logs."""


STUCK: Final = single(
    "replica-batch",
    "replica",
    "replica/stuck",
    "a fenced write has left requests in the batch, and nothing has removed them since",
    at(RSM, 110, 109),
    when("requests are left in the batch", lambda s, _: s.me.stuck),
    does("throw IllegalStateException, which is logged: no replica changes its phase", _throw),
)


def move_replicas(
    step: ClusterStep, replicas: Iterable[tuple[int, int]], target: ReplicaPhase
) -> None:
    """Move replicas, pairs of topic and broker, to a phase, and send the requests.

    Raises:
        MovedError: another controller has been elected since.
    """
    ordered = sorted((broker, topic) for topic, broker in replicas)
    if not ordered or decide(step, STUCK, None) is not None:
        return
    step.batch = Batch()
    try:
        for broker, topic in ordered:
            decide(step, REPLICA[target], About(topic, broker))
    except MovedError:
        step.become(stuck=True)
        raise
    send(step)


# Partitions


def _partition_is(*phases: PartitionPhase) -> Guard:
    words = " or ".join(phases)
    guard = when(
        f"the partition is in {words}", lambda s, about: s.topic(about.topic).phase in phases
    )
    return guard._replace(states=frozenset(phases))


def _partition_becomes(phase: PartitionPhase) -> Effect:
    return does(_becomes_words(phase), lambda s, about: s.set_topic(about.topic, phase=phase))


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
            _NEWER,
            _READ_STATE,
        ),
        rule(
            "partition/node-is-gone",
            "the node of the partition does not exist",
            at(PSM, 402, 398),
            _ELECTABLE,
            _NO_NODE,
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


PARTS: Final = (FENCED, STUCK, *REPLICA.values(), *PARTITION.values())


def changes(tables: Mapping[P, Table]) -> Iterator[tuple[P, P, str]]:
    """The valid changes of a state machine: the phase before, the phase after, and the rule."""
    for target, each in tables.items():
        left = set(tables)  # the phases that no earlier rule has taken
        for one in each.rules:
            of_phase = [guard.states for guard in one.guards if guard.states]
            before = left.intersection(*of_phase)
            if len(of_phase) == len(one.guards):
                left -= before
            if any(effect.words == _becomes_words(target) for effect in one.effects):
                yield from ((phase, target, one.id) for phase in tables if phase in before)
