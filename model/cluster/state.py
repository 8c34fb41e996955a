"""The state of a cluster: ZooKeeper, brokers, controllers and the requests between them.

What is one step here:

- A broker handles one controller event. Kafka has one thread for these events. Reads and writes of
  one event are one step, apart from the election: between reading that there is no controller and
  claiming `/controller`, anything can happen. Every write of a controller is conditional on the
  version of `/controller_epoch`, so one that comes too late fails in both.
- A broker handles one request of a controller. Requests of one controller to one broker arrive in
  their order. When a controller resigns or is killed, the oldest request on each connection may
  have been sent: it arrives later, in any order, or is lost.
- A change of a node fires the watches on it, and each notification is in the queue of its broker at
  once: a client of ZooKeeper sees it before the change.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from groupcheck.model.brokers import NO_EPOCH, Nodes, Partition, Request


class Session(StrEnum):
    """A broker's session with ZooKeeper."""

    NONE = "none"  # it has ended
    LIVE = "live"  # also that of a killed broker, until ZooKeeper ends it
    EXPIRED = "expired"  # ZooKeeper has ended it, and the broker does not know that


class Event(NamedTuple):
    """A controller event in the queue of a broker, with Kafka's name.

    Args:
        name: `Startup`, `Reelect`, `ControllerChange`, `Expire`, `RegisterBrokerAndReelect`,
            `BrokerChange`, `TopicChange`, `TopicDeletion`, `ReplicaLeaderElection`,
            `ApiPartitionReassignment`, `PartitionReassignmentIsrChange`, `AlterIsrReceived`,
            `IsrChangeNotification` or `TopicDeletionStopReplicaResponseReceived`.
        broker: that has answered or asks; 0 in others.
        epoch: in AlterIsrReceived, the registration of that broker.
        topics: that it is about: those that were deleted, the one of the request, or the one whose
            partition has changed.
        partition: in AlterIsrReceived, what the leader asks for.
        replicas: in ApiPartitionReassignment, the target; empty to cancel a reassignment.
    """

    name: str
    broker: int = 0
    epoch: int = 0
    topics: tuple[int, ...] = ()
    partition: Partition | None = None
    replicas: tuple[int, ...] = ()


class PartitionPhase(StrEnum):
    """Kafka's `PartitionState`."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaPhase(StrEnum):
    """Kafka's `ReplicaState`."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


class StateWatch(StrEnum):
    """Whether a controller of Kafka 2.4 learns that the node of a partition changes.

    A read sets the watch if a handler is registered (ZooKeeperClient.scala:277 at tag 2.4.1), and
    a watch that fires calls the handler if one is registered then (448). So ZooKeeper keeps the
    watch of a handler that is not registered any more, and it does nothing: that is `NONE`. When a
    handler is registered again, the same event reads the node before the broker writes it.
    """

    NONE = "none"  # no handler is registered
    REGISTERED = "registered"  # the next read of the node sets the watch
    SET = "set"  # the next change of the node fires it


class Topic(NamedTuple):
    """What a controller knows of a topic.

    Args:
        known: whether it is in `allTopics`.
        assigned: the replicas, in the order of the assignment, without deleted ones.
        leadership: the copy of the partition's node, or None.
        phase: of the partition.
        replicas: by broker, the phase of its replica; `NON_EXISTENT` if it has none.
        queued: whether it is in `topicsToBeDeleted`.
        started: whether it is in `topicsWithDeletionStarted`.
        ineligible: whether it is in `topicsIneligibleForDeletion`.
        adding: the replicas of the assignment that a reassignment adds.
        removing: those that it removes.
        reassigned: whether the partition is in `partitionsBeingReassigned`.
        watch: on the node of the partition; `NONE` in 2.7.
    """

    known: bool = False
    assigned: tuple[int, ...] = ()
    leadership: Partition | None = None
    phase: PartitionPhase = PartitionPhase.NON_EXISTENT
    replicas: tuple[ReplicaPhase, ...] = ()
    queued: bool = False
    started: bool = False
    ineligible: bool = False
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    reassigned: bool = False
    watch: StateWatch = StateWatch.NONE


class Controller(NamedTuple):
    """What a broker knows while it is the controller.

    Args:
        epoch: of the controller, and the version of `/controller_epoch` that its writes expect.
        live: by broker, the epoch of its registration; 0 if it is not live.
        topics: by number.
        channels: by broker, the requests to it, the oldest first.
        watches_brokers: whether a change of `/brokers/ids` fires a watch.
        watches_topics: the same for `/brokers/topics`.
        watches_deletions: the same for `/admin/delete_topics`.
        watches_isr: the same for `/isr_change_notification`.
    """

    epoch: int
    live: tuple[int, ...]
    topics: tuple[Topic, ...]
    channels: tuple[tuple[Request, ...], ...]
    watches_brokers: bool = True
    watches_topics: bool = True
    watches_deletions: bool = True
    watches_isr: bool = True


