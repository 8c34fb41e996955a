"""What a controller knows (ControllerContext.scala at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final, NamedTuple

from groupcheck.implementation.cluster.nodes import LeaderAndIsr, ReplicaAssignment, TopicPartition


class ControllerError(Exception):
    """The event of a controller fails, as with an exception that Kafka logs."""


class MissingError(ControllerError):
    """Kafka's NoSuchElementException: a map of the context has no such key."""


class PartitionPhase(Enum):
    """Kafka's `PartitionState` (PartitionStateMachine.scala:562)."""

    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


class ReplicaPhase(Enum):
    """Kafka's `ReplicaState` (ReplicaStateMachine.scala:453)."""

    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


class PartitionAndReplica(NamedTuple):
    """A replica of a partition. They are in the order of brokers."""

    broker: int
    partition: TopicPartition

    @property
    def topic(self) -> str:
        """The topic of the partition."""
        return self.partition.topic


_UNFINISHED: Final = frozenset({PartitionPhase.NEW, PartitionPhase.OFFLINE})


class ControllerContext:
    """The cluster as a controller knows it.

    Wherever Kafka iterates a set or a map without an order, these methods return what is in it in
    the order of partitions, and of brokers.

    Args:
        older: whether the controller does what Kafka 2.4 does.
    """

    def __init__(self, *, older: bool = False) -> None:
        self.older = older
        self.epoch = 0
        self.epoch_version = 0
        self.live: dict[int, int] = {}  # by broker, its epoch
        self.endpoints: dict[int, tuple[str, int]] = {}
        self.all_topics: set[str] = set()
        self.assignments: dict[str, dict[int, ReplicaAssignment]] = {}
        self.being_reassigned: set[TopicPartition] = set()
        self.leadership: dict[TopicPartition, LeaderAndIsr] = {}
        self.partition_phases: dict[TopicPartition, PartitionPhase] = {}
        self.replica_phases: dict[PartitionAndReplica, ReplicaPhase] = {}
        self.to_be_deleted: set[str] = set()
        self.deletion_started: set[str] = set()
        self.ineligible: set[str] = set()

    def set_live(self, brokers: dict[int, tuple[int, tuple[str, int]]]) -> None:
        """Take the brokers that are registered (ControllerContext.scala:169)."""
        self.live.clear()
        self.endpoints.clear()
        self.add_live(brokers)

    def add_live(self, brokers: dict[int, tuple[int, tuple[str, int]]]) -> None:
        """Add brokers (ControllerContext.scala:179)."""
        for broker, (epoch, endpoint) in brokers.items():
            self.live[broker] = epoch
            self.endpoints[broker] = endpoint

    def remove_live(self, brokers: Iterable[int]) -> None:
        """Remove brokers (ControllerContext.scala:184)."""
        for broker in brokers:
            self.live.pop(broker, None)
            self.endpoints.pop(broker, None)

    def online(self, broker: int) -> bool:
        """Whether a broker, and so its replicas, is live (ControllerContext.scala:211)."""
        return broker in self.live

    def replicas_of(self, of: TopicPartition) -> tuple[int, ...]:
        """The assigned replicas of a partition (ControllerContext.scala:129)."""
        return self.assignment(of).replicas

    def assignment(self, of: TopicPartition) -> ReplicaAssignment:
        """The replicas of a partition, with its reassignment (ControllerContext.scala:136)."""
        return self.assignments.get(of.topic, {}).get(of.partition, ReplicaAssignment())

    def assign(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Set the assigned replicas of a partition (ControllerContext.scala:141)."""
        self.assignments.setdefault(of.topic, {})[of.partition] = assignment

    def all_partitions(self) -> list[TopicPartition]:
        """The partitions that have an assignment (ControllerContext.scala:161)."""
        return sorted(
            TopicPartition(topic, partition)
            for topic, partitions in self.assignments.items()
            for partition in partitions
        )

    def partitions_of(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The partitions of topics (ControllerContext.scala:238)."""
        return sorted(
            TopicPartition(topic, partition)
            for topic in topics
            for partition in self.assignments.get(topic, ())
        )

    def replicas(self, of: Iterable[TopicPartition]) -> list[PartitionAndReplica]:
        """The replicas of partitions (ControllerContext.scala:266)."""
        return sorted(
            PartitionAndReplica(broker, each) for each in of for broker in self.replicas_of(each)
        )

    def replicas_of_topic(self, topic: str) -> list[PartitionAndReplica]:
        """The replicas of a topic (ControllerContext.scala:230)."""
        return self.replicas(self.partitions_of((topic,)))

    def replicas_on(self, brokers: Collection[int]) -> list[PartitionAndReplica]:
        """The replicas on brokers (ControllerContext.scala:219)."""
        return [each for each in self.replicas(self.all_partitions()) if each.broker in brokers]

    def reset(self) -> None:
        """Forget everything (ControllerContext.scala:273)."""
        self.__init__(older=self.older)  # type: ignore[misc]

    def remove_topic(self, topic: str) -> None:
        """Forget a topic, but not the phases of its partitions (ControllerContext.scala:289)."""
        if not self.older:
            self.not_to_be_deleted(topic)
        self.all_topics.discard(topic)
        for partition in self.assignments.pop(topic, ()):
            self.leadership.pop(TopicPartition(topic, partition), None)

    def not_to_be_deleted(self, topic: str) -> None:
        """Its deletion is over.

        ControllerContext.scala:295; TopicDeletionManager.scala:246 at tag 2.4.1.
        """
        self.to_be_deleted.discard(topic)
        self.deletion_started.discard(topic)

    def replica_phase(self, replica: PartitionAndReplica) -> ReplicaPhase:
        """The phase of a replica (ControllerContext.scala:384).

        Raises:
            MissingError: it has none.
        """
        phase = self.replica_phases.get(replica)
        if phase is None:
            message = f"key not found: {replica}"
            raise MissingError(message)
        return phase

    def replicas_in(self, topic: str, phase: ReplicaPhase) -> list[PartitionAndReplica]:
        """The replicas of a topic in a phase (ControllerContext.scala:330).

        Raises:
            MissingError: a replica has no phase.
        """
        return [each for each in self.replicas_of_topic(topic) if self.replica_phase(each) is phase]

    def all_in(self, topic: str, phase: ReplicaPhase) -> bool:
        """Whether no replica of a topic is in another phase (ControllerContext.scala:334).

        Raises:
            MissingError: a replica before the first in another phase has none.
        """
        return all(self.replica_phase(each) is phase for each in self.replicas_of_topic(topic))

    def any_in(self, topic: str, phase: ReplicaPhase) -> bool:
        """Whether a replica of a topic is in a phase (ControllerContext.scala:338).

        Raises:
            MissingError: a replica before the first in the phase has none.
        """
        return any(self.replica_phase(each) is phase for each in self.replicas_of_topic(topic))

    def unfinished(self) -> list[TopicPartition]:
        """The partitions that have no leader, or no live one (PartitionStateMachine.scala:57)."""
        return sorted(
            each
            for each, phase in self.partition_phases.items()
            if phase in _UNFINISHED and each.topic not in self.to_be_deleted
        )

    def with_leaders(self) -> list[TopicPartition]:
        """The partitions whose leader is known (ControllerContext.scala:423)."""
        return sorted(each for each in self.leadership if each.topic not in self.to_be_deleted)

    def with_offline_leader(self) -> list[TopicPartition]:
        """The partitions whose leader is not live (ControllerContext.scala:426)."""
        return [
            each for each in self.with_leaders() if not self.online(self.leadership[each].leader)
        ]
