"""A step of a cluster while it is built: nodes and watches, queues, and batches of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from groupcheck.model.brokers import (
    DURING_DELETE,
    LEADER_AND_ISR,
    NO_EPOCH,
    STOP_REPLICA,
    UPDATE_METADATA,
    Partition,
    Request,
    TopicRequest,
)
from groupcheck.model.cluster.sources import CCM, PA, at
from groupcheck.model.cluster.state import (
    Broker,
    Cluster,
    Controller,
    Event,
    Replica,
    Role,
    Session,
    Settings,
    StateWatch,
    Topic,
)
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, Table, Version, decide
from groupcheck.model.engine.step import EngineStep

T = TypeVar("T")


def existing(value: T | None) -> T:
    """What the guards of a rule have found to exist.

    Raises:
        ValueError: it does not, so a guard is missing.
    """
    if value is None:
        msg = "a rule of the cluster has no guard for what does not exist"
        raise ValueError(msg)
    return value


class MovedError(Exception):
    """ControllerMovedException: a write expects an older version of `/controller_epoch`."""


class EventFailedError(Exception):
    """An exception ends an event, with what it has done so far, and Kafka logs it."""


class Batch:
    """The requests that one change of states sends: `ControllerBrokerRequestBatch`.

    Args:
        leaders: LeaderAndIsr, by broker and topic.
        informed: the brokers that receive UpdateMetadata.
        metadata: UpdateMetadata, by topic.
        stops: StopReplica, by broker and topic.
    """

    def __init__(self) -> None:
        self.leaders: dict[int, dict[int, TopicRequest]] = {}
        self.informed: set[int] = set()
        self.metadata: dict[int, TopicRequest] = {}
        self.stops: dict[int, dict[int, TopicRequest]] = {}


class ClusterStep(EngineStep):
    """A step while it is built: the state, and the broker that acts."""

    __slots__ = ("actor", "batch", "disconnected", "settings", "state")

    def __init__(
        self, version: Version, settings: Settings, state: Cluster, script: Sequence[int] = ()
    ) -> None:
        super().__init__(version, script)
        self.settings = settings
        self.state = state
        self.actor = 0
        self.batch = Batch()
        self.disconnected: list[int] = []  # brokers that the controller takes for live

    def set(self, **fields: Any) -> None:  # noqa: ANN401
        """Change fields of the state."""
        self.state = self.state._replace(**fields)

    def node(self, **fields: Any) -> None:  # noqa: ANN401
        """Change nodes."""
        self.set(nodes=self.state.nodes._replace(**fields))

    def node_at(self, field: str, place: int, value: object) -> None:
        """Change one of a kind of nodes."""
        self.node(**{field: replaced(getattr(self.state.nodes, field), place, value)})

    def set_broker(self, number: int, **fields: Any) -> None:  # noqa: ANN401
        """Change fields of a broker."""
        broker = self.state.brokers[number - 1]._replace(**fields)
        self.set(brokers=replaced(self.state.brokers, number - 1, broker))

    @property
    def me(self) -> Broker:
        """The broker that acts."""
        return self.state.brokers[self.actor - 1]

    def become(self, **fields: Any) -> None:  # noqa: ANN401
        """Change fields of the broker that acts."""
        self.set_broker(self.actor, **fields)

    @property
    def controller(self) -> Controller:
        """What the acting broker knows as the controller, which it is."""
        return existing(self.me.controller)

    def control(self, **fields: Any) -> None:  # noqa: ANN401
        """Change what the controller knows."""
        self.become(controller=self.controller._replace(**fields))

    def topic(self, topic: int) -> Topic:
        """What the controller knows of a topic."""
        return self.controller.topics[topic]

    def set_topic(self, topic: int, **fields: Any) -> None:  # noqa: ANN401
        """Change what the controller knows of a topic."""
        topics = self.controller.topics
        self.control(topics=replaced(topics, topic, topics[topic]._replace(**fields)))

    def is_live(self, number: int) -> bool:
        """Whether the controller takes a broker for live."""
        return number > 0 and self.controller.live[number - 1] > 0

    def live(self) -> list[int]:
        """The brokers that the controller takes for live."""
        return [number for number, epoch in enumerate(self.controller.live, 1) if epoch]

    def topics_where(self, test: Callable[[Topic], bool]) -> list[int]:
        """The topics, of those that the controller knows, for which something holds."""
        return [number for number, each in enumerate(self.controller.topics) if test(each)]

    def replica(self, topic: int) -> Replica:
        """The replica of a topic on the broker that acts."""
        return self.me.replicas[topic]

    def set_replica(self, topic: int, replica: Replica) -> None:
        """Change the replica of a topic on the broker that acts."""
        self.become(replicas=replaced(self.me.replicas, topic, replica))


def replaced(values: tuple[Any, ...], place: int, value: object) -> tuple[Any, ...]:
    """The tuple with another value at a place."""
    return (*values[:place], value, *values[place + 1 :])


# Watches and queues


def put(step: ClusterStep, number: int, event: Event) -> None:
    """Add a controller event to the queue of a broker."""
    step.set_broker(number, queue=(*step.state.broker(number).queue, event))


def _watching(step: ClusterStep) -> list[tuple[int, Broker]]:
    """The brokers to which ZooKeeper can send notifications."""
    return [
        (number, broker)
        for number, broker in enumerate(step.state.brokers, 1)
        if broker.running and broker.session == Session.LIVE
    ]


def fire_controller(step: ClusterStep, event: str) -> None:
    """Fire the watches on `/controller`."""
    for number, broker in _watching(step):
        if broker.watches_controller:
            step.set_broker(number, watches_controller=False)
            put(step, number, Event(event))


WATCHES: Final = {
    "watches_brokers": "BrokerChange",
    "watches_topics": "TopicChange",
    "watches_deletions": "TopicDeletion",
    "watches_isr": "IsrChangeNotification",
}


def fire_children(step: ClusterStep, watch: str) -> None:
    """Fire the watches on the children of a node."""
    for number, broker in _watching(step):
        controller = broker.controller
        if controller is not None and getattr(controller, watch):
            fired: dict[str, Any] = {watch: False}
            step.set_broker(number, controller=controller._replace(**fired))
            put(step, number, Event(WATCHES[watch]))


def set_state(step: ClusterStep, topic: int, state: Partition | None) -> None:
    """Write or delete the node of a partition, which fires the watches on it.

    The handler puts an event if the node is written, and none if it is deleted:
    KafkaController.scala:1988 at tag 2.4.1.
    """
    step.node_at("partitions", topic, state)
    for number, broker in _watching(step):
        controller = broker.controller
        if controller is None or controller.topics[topic].watch != StateWatch.SET:
            continue
        fired = controller.topics[topic]._replace(watch=StateWatch.REGISTERED)
        topics = replaced(controller.topics, topic, fired)
        step.set_broker(number, controller=controller._replace(topics=topics))
        if state is not None:
            put(step, number, Event("PartitionReassignmentIsrChange", topics=(topic,)))


def watch_state(step: ClusterStep, topic: int) -> None:
    """A broker reads the node of a partition: that sets the watch if a handler is registered."""
    can_read = step.me.session == Session.LIVE and step.state.nodes.partitions[topic] is not None
    controls = step.me.controller is not None
    if can_read and controls and step.topic(topic).watch == StateWatch.REGISTERED:
        step.set_topic(topic, watch=StateWatch.SET)


def watches(file: str, line: int) -> Effect:
    """The effect of a read of the node of a partition, at this line of 2.4."""
    return does(
        "watch the node of the partition, if a handler is registered",
        lambda step, about: watch_state(step, about.topic),
    ).only(at(file, None, line))


def unsent(step: ClusterStep, requests: Iterable[tuple[Request, ...]]) -> None:
    """The oldest request of each connection may have been sent; the others are gone."""
    oldest = [each[0] for each in requests if each]
    if oldest:
        step.set(orphans=tuple(sorted((*step.state.orphans, *oldest))))


def drop_asked(step: ClusterStep, queue: Iterable[Event]) -> None:
    """The leaders whose AlterIsr is dropped with a queue ask again if they still need to."""
    for event in queue:
        if event.name == "AlterIsrReceived":
            asked_in_vain(step, event)


def asking(step: ClusterStep, event: Event) -> Replica | None:
    """The replica of the leader that waits for the answer to an AlterIsr; None if none does."""
    broker = step.state.broker(event.broker)
    replica = broker.replicas[event.topics[0]]
    # A broker that was killed since leads again only after the controller has handled the event.
    waits = (
        broker.running
        and replica.role == Role.LEADER
        and replica.pending
        and replica.leader_epoch == existing(event.partition).leader_epoch
    )
    return replica if waits else None


def answer_asking(step: ClusterStep, event: Event, **fields: Any) -> None:  # noqa: ANN401
    """The leader takes over the answer to an AlterIsr, if it still waits for it."""
    replica = asking(step, event)
    if replica is not None:
        replicas = step.state.broker(event.broker).replicas
        changed = replaced(replicas, event.topics[0], replica._replace(**fields))
        step.set_broker(event.broker, replicas=changed)


def asked_in_vain(step: ClusterStep, event: Event) -> None:
    """An AlterIsr fails with an error after which the leader sends it again."""
    answer_asking(step, event, pending=False)


# Batches of requests

WRITES_ISR: Final = Behaviour(
    "leaders-write-isrs",
    "environment",
    "a leader writes the ISR to the node itself, and does not ask the controller",
    at(PA, None, 1172),
)
STOPS_WITH_EPOCH: Final = Behaviour(
    "stop-replica-epoch", "request", "StopReplica has the leader epoch", at(CCM, 403)
)


def add_leader_and_isr(step: ClusterStep, brokers: Iterable[int], topic: int) -> None:
    """Send the leader and the ISR that the controller knows, and UpdateMetadata to all."""
    partition = existing(step.topic(topic).leadership)
    request = TopicRequest(
        topic,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.version,
        replicas=step.topic(topic).assigned,
        controller_epoch=partition.controller_epoch if WRITES_ISR(step) else 0,
    )
    for number in brokers:
        step.batch.leaders.setdefault(number, {})[topic] = request
    add_metadata(step, step.live(), [topic])


def add_metadata(step: ClusterStep, brokers: Iterable[int], topics: Iterable[int]) -> None:
    """Send UpdateMetadata about the topics whose leader the controller knows."""
    step.batch.informed.update(brokers)
    for number in topics:
        topic = step.topic(number)
        if topic.leadership is not None:
            leader, epoch = topic.leadership[:2]
            if topic.queued:
                leader, epoch = DURING_DELETE, 0
            step.batch.metadata[number] = TopicRequest(number, leader, epoch)


def add_stop(step: ClusterStep, number: int, topic: int, *, delete: bool) -> None:
    """Send StopReplica to a broker."""
    known = step.topic(topic)
    epoch = known.leadership.leader_epoch if known.leadership is not None else NO_EPOCH
    if known.queued:
        epoch = DURING_DELETE
    if not STOPS_WITH_EPOCH(step):
        epoch = NO_EPOCH
    request = TopicRequest(topic, leader_epoch=epoch, delete=delete)
    step.batch.stops.setdefault(number, {})[topic] = request


def send(step: ClusterStep) -> None:
    """Put the requests of the batch on the channels to live brokers."""
    batch, step.batch = step.batch, Batch()
    for number, topics in sorted(batch.leaders.items()):
        _enqueue(step, LEADER_AND_ISR, number, topics)
    if step.settings.groups and batch.metadata:
        for number in sorted(batch.informed):
            _enqueue(step, UPDATE_METADATA, number, batch.metadata)
    for number, topics in sorted(batch.stops.items()):
        _enqueue(step, STOP_REPLICA, number, topics)


def _enqueue(step: ClusterStep, api: str, number: int, topics: dict[int, TopicRequest]) -> None:
    if step.is_live(number) and number not in step.disconnected:
        controller = step.controller
        about = tuple(topics[each] for each in sorted(topics))
        request = Request(api, number, controller.epoch, controller.live[number - 1], about)
        channel = (*controller.channels[number - 1], request)
        step.control(channels=replaced(controller.channels, number - 1, channel))


def inform(step: ClusterStep, brokers: Iterable[int], topics: Iterable[int]) -> None:
    """Send UpdateMetadata alone: `sendUpdateMetadataRequest`."""
    add_metadata(step, brokers, topics)
    send(step)


# Writes of a controller to the node of a partition


def write(step: ClusterStep, topic: int, leader: int, isr: tuple[int, ...]) -> None:
    """Write a leader and an ISR with the next leader epoch, and remember them."""
    node = existing(step.state.nodes.partitions[topic])
    epoch = step.controller.epoch
    changed = Partition(leader, node.leader_epoch + 1, isr, epoch, node.version + 1)
    set_state(step, topic, changed)
    step.set_topic(topic, leadership=changed)


# Guards and effects


class About(NamedTuple):
    """What a rule is about.

    Args:
        topic: its number.
        broker: of a replica.
        preferred: whether only the preferred replica can become the leader.
        reassigned: whether the replicas were reassigned, so that no other one can.
    """

    topic: int = -1
    broker: int = 0
    preferred: bool = False
    reassigned: bool = False


Subject = Any
Test = Callable[[ClusterStep, Subject], bool]
Change = Callable[[ClusterStep, Subject], object]


def when(words: str, test: Test) -> Guard:
    """A guard."""
    return Guard(words, test)


def does(words: str, change: Change) -> Effect:
    """An effect."""
    return Effect(words, change)


def throws(words: str, error: type[Exception]) -> Effect:
    """An effect that raises an error."""

    def throw(_step: ClusterStep, _subject: object) -> None:
        raise error

    return does(words, throw)


def tries(words: str, *tables: Table) -> Effect:
    """An effect: what each table decides about the same subject."""

    def apply(step: ClusterStep, subject: Subject) -> None:
        for each in tables:
            decide(step, each, subject)

    return Effect(words, apply)