class Role(StrEnum):
    """What a broker does with its replica."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"
    STOPPED = "stopped"  # a follower that does not fetch


class Replica(NamedTuple):
    """A replica on its broker.

    Args:
        log: whether it is on disk.
        role: since the start of the broker.
        leader_epoch: that it has, or `NO_EPOCH`.
        isr: that a leader knows, in the order in which the replicas have joined it.
        version: of the node that a leader or follower has last heard of.
        pending: whether the leader waits for an answer to AlterIsr.
        assigned: the replicas that a leader knows; others cannot join its ISR.
        controller_epoch: with which a leader writes the node itself.
    """

    log: bool = False
    role: Role = Role.NONE
    leader_epoch: int = NO_EPOCH
    isr: tuple[int, ...] = ()
    version: int = 0
    pending: bool = False
    assigned: tuple[int, ...] = ()
    controller_epoch: int = 0


class Coordinator(NamedTuple):
    """The coordinator of groups on a broker.

    Args:
        tasks: of its thread, the oldest first: `load`, `unload`.
        loading: whether it loads the groups or is about to.
        owns: whether it answers for the groups.
        offset: whether it knows a committed offset of the other topic.
    """

    tasks: tuple[str, ...] = ()
    loading: bool = False
    owns: bool = False
    offset: bool = False


class Broker(NamedTuple):
    """A broker.

    Args:
        running: whether its process runs.
        session: with ZooKeeper.
        epoch: of its registration.
        queue: controller events, the oldest first.
        claiming: between the two steps of an election, the controller epoch that it has read;
            `NO_EPOCH` otherwise.
        watches_controller: whether a change of `/controller` fires a watch.
        controller: what it knows while it is the controller, else None.
        stuck: whether a fenced write has left requests in the batch of its replica state machine,
            which throws IllegalStateException from then on.
        controller_epoch: the latest of a controller's request.
        replicas: by topic.
        leaders: by topic, the leader in its metadata; 0 if it does not know the topic. In instances
            without metadata it stays 0.
        coordinator: of groups.
        changed: the topics whose ISR the broker has written and not announced, by number.
    """

    running: bool = False
    session: Session = Session.NONE
    epoch: int = 0
    queue: tuple[Event, ...] = ()
    claiming: int = NO_EPOCH
    watches_controller: bool = False
    controller: Controller | None = None
    stuck: bool = False
    controller_epoch: int = 0
    replicas: tuple[Replica, ...] = ()
    leaders: tuple[int, ...] = ()
    coordinator: Coordinator = Coordinator()
    changed: tuple[int, ...] = ()


class Cluster(NamedTuple):
    """The whole state.

    Args:
        nodes: of ZooKeeper.
        brokers: by id, from 1.
        registered: by broker, how many registrations it has had.
        orphans: requests of connections that have ended, sorted.
        faults: how many faults are left.
        requests: how many requests of operators are left.
        offset: whether the log of groups has a committed offset of the other topic.
    """

    nodes: Nodes
    brokers: tuple[Broker, ...]
    registered: tuple[int, ...]
    orphans: tuple[Request, ...]
    faults: int
    requests: int
    offset: bool = False

    def broker(self, number: int) -> Broker:
        """The broker with an id."""
        return self.brokers[number - 1]


class Settings(NamedTuple):
    """A model instance.

    Args:
        brokers: how many there are.
        topics: by topic, its replicas in the order of the assignment.
        running: whether the cluster runs at first, with broker 1 as its controller; otherwise all
            brokers are stopped and ZooKeeper has no nodes.
        created: how many of the topics exist at first; 0 unless `running`.
        faults: how many brokers are killed, sessions end, `/controller` is deleted, or replicas
            fall behind.
        requests: how many topics are created, deleted or reassigned, or leaders are requested.
        kills: whether brokers are killed.
        expires: whether sessions of running brokers end.
        moves: whether `/controller` is deleted.
        isr: whether replicas fall behind and catch up.
        unclean: `unclean.leader.election.enable`.
        elects: whether preferred leaders are requested.
        targets: by topic, the replicas to which a request reassigns it; empty if none does. A
            shorter tuple stands for topics that are not reassigned.
        cancels: whether the end of reassignments is requested.
        groups: whether topic 0 has the groups, which commit offsets of topic 1. Metadata is sent
            to brokers in such an instance only.
        version: of Kafka's rules.
    """

    brokers: int = 2
    topics: tuple[tuple[int, ...], ...] = ()
    running: bool = True
    created: int = 0
    faults: int = 1
    requests: int = 0
    kills: bool = True
    expires: bool = True
    moves: bool = False
    isr: bool = False
    unclean: bool = False
    elects: bool = False
    targets: tuple[tuple[int, ...], ...] = ()
    cancels: bool = False
    groups: bool = False
    version: str = "2.7"
