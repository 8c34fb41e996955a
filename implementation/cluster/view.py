"""A cluster as it can be compared with the state of a specification.

The records have the fields of that state which an implementation has too, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from groupcheck.implementation.cluster.broker import Broker
from groupcheck.implementation.cluster.cluster import GROUPS, Cluster, Machine
from groupcheck.implementation.cluster.context import (
    ControllerContext,
    PartitionAndReplica,
    PartitionPhase,
    ReplicaPhase,
)
from groupcheck.implementation.cluster.coordinator import GroupCoordinator
from groupcheck.implementation.cluster.described import Describer, partition_of
from groupcheck.implementation.cluster.events import (
    AlterIsrReceived,
    ControllerEvent,
    PartitionReassignment,
    ReassignedStateChanged,
    ReplicaLeaderElection,
    StopReplicaResponseReceived,
)
from groupcheck.implementation.cluster.nodes import TopicPartition
from groupcheck.implementation.cluster.replicas import HostedPartition
from groupcheck.model.brokers import NO_EPOCH, NOBODY, Assignment, Nodes, Partition, Request

# Sessions and roles, with the names of the specification.
NONE: Final = "none"
LIVE: Final = "live"
EXPIRED: Final = "expired"
LEADER: Final = "leader"
FOLLOWER: Final = "follower"
STOPPED: Final = "stopped"


class EventView(NamedTuple):
    """A controller event."""

    name: str
    broker: int = 0
    epoch: int = 0
    topics: tuple[int, ...] = ()
    partition: Partition | None = None
    replicas: tuple[int, ...] = ()


class TopicView(NamedTuple):
    """What a controller knows of a topic."""

    known: bool
    assigned: tuple[int, ...]
    leadership: Partition | None
    phase: str
    replicas: tuple[str, ...]
    queued: bool
    started: bool
    ineligible: bool
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    reassigned: bool


class ControllerView(NamedTuple):
    """An active controller."""

    epoch: int
    live: tuple[int, ...]
    topics: tuple[TopicView, ...]
    channels: tuple[tuple[Request, ...], ...]


class ReplicaView(NamedTuple):
    """A replica on its broker."""

    log: bool = False
    role: str = NONE
    leader_epoch: int = NO_EPOCH
    isr: tuple[int, ...] = ()
    version: int = 0
    pending: bool = False
    assigned: tuple[int, ...] = ()
    controller_epoch: int = 0


class CoordinatorView(NamedTuple):
    """The coordinator of groups on a broker."""

    tasks: tuple[str, ...] = ()
    loading: bool = False
    owns: bool = False
    offset: bool = False


class BrokerView(NamedTuple):
    """A broker."""

    running: bool
    session: str
    epoch: int
    queue: tuple[EventView, ...]
    claiming: int
    controller: ControllerView | None
    stuck: bool
    controller_epoch: int
    replicas: tuple[ReplicaView, ...]
    leaders: tuple[int, ...]
    coordinator: CoordinatorView
    changed: tuple[int, ...] = ()


class ClusterView(NamedTuple):
    """A cluster."""

    nodes: Nodes
    brokers: tuple[BrokerView, ...]
    orphans: tuple[Request, ...]


def view(cluster: Cluster) -> ClusterView:
    """A cluster, with partition 0 of its topics."""
    orphans = sorted(cluster.describer.request(*orphan) for orphan in cluster.orphans)
    brokers = tuple(
        _broker(cluster, number, machine) for number, machine in cluster.machines.items()
    )
    return ClusterView(_nodes(cluster), brokers, tuple(orphans))


def _partitions(cluster: Cluster) -> list[TopicPartition]:
    return [TopicPartition(name, 0) for name in cluster.describer.names]


def _nodes(cluster: Cluster) -> Nodes:
    access, describer = cluster.admin, cluster.describer
    registered = access.brokers()
    epochs = (registered[each][0] if each in registered else 0 for each in cluster.machines)
    topics, deletions = access.topics(), access.deletions()
    states = [access.state(each) for each in _partitions(cluster)]
    assignments = access.assignments(topics)
    return Nodes(
        access.controller() or NOBODY,
        (access.read_controller_epoch() or (0, 0))[0],
        tuple(describer.epoch(number, epoch) for number, epoch in enumerate(epochs, 1)),
        tuple(name in topics for name in describer.names),
        tuple(None if state is None else partition_of(state) for state in states),
        tuple(name in deletions for name in describer.names),
        tuple(Assignment(*assignments.get(each, ())) for each in _partitions(cluster)),
        tuple(_numbers(describer, each) for each in access.isr_changes().values()),
    )


def _numbers(describer: Describer, of: Iterable[TopicPartition]) -> tuple[int, ...]:
    return tuple(sorted(describer.numbers[each.topic] for each in of))


def _broker(cluster: Cluster, number: int, machine: Machine) -> BrokerView:
    partitions = _partitions(cluster)
    broker = machine.broker
    if broker is None:
        left = tuple(ReplicaView(log=each in machine.logs) for each in partitions)
        session = NONE if machine.session is None else LIVE
        unknown = (NOBODY,) * len(partitions)
        return BrokerView(
            *(False, session, 0, (), NO_EPOCH, None, False, 0, left, unknown, CoordinatorView())
        )
    controller, describer = broker.controller, cluster.describer
    hosted = broker.replicas.hosted
    return BrokerView(
        running=True,
        session=_session(broker),
        epoch=describer.epoch(number, broker.epoch),
        queue=tuple(_event(describer, each) for each in controller.queue),
        claiming=NO_EPOCH if controller.claiming is None else controller.claiming[0],
        controller=_controller(cluster, broker) if controller.active else None,
        stuck=controller.replica_machine.stuck,
        controller_epoch=broker.controller_epoch,
        replicas=tuple(
            _replica(cluster, hosted.get(each), number, log=each in machine.logs)
            for each in partitions
        ),
        leaders=tuple(broker.leaders.get(each, NOBODY) for each in partitions),
        coordinator=_coordinator(broker.coordinator, cluster.consumed),
        changed=_numbers(describer, broker.changed),
    )


def _session(broker: Broker) -> str:
    if broker.renewing:
        return NONE
    return LIVE if broker.access.session.alive else EXPIRED


def _event(describer: Describer, event: ControllerEvent) -> EventView:
    if isinstance(event, ReplicaLeaderElection):
        topics = tuple(describer.numbers[each.topic] for each in event.partitions)
        return EventView(event.name, topics=topics)
    if isinstance(event, PartitionReassignment):
        ((of, target),) = event.targets.items()
        return EventView(event.name, topics=(describer.numbers[of.topic],), replicas=target or ())
    if isinstance(event, ReassignedStateChanged):
        return EventView(event.name, topics=(describer.numbers[event.partition.topic],))
    if isinstance(event, AlterIsrReceived):
        epoch = describer.epoch(event.broker, event.broker_epoch)
        ((of, state),) = event.states.items()
        topics = (describer.numbers[of.topic],)
        return EventView(event.name, event.broker, epoch, topics, partition_of(state))
    if isinstance(event, StopReplicaResponseReceived):
        topics = tuple(describer.numbers[each.topic] for each in event.partitions)
        return EventView(event.name, event.broker, topics=topics)
    return EventView(event.name)


def _controller(cluster: Cluster, broker: Broker) -> ControllerView:
    controller, describer = broker.controller, cluster.describer
    queues = controller.channels.queues
    numbers = cluster.machines
    return ControllerView(
        controller.context.epoch,
        tuple(describer.epoch(each, controller.context.live.get(each, 0)) for each in numbers),
        tuple(_topic(controller.context, each, numbers) for each in _partitions(cluster)),
        tuple(
            tuple(describer.request(each, request) for request in queues.get(each, ()))
            for each in numbers
        ),
    )


def _topic(
    context: ControllerContext, of: TopicPartition, brokers: dict[int, Machine]
) -> TopicView:
    state = context.leadership.get(of)
    replicas = (
        context.replica_phases.get(PartitionAndReplica(each, of), ReplicaPhase.NON_EXISTENT)
        for each in brokers
    )
    return TopicView(
        of.topic in context.all_topics,
        context.replicas_of(of),
        None if state is None else partition_of(state),
        context.partition_phases.get(of, PartitionPhase.NON_EXISTENT).value,
        tuple(each.value for each in replicas),
        of.topic in context.to_be_deleted,
        of.topic in context.deletion_started,
        of.topic in context.ineligible,
        *context.assignment(of)[1:],
        of in context.being_reassigned,
    )


def _replica(
    cluster: Cluster, hosted: HostedPartition | None, broker: int, *, log: bool
) -> ReplicaView:
    if hosted is None:
        return ReplicaView(log)
    if hosted.leader is None:
        role = NONE
    elif hosted.leader == broker:
        role = LEADER
    else:
        role = FOLLOWER if hosted.fetches else STOPPED
    pending = hosted.proposed is not None
    writes = cluster.older and role == LEADER
    known = hosted.leader_epoch, hosted.isr, hosted.version
    written = hosted.controller_epoch if writes else 0
    return ReplicaView(log, role, *known, pending, hosted.assigned, written)


def _coordinator(coordinator: GroupCoordinator, consumed: TopicPartition) -> CoordinatorView:
    return CoordinatorView(
        tuple(task.kind for task in coordinator.tasks),
        GROUPS in coordinator.loading,
        GROUPS in coordinator.owned,
        consumed in coordinator.offsets.get(GROUPS, ()),
    )
