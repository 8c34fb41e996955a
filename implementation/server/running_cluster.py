"""The cluster of several brokers on the event loop: each of its steps is a turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

from groupcheck.implementation.cluster import nodes
from groupcheck.implementation.cluster.broker import Broker
from groupcheck.implementation.cluster.cluster import Cluster, ImpossibleError
from groupcheck.implementation.cluster.coordinator import OFFSETS_TOPIC
from groupcheck.implementation.cluster.embedded import EmbeddedStore
from groupcheck.implementation.cluster.events import ReplicaLeaderElection
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.replicas import HostedPartition
from groupcheck.implementation.cluster.store import NodeExistsError, create
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.server.settings import Settings
from groupcheck.implementation.server.topics import BadTopicError, Topics, already_there
from groupcheck.model.brokers import ClusterInput
from groupcheck.model.vocabulary import ErrorCode

MOST_REPLICAS: Final = 3  # of a partition


class RunningCluster:
    """A cluster, and what its brokers share.

    Args:
        brokers: how many there are; none runs at first.
        settings: of all brokers.
        loop: takes the steps.

    Attributes:
        topics: their partitions, which all replicas share.
        log: of the groups, which all replicas share.
        ports: of the brokers that have been started.
        followers: by running broker, what is called after each of its steps.
    """

    def __init__(self, brokers: int, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = Cluster(EmbeddedStore(), brokers)
        self.topics = Topics(settings.limits)
        self.log = MemoryLog()
        self.ports: dict[int, int] = {}
        self.followers: dict[int, Callable[[], None]] = {}
        self.offsets_partitions = settings.config.offsets_topic_num_partitions
        self._loop = loop
        self._next: asyncio.Handle | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self._waiting: list[Callable[[], None]] = []  # for the end of the steps
        self._asked: set[tuple[TopicPartition, int, tuple[int, ...]]] = set()

    # Steps.

    def apply(self, given: ClusterInput) -> None:
        """Let something happen, and take the steps that follow in the next turns of the loop.

        Raises:
            ImpossibleError: it cannot happen now.
        """
        self.cluster.apply(given)
        self.go_on()

    def go_on(self) -> None:
        """Take the steps that follow from a change."""
        self._asked.clear()
        self._settled.clear()
        self._soon()

    async def settled(self) -> None:
        """Wait until no step is left."""
        await self._settled.wait()

    def when_settled(self, then: Callable[[], None]) -> None:
        """Call a function when no step is left."""
        if self._settled.is_set():
            then()
        else:
            self._waiting.append(then)

    def close(self) -> None:
        """Take no more steps."""
        if self._next is not None:
            self._next.cancel()

    def _soon(self) -> None:
        if self._next is None:
            self._next = self._loop.call_soon(self._step)

    def _step(self) -> None:
        self._next = None
        given = self.cluster.step()
        self.cluster.orphans.clear()  # requests of connections that have ended are lost
        if given is not None:
            follow = self.followers.get(given.broker)
            self._soon()
            if follow is not None:
                follow()
        elif self._catch_up():
            self._soon()
        else:
            self._forget_deleted()
            self._settled.set()
            waiting, self._waiting = self._waiting, []
            for then in waiting:
                then()

    def _forget_deleted(self) -> None:
        there = set(self.cluster.admin.topics())
        for name in self.topics.names():
            if name not in there:
                self.topics.remove(name)

    # In-sync replicas.

    def _catch_up(self) -> bool:
        """Let leaders ask once for the followers that are not in the ISR; whether any does.

        Followers share the log of their leader: they have caught up at once.
        """
        try:
            controller = self.cluster.controller().controller
        except ImpossibleError:
            return False
        asked = False
        for leader, of, isr in list(self._wider()):
            key = (of, leader.replicas.hosted[of].leader_epoch, isr)
            if key not in self._asked:
                self._asked.add(key)
                controller.put(leader.alter_isr(of, isr))
                asked = True
        return asked

    def _wider(self) -> Iterator[tuple[Broker, TopicPartition, tuple[int, ...]]]:
        """The leaders whose ISR lacks followers, and the ISR with them."""
        for number, machine in self.cluster.machines.items():
            leader = machine.broker
            for of, hosted in leader.replicas.hosted.items() if leader is not None else ():
                if leader is None or hosted.leader != number or of not in leader.partitions:
                    continue
                replicas = leader.partitions[of].replicas
                more = [each for each in replicas if self._follows(each, of, hosted)]
                if more:
                    yield leader, of, (*hosted.isr, *more)

    def _follows(self, broker: int, of: TopicPartition, leader: HostedPartition) -> bool:
        """Whether a broker fetches from a leader, and is not in its ISR."""
        running = self.cluster.machines[broker].broker
        hosted = None if running is None else running.replicas.hosted.get(of)
        return (
            broker not in leader.isr
            and hosted is not None
            and hosted.fetches
            and hosted.leader_epoch == leader.leader_epoch
        )

    # Topics.

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic.

        Raises:
            BadTopicError: it cannot be created.
        """
        there = set(self.cluster.admin.topics())
        if name in there:
            raise already_there(name)
        self.topics.remove(name)
        self.topics.create(name, partitions)
        self._assign(name, partitions)
        self.go_on()

    def create_offsets_topic(self) -> None:
        """Create the topic of the groups."""
        self._assign(OFFSETS_TOPIC, self.offsets_partitions)
        self.go_on()

    def _assign(self, name: str, partitions: int) -> None:
        """Write a topic to the store, with replicas round robin over the brokers."""
        brokers = len(self.cluster.machines)
        replicas = min(brokers, MOST_REPLICAS)
        assignment = {
            index: [(index + replica) % brokers + 1 for replica in range(replicas)]
            for index in range(partitions)
        }
        data = nodes.topic_data(assignment)
        create(self.cluster.admin.session, nodes.topic_path(name), data)

    def delete_topic(self, name: str) -> None:
        """Request the deletion of a topic; it waits while a replica's broker does not run.

        Raises:
            BadTopicError: there is no such topic, or it is the offsets topic.
        """
        if name == OFFSETS_TOPIC:
            msg = f"{OFFSETS_TOPIC} is not deleted"
            raise BadTopicError(msg)
        self._expect(name)
        try:
            create(self.cluster.admin.session, nodes.deletion_path(name))
        except NodeExistsError:
            return
        self.go_on()

    def elect(self, name: str) -> None:
        """Ask the controller for the preferred leaders of a topic.

        Raises:
            BadTopicError: there is no such topic.
            ImpossibleError: no broker is the controller.
        """
        self._expect(name)
        partitions = tuple(self.cluster.admin.assignments([name]))
        self.cluster.controller().controller.put(ReplicaLeaderElection(partitions))
        self.go_on()

    def states(self, name: str) -> list[LeaderAndIsr | None]:
        """The states of the partitions of a topic in the store."""
        admin = self.cluster.admin
        return [admin.state(each) for each in admin.assignments([name])]

    def _expect(self, name: str) -> None:
        if name not in self.cluster.admin.topics():
            msg = f"there is no topic {name[:80]!r}"
            raise BadTopicError(msg, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
