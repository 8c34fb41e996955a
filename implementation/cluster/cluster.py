"""A cluster: brokers that share a store, and what happens to them, one input at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from groupcheck.implementation.cluster import nodes
from groupcheck.implementation.cluster.access import Access
from groupcheck.implementation.cluster.broker import Broker, Options
from groupcheck.implementation.cluster.coordinator import OFFSETS_TOPIC
from groupcheck.implementation.cluster.described import Describer
from groupcheck.implementation.cluster.events import PartitionReassignment, ReplicaLeaderElection
from groupcheck.implementation.cluster.nodes import TopicPartition
from groupcheck.implementation.cluster.requests import ControlRequest, StopReplicaRequest
from groupcheck.implementation.cluster.store import Session, Store, create, delete
from groupcheck.model.brokers import (
    ANNOUNCE,
    ARRIVE,
    CANCEL,
    CLAIM,
    COMMIT,
    CREATE,
    DELETE,
    DELIVER,
    ELECT,
    EXPAND,
    EXPIRE,
    HANDLE,
    KILL,
    LOAD,
    LOSE,
    MOVE,
    REASSIGN,
    RENEW,
    SHRINK,
    START,
    ClusterInput,
    Request,
)

GROUPS = 0  # the partition of the offsets topic that has the groups
_CONSUMED = 1  # the number of the topic that they commit offsets of


class ImpossibleError(Exception):
    """The input cannot happen in this state of the cluster."""


class PlannedTopic(NamedTuple):
    """A topic that may be created.

    Args:
        name: of the topic.
        replicas: by partition, its replicas.
        target: to which partition 0 is reassigned.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...]
    target: tuple[int, ...] = ()


class Orphan(NamedTuple):
    """A request of a connection that has ended."""

    broker: int
    request: ControlRequest


@dataclass(slots=True)
class Machine:
    """What a broker leaves when it is killed, and its process while it runs."""

    broker: Broker | None = None
    logs: set[TopicPartition] = field(default_factory=set)
    registrations: list[int] = field(default_factory=list)
    session: Session | None = None  # that a killed broker has left


