"""The state machine of replicas in a controller: `ReplicaStateMachine`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupcheck.model.brokers import NO_LEADER
from groupcheck.model.cluster.machines import NEWER, NO_NODE, becomes, check_epoch
from groupcheck.model.cluster.sources import RSM, at
from groupcheck.model.cluster.state import ReplicaPhase, Session
from groupcheck.model.cluster.step import (
    About,
    Batch,
    ClusterStep,
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

# The phases from which a change is valid; any other change is logged, and nothing happens
# (ReplicaStateMachine.scala:453).
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


def _becomes(phase: ReplicaPhase) -> Effect:
    return does(becomes(phase), lambda s, about: _set_phase(s, about, phase))


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
            NEWER,
            STOP,
            _READ,
        ),
        rule(
            "replica/node-is-gone",
            "the node of the partition does not exist",
            at(RSM, 354, 339),
            _valid(ReplicaPhase.OFFLINE),
            NO_NODE,
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


def _log(_step: ClusterStep, _subject: object) -> None:
    """The state machine logs the exception, and does nothing."""


STUCK: Final = single(
    "replica-batch",
    "replica",
    "replica/stuck",
    "a fenced write has left requests in the batch, and nothing has removed them since",
    at(RSM, 110, 109),
    when("requests are left in the batch", lambda s, _: s.me.stuck),
    does("throw IllegalStateException, which is logged: no replica changes its phase", _log),
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


PARTS: Final = (STUCK, *REPLICA.values())
