"""The events of a controller (KafkaController.scala:2567 at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition

STARTUP: Final = "Startup"
REELECT: Final = "Reelect"
CONTROLLER_CHANGE: Final = "ControllerChange"
EXPIRE: Final = "Expire"
REGISTER: Final = "RegisterBrokerAndReelect"
BROKER_CHANGE: Final = "BrokerChange"
TOPIC_CHANGE: Final = "TopicChange"
TOPIC_DELETION: Final = "TopicDeletion"
ISR_CHANGE: Final = "IsrChangeNotification"

# Errors of AlterIsr.
NONE: Final = ""
NOT_CONTROLLER: Final = "NOT_CONTROLLER"
STALE_BROKER_EPOCH: Final = "STALE_BROKER_EPOCH"
FENCED_LEADER_EPOCH: Final = "FENCED_LEADER_EPOCH"
UNKNOWN_TOPIC_OR_PARTITION: Final = "UNKNOWN_TOPIC_OR_PARTITION"
INVALID_UPDATE_VERSION: Final = "INVALID_UPDATE_VERSION"
UNKNOWN_SERVER_ERROR: Final = "UNKNOWN_SERVER_ERROR"
NETWORK_EXCEPTION: Final = "NETWORK_EXCEPTION"  # there is no answer

AlterIsrResults = Mapping[TopicPartition, LeaderAndIsr | str]
"""By partition, its new state or an error."""

AlterIsrAnswer = Callable[[str, AlterIsrResults], None]
"""Takes the error of the request, and the results if there is none."""


class Event(NamedTuple):
    """An event that has a name only."""

    name: str


class ReplicaLeaderElection(NamedTuple):
    """An operator asks for the preferred leaders of partitions."""

    partitions: tuple[TopicPartition, ...]

    @property
    def name(self) -> str:
        """Kafka's name."""
        return "ReplicaLeaderElection"


class PartitionReassignment(NamedTuple):
    """An operator asks for other replicas of partitions.

    Args:
        targets: by partition, its new replicas; None to cancel a reassignment.
    """

    targets: dict[TopicPartition, tuple[int, ...] | None]

    @property
    def name(self) -> str:
        """Kafka's name."""
        return "ApiPartitionReassignment"


class ReassignedStateChanged(NamedTuple):
    """The state of a partition has changed that was being reassigned, in 2.4."""

    partition: TopicPartition

    @property
    def name(self) -> str:
        """Kafka's name."""
        return "PartitionReassignmentIsrChange"


class AlterIsrReceived(NamedTuple):
    """A leader asks for other in-sync replicas.

    Args:
        states: by partition, the state that it asks for, with the version that it knows.
    """

    broker: int
    broker_epoch: int
    states: dict[TopicPartition, LeaderAndIsr]
    answer: AlterIsrAnswer

    @property
    def name(self) -> str:
        """Kafka's name."""
        return "AlterIsrReceived"


class StopReplicaResponseReceived(NamedTuple):
    """A broker has answered StopReplica for topics that are being deleted.

    Args:
        error: of the request.
        partitions: by partition, its error.
    """

    broker: int
    error: str
    partitions: dict[TopicPartition, str]

    @property
    def name(self) -> str:
        """Kafka's name."""
        return "TopicDeletionStopReplicaResponseReceived"


ControllerEvent = (
    Event
    | ReplicaLeaderElection
    | PartitionReassignment
    | ReassignedStateChanged
    | AlterIsrReceived
    | StopReplicaResponseReceived
)
