"""What one broker of a cluster knows: its metadata, and the partitions that it leads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, takewhile

from groupcheck.implementation.cluster.broker import Broker
from groupcheck.implementation.cluster.coordinator import OFFSETS_TOPIC
from groupcheck.implementation.cluster.nodes import TopicPartition
from groupcheck.implementation.cluster.requests import PartitionState
from groupcheck.implementation.core.groups import partition_for
from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Client
from groupcheck.implementation.server.known import GROUP_KEY
from groupcheck.implementation.server.running_cluster import RunningCluster
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import Partition, Topics
from groupcheck.model.brokers import NO_LEADER
from groupcheck.model.vocabulary import ErrorCode

NO_CONTROLLER = -1  # MetadataResponse.java


class NodeTopics(Topics):
    """The topics in the metadata of a broker.

    Args:
        limits: of the broker.
        running: the cluster.
        broker: the broker of the cluster.

    """

    def __init__(self, limits: Limits, running: RunningCluster, broker: Broker) -> None:
        super().__init__(limits)
        self._running = running
        self._broker = broker

    def names(self) -> list[str]:
        """See `Topics`."""
        return list(dict.fromkeys(of.topic for of in self._broker.partitions))

    def create(self, name: str, partitions: int) -> list[Partition]:
        """Create a topic in the cluster; the broker hears of it later.

        Raises:
            BadTopicError: it cannot be created.
        """
        if not self._is_known(name) and name not in self._running.cluster.admin.topics():
            self._running.create_topic(name, partitions)
        return self.partitions(name)

    def exists(self, name: str) -> bool:
        """See `Topics`; one that is being deleted still exists."""
        return name in self._running.cluster.admin.topics()

    def delete(self, name: str) -> None:
        """See `Topics`.

        Raises:
            BadTopicError: there is no such topic, or it is the offsets topic.
        """
        self._running.delete_topic(name)

    def when_settled(self, then: Callable[[], None]) -> None:
        """See `Topics`."""
        self._running.when_settled(then)

    def partitions(self, name: str) -> list[Partition]:
        """See `Topics`."""
        return self._running.topics.partitions(name) if self._is_known(name) else []

    def partition(self, name: str, index: int) -> Partition | None:
        """See `Topics`."""
        return self._running.topics.partition(name, index) if self._is_known(name) else None

    def led(self, name: str, index: int) -> Partition | ErrorCode:
        """See `Topics` (ReplicaManager.scala, getPartitionOrError)."""
        of = TopicPartition(name, index)
        if self._broker.replicas.leads(of):
            found = self._running.topics.partition(name, index)
            return found or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if of in self._broker.replicas.hosted or of in self._broker.partitions:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _is_known(self, name: str) -> bool:
        return TopicPartition(name, 0) in self._broker.partitions


class NodeMetadata:
    """The cluster in the metadata of a broker: see `Known`.

    Args:
        running: the cluster.
        broker: the broker of the cluster.

    """

    def __init__(self, running: RunningCluster, broker: Broker) -> None:
        self._running = running
        self._broker = broker

    @property
    def node_id(self) -> int:
        """See `Known`."""
        return self._broker.number

    @property
    def controller_id(self) -> int:
        """See `Known`."""
        found = self._broker.controller_id
        return NO_CONTROLLER if found is None else found

    def brokers(self, client: Client) -> tuple[messages.MetadataResponseBroker, ...]:
        """See `Known`; a client reaches all brokers at the host to which it has connected."""
        host, ports = client.broker_address[0], self._running.ports
        return tuple(
            messages.MetadataResponseBroker(each, host, ports[each])
            for each in sorted(self._broker.live)
            if each in ports
        )

    def topic(self, name: str) -> messages.MetadataResponseTopic | None:
        """See `Known` (MetadataCache.scala, getPartitionMetadata)."""
        partitions = self._broker.partitions
        keys = (TopicPartition(name, index) for index in count())
        states = [partitions[of] for of in takewhile(partitions.__contains__, keys)]
        if not states:
            return None
        described = tuple(self._partition(index, state) for index, state in enumerate(states))
        is_internal = name == OFFSETS_TOPIC
        return messages.MetadataResponseTopic(ErrorCode.NONE, name, described, is_internal)

    def _partition(self, index: int, said: PartitionState) -> messages.MetadataResponsePartition:
        live, state = self._broker.live, said.state
        is_available = state.leader in live
        return messages.MetadataResponsePartition(
            ErrorCode.NONE if is_available else messages.LEADER_NOT_AVAILABLE,
            index,
            state.leader if is_available else NO_LEADER,
            state.leader_epoch,
            said.replicas,
            state.isr,
            tuple(each for each in said.replicas if each not in live),
        )

    def coordinator(
        self, key_type: int, key: str, client: Client
    ) -> messages.MetadataResponseBroker | ErrorCode:
        """See `Known`: the leader of the offsets partition of a group."""
        if key_type != GROUP_KEY:
            return ErrorCode.INVALID_REQUEST
        partition = partition_for(key, self._running.offsets_partitions)
        said = self._broker.partitions.get(TopicPartition(OFFSETS_TOPIC, partition))
        leader = NO_LEADER if said is None else said.state.leader
        found = (each for each in self.brokers(client) if each.node_id == leader)
        return next(found, ErrorCode.COORDINATOR_NOT_AVAILABLE)
