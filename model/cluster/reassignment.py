"""The reassignment of a partition to other replicas by a controller: `onPartitionReassignment`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from groupcheck.model.brokers import Assignment, Partition
from groupcheck.model.cluster.deletion import mark_ineligible, resume_for
from groupcheck.model.cluster.machines import check_epoch
from groupcheck.model.cluster.partition_machine import move_partitions
from groupcheck.model.cluster.replica_machine import move_replicas
from groupcheck.model.cluster.sources import KC, at
from groupcheck.model.cluster.state import (
    Event,
    PartitionPhase,
    ReplicaPhase,
    Session,
    StateWatch,
    Topic,
)
from groupcheck.model.cluster.step import (
    Batch,
    ClusterStep,
    EventFailedError,
    add_leader_and_isr,
    does,
    existing,
    inform,
    send,
    throws,
    tries,
    watch_state,
    watches,
    when,
    write,
)
from groupcheck.model.engine.rules import decide, rule, single, table

# Assignments


def _without(replicas: Iterable[int], others: Iterable[int]) -> tuple[int, ...]:
    excluded = set(others)
    return tuple(each for each in replicas if each not in excluded)


def assignment_of(topic: Topic) -> Assignment:
    """The assignment that a controller knows."""
    return Assignment(topic.assigned, topic.adding, topic.removing)


def _assign(step: ClusterStep, topic: int, assignment: Assignment) -> None:
    replicas, adding, removing = assignment
    step.set_topic(topic, assigned=replicas, adding=adding, removing=removing)


def _target(assignment: Assignment) -> tuple[int, ...]:
    return _without(assignment.replicas, assignment.removing)


def _origin(assignment: Assignment) -> tuple[int, ...]:
    return _without(assignment.replicas, assignment.adding)


def _changes(assignment: Assignment) -> bool:
    return bool(assignment.adding or assignment.removing)


def _to(assignment: Assignment, target: tuple[int, ...]) -> Assignment:
    """The assignment that moves the original replicas to others: `reassignTo`."""
    origin = _origin(assignment)
    everything = tuple(dict.fromkeys((*target, *origin)))
    return Assignment(everything, _without(everything, origin), _without(everything, target))


def _asked(step: ClusterStep, event: Event) -> Assignment:
    """What a request asks for; without a target, the original replicas."""
    current = assignment_of(step.topic(event.topics[0]))
    return _to(current, event.replicas or _origin(current))


class Moving(NamedTuple):
    """The partition of a topic, and what it is to be assigned to."""

    topic: int
    assignment: Assignment


def _read(step: ClusterStep, topic: int) -> Partition | None:
    """The state of a partition in ZooKeeper.

    Raises:
        EventFailedError: ZooKeeper has ended the session.
    """
    if step.me.session != Session.LIVE:
        raise EventFailedError
    return step.state.nodes.partitions[topic]


NO_TOPIC: Final = single(
    "reassignment-write",
    "reassignment",
    "reassignment/no-topic",
    "the topic has been deleted",
    at(KC, 1034, 920),
    when(
        "/brokers/topics/TOPIC does not exist",
        lambda s, moving: not s.state.nodes.topics[moving.topic],
    ),
    throws("throw IllegalStateException, which ends the event", EventFailedError),
)


def _write_assignment(step: ClusterStep, moving: Moving) -> None:
    """Write `/brokers/topics/TOPIC`: `updateReplicaAssignmentForPartition`."""
    check_epoch(step)
    decide(step, NO_TOPIC, moving)
    step.node_at("assignments", moving.topic, moving.assignment)


def _stop(step: ClusterStep, topic: int, replicas: Iterable[int]) -> None:
    """Stop and delete replicas: `stopRemovedReplicasOfReassignedPartition`."""
    removed = [(topic, broker) for broker in replicas]
    for phase in (
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_STARTED,
        ReplicaPhase.DELETION_SUCCESSFUL,
        ReplicaPhase.NON_EXISTENT,
    ):
        move_replicas(step, removed, phase)


def _change(step: ClusterStep, moving: Moving) -> None:
    before = step.topic(moving.topic).assigned
    _write_assignment(step, moving)
    _assign(step, *moving)
    _stop(step, moving.topic, _without(before, moving.assignment.replicas))


def _register(step: ClusterStep, moving: Moving) -> None:
    if step.topic(moving.topic).watch == StateWatch.NONE:
        step.set_topic(moving.topic, watch=StateWatch.REGISTERED)


_REGISTER: Final = does("register a handler of changes of the node", _register).only(
    at(KC, None, 688)
)
_REMEMBER: Final = does(
    "remember that the partition is being reassigned",
    lambda s, moving: s.set_topic(moving.topic, reassigned=True),
)
ASSIGNMENT: Final = table(
    "reassignment-assignment",
    "reassignment",
    rule(
        "reassignment/resumed",
        "a reassignment goes on",
        at(KC, 778, 672),
        when(
            "the controller knows this assignment",
            lambda s, moving: assignment_of(s.topic(moving.topic)) == moving.assignment,
        ),
        _REGISTER,
        _REMEMBER,
    ),
    rule(
        "reassignment/assigned",
        "another assignment is asked for",
        at(KC, 782, 676),
        does(
            "write /brokers/topics/TOPIC and take it over; stop and delete the replicas that are "
            "not in it any more",
            _change,
        ),
        _REGISTER,
        _REMEMBER,
    ),
)

# The leader


def _raise_epoch(step: ClusterStep, moving: Moving) -> None:
    node = existing(step.state.nodes.partitions[moving.topic])
    check_epoch(step)
    write(step, moving.topic, node.leader, node.isr)
    step.batch = Batch()
    add_leader_and_isr(step, moving.assignment.replicas, moving.topic)
    send(step)


_READ_FOR_EPOCH: Final = watches(KC, 1071)
EPOCH: Final = table(
    "reassignment-epoch",
    "reassignment",
    rule(
        "reassignment/node-is-gone",
        "the node of the partition does not exist",
        at(KC, 1222, 1097),
        when("there is no node", lambda s, moving: _read(s, moving.topic) is None),
        throws("throw IllegalStateException, which ends the event", EventFailedError),
    ),
    rule(
        "reassignment/node-is-newer",
        "a later controller has written the node",
        at(KC, 1201, 1076),
        when(
            "its controller epoch is greater",
            lambda s, moving: (
                existing(_read(s, moving.topic)).controller_epoch > s.controller.epoch
            ),
        ),
        _READ_FOR_EPOCH,
        throws("throw StateChangeFailedException, which ends the event", EventFailedError),
    ),
    rule(
        "reassignment/leader-epoch",
        "the replicas of the partition change",
        at(KC, 1206, 1081),
        _READ_FOR_EPOCH,
        does(
            "write the node with the next leader epoch, and send LeaderAndIsr to the replicas and "
            "UpdateMetadata to all",
            _raise_epoch,
        ),
    ),
)


def _knows_leader(step: ClusterStep, moving: Moving) -> bool:
    return step.topic(moving.topic).leadership is not None


def _stays(step: ClusterStep, moving: Moving) -> bool:
    leader = existing(step.topic(moving.topic).leadership).leader
    return leader in moving.assignment.replicas and step.is_live(leader)


LEADER: Final = table(
    "reassignment-leader",
    "reassignment",
    rule(
        "reassignment/without-leader",
        "the partition never had a leader",
        at(KC, 994, 881),
        when("the controller knows no leader", lambda s, moving: not _knows_leader(s, moving)),
        throws("throw NoSuchElementException, which ends the event", EventFailedError),
    ),
    rule(
        "reassignment/leader-stays",
        "the leader is a target",
        at(KC, 1005, 892),
        when("the leader is a target, and live", _stays),
        tries("raise the leader epoch", EPOCH),
    ),
    rule(
        "reassignment/leader-moves",
        "the leader is not a target, or not live",
        at(KC, 1000, 887),
        does(
            "elect the first target that is live and in the ISR",
            lambda s, moving: move_partitions(
                s, [moving.topic], PartitionPhase.ONLINE, reassigned=True
            ),
        ),
    ),
)

# The two phases of a reassignment


def _is_complete(step: ClusterStep, moving: Moving) -> bool:
    """Whether every target is in the ISR: `isReassignmentComplete`."""
    if not _changes(moving.assignment):
        return True
    node = _read(step, moving.topic)
    return node is not None and set(_target(moving.assignment)) <= set(node.isr)


def _watch_if_changed(step: ClusterStep, moving: Moving) -> None:
    if _changes(moving.assignment):
        watch_state(step, moving.topic)


_READ: Final = does(
    "watch the node of the partition, if replicas are added or removed", _watch_if_changed
).only(at(KC, None, 870))


def _start_new(step: ClusterStep, moving: Moving) -> None:
    for broker in moving.assignment.adding:
        move_replicas(step, [(moving.topic, broker)], ReplicaPhase.NEW)


def _complete(step: ClusterStep, moving: Moving) -> None:
    topic, assignment = moving
    added = [(topic, broker) for broker in assignment.adding]
    move_replicas(step, added, ReplicaPhase.ONLINE)
    completed = Moving(topic, Assignment(_target(assignment)))
    _assign(step, *completed)
    decide(step, LEADER, completed)
    _stop(step, topic, assignment.removing)
    _write_assignment(step, completed)
    step.set_topic(topic, reassigned=False)


def _end(step: ClusterStep, moving: Moving) -> None:
    inform(step, step.live(), [moving.topic])
    resume_for(step, [moving.topic])


_UNREGISTER: Final = does(
    "unregister the handler of changes of the node",
    lambda s, moving: s.set_topic(moving.topic, watch=StateWatch.NONE),
).only(at(KC, None, 984))
PHASE: Final = table(
    "reassignment-phase",
    "reassignment",
    rule(
        "reassignment/started",
        "a target is not in sync",
        at(KC, 734, 626),
        when("a target is not in the ISR of the node", lambda s, m: not _is_complete(s, m)),
        _READ,
        tries("raise the leader epoch", EPOCH),
        does("move the replicas that are added to NewReplica", _start_new),
    ),
    rule(
        "reassignment/completed",
        "every target is in sync, or no replica changes",
        at(KC, 739, 631),
        _READ,
        does(
            "move the added replicas to OnlineReplica; forget the others; elect a target or raise "
            "the leader epoch; stop and delete the others; write /brokers/topics/TOPIC",
            _complete,
        ),
        _UNREGISTER,
        does("send UpdateMetadata to all; go on with the deletion of the topic", _end),
    ),
)


def reassign(step: ClusterStep, moving: Moving) -> None:
    """Begin or go on with a reassignment: `onPartitionReassignment`.

    Raises:
        MovedError: another controller has been elected since.
        EventFailedError: a node does not exist or is newer, or the session has ended.
    """
    mark_ineligible(step, [moving.topic])
    decide(step, ASSIGNMENT, moving)
    decide(step, PHASE, moving)


def resume(step: ClusterStep, brokers: Iterable[int] | None = None) -> None:
    """Go on with reassignments, of those that have one of the brokers as a target."""
    for topic in step.topics_where(lambda each: each.reassigned):
        assignment = assignment_of(step.topic(topic))
        if brokers is None or set(_target(assignment)) & set(brokers):
            reassign(step, Moving(topic, assignment))


def _has_caught_up(step: ClusterStep, event: Event) -> bool:
    topic = step.topic(event.topics[0])
    return topic.reassigned and _is_complete(step, Moving(event.topics[0], assignment_of(topic)))


def _go_on(step: ClusterStep, event: Event) -> None:
    topic = event.topics[0]
    reassign(step, Moving(topic, assignment_of(step.topic(topic))))


CAUGHT_UP: Final = single(
    "reassignment-caught-up",
    "reassignment",
    "reassignment/caught-up",
    "the last target has joined the ISR",
    at(KC, 1850, 1685),
    when("the partition is being reassigned, and every target is in the ISR", _has_caught_up),
    does("go on with the reassignment", _go_on),
)


def _watch_reassigned(step: ClusterStep, event: Event) -> None:
    topic = step.topic(event.topics[0])
    if topic.reassigned:
        _watch_if_changed(step, Moving(event.topics[0], assignment_of(topic)))


READ_REASSIGNED: Final = does(
    "watch the node, if replicas are still being added or removed", _watch_reassigned
).only(at(KC, None, 1681))

# Requests


def _has_dead_target(step: ClusterStep, event: Event) -> bool:
    return bool(event.replicas) and not all(map(step.is_live, _asked(step, event).adding))


def _has_nothing_to_cancel(step: ClusterStep, event: Event) -> bool:
    current = assignment_of(step.topic(event.topics[0]))
    return not event.replicas and not _changes(current)


def _begin(step: ClusterStep, event: Event) -> None:
    reassign(step, Moving(event.topics[0], _asked(step, event)))


REQUESTED: Final = table(
    "ApiPartitionReassignment",
    "event",
    rule(
        "event/reassignment-ignored",
        "the broker is not the controller",
        at(KC, 1772, 1619),
        when("it is not the controller", lambda s, _: s.me.controller is None),
    ),
    rule(
        "event/reassignment-dead-target",
        "a replica to add is not live",
        at(KC, 1815, 1656),
        when("a target that is not assigned yet is not live", _has_dead_target),
    ),
    rule(
        "event/reassignment-none",
        "there is no reassignment to cancel",
        at(KC, 1783, 1628),
        when("it has no target, and none is in progress", _has_nothing_to_cancel),
    ),
    rule(
        "event/reassignment-deleted",
        "the topic is to be deleted",
        at(KC, 819, 711),
        when("it is to be deleted", lambda s, event: s.topic(event.topics[0]).queued),
    ),
    rule(
        "event/reassignment-unknown",
        "the controller does not know the topic",
        at(KC, 824, 716),
        when("it has no replicas", lambda s, event: not s.topic(event.topics[0]).assigned),
    ),
    rule(
        "event/reassignment",
        "the topic has replicas, and is not to be deleted",
        at(KC, 826, 718),
        does("begin, replace or cancel the reassignment", _begin),
    ),
)

PARTS: Final = (NO_TOPIC, ASSIGNMENT, EPOCH, LEADER, PHASE, CAUGHT_UP)