class Offsets:
    """The offsets topic as its replicas agree on it: only the leader in the store can append."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._committed: dict[int, set[TopicPartition]] = {}

    def read(self, partition: int) -> set[TopicPartition]:
        """See `OffsetsLog`."""
        return self._committed.get(partition, set())

    def append(self, broker: int, partition: int, of: TopicPartition, *, committed: bool) -> bool:
        """See `OffsetsLog`."""
        state = self._access.state(TopicPartition(OFFSETS_TOPIC, partition))
        if state is None or state.leader != broker:
            return False
        offsets = self._committed.setdefault(partition, set())
        if committed:
            offsets.add(of)
        else:
            offsets.discard(of)
        return True


class Cluster:
    """Brokers 1, 2, ..., N and their store.

    Args:
        store: that they share.
        brokers: how many there are; none runs at first.
        topics: that may be created, by number.
        options: of the brokers.
    """

    def __init__(
        self,
        store: Store,
        brokers: int,
        topics: Sequence[PlannedTopic] = (),
        options: Options | None = None,
    ) -> None:
        self._store = store
        self._options = options or Options()
        self.topics = tuple(topics)
        self.admin = Access(store.open())
        self.machines = {number: Machine() for number in range(1, brokers + 1)}
        self.orphans: list[Orphan] = []
        self.offsets = Offsets(self.admin)
        self.older = self._options.older
        self.describer = Describer(
            [each.name for each in self.topics], self._registrations, older=self.older
        )
        self._actions: dict[str, Callable[[ClusterInput], None]] = {
            START: lambda each: self._start(each.broker),
            KILL: lambda each: self._kill(each.broker),
            EXPIRE: lambda each: self._expire(each.broker),
            MOVE: lambda _: delete(self.admin.session, nodes.CONTROLLER),
            CREATE: self._create,
            DELETE: lambda each: create(
                self.admin.session, nodes.deletion_path(self.topics[each.topic].name)
            ),
            ELECT: self._elect,
            REASSIGN: lambda each: self._reassign(each, self.topics[each.topic].target),
            CANCEL: lambda each: self._reassign(each, None),
            SHRINK: lambda each: self._alter_isr(each, joins=False),
            EXPAND: lambda each: self._alter_isr(each, joins=True),
            COMMIT: self._commit,
            RENEW: lambda each: self.running(each.broker).renew(),
            HANDLE: lambda each: self.running(each.broker).handle(),
            CLAIM: lambda each: self.running(each.broker).controller.claim(),
            DELIVER: self._deliver,
            ARRIVE: self._arrive,
            LOSE: self._lose,
            LOAD: lambda each: self.running(each.broker).coordinator.do_task(),
            ANNOUNCE: lambda each: self.running(each.broker).announce_isrs(),
        }
        self.admin.create_top_level()

    def apply(self, given: ClusterInput) -> None:
        """Let something happen.

        Raises:
            ImpossibleError: it cannot happen now.
        """
        self._actions[given.name](given)

    def settle(self) -> None:
        """Wait until the watches of all changes so far have been called."""
        for machine in self.machines.values():
            if machine.broker is not None:
                machine.broker.access.session.settle()

    def go_on(self) -> None:
        """Do what brokers do by themselves, until nothing is left."""
        while self.step() is not None:
            pass

    def step(self) -> ClusterInput | None:
        """Do the next of what brokers do by themselves; return it, or None if nothing is left.

        A broker learns that its session has ended when the others have nothing left to do: the
        store calls their watches at once, and the broker has to connect again.
        """
        given = self._next_step()
        if given is not None:
            self.apply(given)
            self.settle()
        return given

    def _next_step(self) -> ClusterInput | None:
        expired = []
        for number, machine in self.machines.items():
            broker = machine.broker
            if broker is None:
                continue
            controller = broker.controller
            if not broker.renewing and not broker.access.session.alive:
                expired.append(number)
                continue
            if controller.claiming is not None:
                return ClusterInput(CLAIM, number)
            if controller.queue:
                return ClusterInput(HANDLE, number)
            if broker.coordinator.tasks:
                return ClusterInput(LOAD, number)
            for receiver, queue in controller.channels.queues.items():
                if queue and self.machines[receiver].broker is not None:
                    return ClusterInput(DELIVER, receiver, sender=number)
        return ClusterInput(RENEW, expired[0]) if expired else None

    def running(self, number: int) -> Broker:
        """A broker that runs.

        Raises:
            ImpossibleError: it does not.
        """
        broker = self.machines[number].broker
        if broker is None:
            message = f"broker {number} does not run"
            raise ImpossibleError(message)
        return broker

    def controller(self) -> Broker:
        """The broker in `/controller`, which runs.

        Raises:
            ImpossibleError: there is none.
        """
        number = self.admin.controller()
        if number is None:
            message = "no broker is the controller"
            raise ImpossibleError(message)
        return self.running(number)

    @property
    def consumed(self) -> TopicPartition:
        """The partition that groups commit offsets of; it need not exist."""
        planned = self.topics[_CONSUMED:]
        return TopicPartition(planned[0].name if planned else "consumed", 0)

    def _registrations(self, number: int) -> list[int]:
        return self.machines[number].registrations

    def _start(self, number: int) -> None:
        machine = self.machines[number]
        if machine.broker is not None:
            message = f"broker {number} runs"
            raise ImpossibleError(message)
        machine.broker = Broker(
            number,
            self._store,
            machine.logs,
            self.offsets,
            lambda broker, request: self.orphans.append(Orphan(broker, request)),
            options=self._options,
            registrations=machine.registrations,
        )
        machine.session = None

    def _kill(self, number: int) -> None:
        """The process is gone; the store ends its session later."""
        broker = self.running(number)
        machine = self.machines[number]
        machine.broker = None
        session = broker.access.session
        machine.session = session if session.alive else None
        broker.controller.channels.close()
        broker.controller.drop_events()

    def _expire(self, number: int) -> None:
        machine = self.machines[number]
        broker = machine.broker
        session = machine.session if broker is None else broker.access.session
        if session is None:
            message = f"broker {number} has no session"
            raise ImpossibleError(message)
        machine.session = None
        session.expire()

    def _create(self, given: ClusterInput) -> None:
        topic = self.topics[given.topic]
        data = nodes.topic_data(dict(enumerate(topic.replicas)))
        create(self.admin.session, nodes.topic_path(topic.name), data)

    def _elect(self, given: ClusterInput) -> None:
        topic = self.topics[given.topic]
        partitions = tuple(
            TopicPartition(topic.name, number) for number in range(len(topic.replicas))
        )
        self.controller().controller.put(ReplicaLeaderElection(partitions))

    def _reassign(self, given: ClusterInput, target: tuple[int, ...] | None) -> None:
        of = TopicPartition(self.topics[given.topic].name, 0)
        self.controller().controller.put(PartitionReassignment({of: target}))

    def _alter_isr(self, given: ClusterInput, *, joins: bool) -> None:
        """The leader of partition 0 wants another ISR: `sender` falls behind or catches up."""
        leader, follower = self.running(given.broker), given.sender
        of = TopicPartition(self.topics[given.topic].name, 0)
        isr = leader.replicas.hosted[of].isr
        # Scala's small sets keep the order.
        isr = (*isr, follower) if joins else tuple(each for each in isr if each != follower)
        if self.older:
            leader.write_isr(of, isr)
        else:
            self.controller().controller.put(leader.alter_isr(of, isr))

    def _commit(self, given: ClusterInput) -> None:
        self.running(given.broker).coordinator.commit(GROUPS, self.consumed)

    def _deliver(self, given: ClusterInput) -> None:
        controller = self.running(given.sender).controller
        broker = self.running(given.broker)
        queue = controller.channels.queues.get(given.broker)
        if not queue:
            message = f"no request from broker {given.sender} to broker {given.broker}"
            raise ImpossibleError(message)
        request = queue.popleft()
        response = broker.receive(request)
        if response is not None and isinstance(request, StopReplicaRequest):
            controller.stopped(given.broker, request, response)

    def _arrive(self, given: ClusterInput) -> None:
        orphan = self._take_orphan(given.request)
        self.running(orphan.broker).receive(orphan.request)

    def _lose(self, given: ClusterInput) -> None:
        self._take_orphan(given.request)

    def _take_orphan(self, request: Request | None) -> Orphan:
        for orphan in self.orphans:
            if self.describer.request(*orphan) == request:
                self.orphans.remove(orphan)
                return orphan
        message = f"no request {request}"
        raise ImpossibleError(message)
