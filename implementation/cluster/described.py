"""Requests of a cluster in the vocabulary of `model/brokers.py`.

The epoch of a registration is the number of a transaction. The vocabulary counts the registrations
of each broker instead. Of each topic only partition 0 is described.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    PartitionState,
    StopReplicaRequest,
    StopState,
    UpdateMetadataRequest,
)
from groupcheck.model.brokers import (
    LEADER_AND_ISR,
    STOP_REPLICA,
    UPDATE_METADATA,
    Partition,
    Request,
    TopicRequest,
)

_NAMES = {
    LeaderAndIsrRequest: LEADER_AND_ISR,
    UpdateMetadataRequest: UPDATE_METADATA,
    StopReplicaRequest: STOP_REPLICA,
}


def partition_of(state: LeaderAndIsr) -> Partition:
    """The state of a partition."""
    return Partition(
        state.leader, state.leader_epoch, state.isr, state.controller_epoch, state.version
    )


class Describer:
    """Describes requests.

    Args:
        topics: by number, their names.
        registrations: by broker, the epochs of its registrations.
        older: whether leaders write ISRs, as in Kafka 2.4.
    """

    def __init__(
        self,
        topics: Sequence[str],
        registrations: Callable[[int], Sequence[int]],
        *,
        older: bool = False,
    ) -> None:
        self.older = older
        self.names = tuple(topics)
        self.numbers = {name: number for number, name in enumerate(topics)}
        self._registrations = registrations

    def epoch(self, broker: int, epoch: int) -> int:
        """Which registration of a broker has an epoch; 0 for none."""
        return 0 if epoch == 0 else self._registrations(broker).index(epoch) + 1

    def request(self, broker: int, request: ControlRequest) -> Request:
        """A request to a broker."""
        return Request(
            _NAMES[type(request)],
            broker,
            request.controller_epoch,
            self.epoch(broker, request.broker_epoch),
            tuple(
                self._topic(type(request), each, said) for each, said in request.partitions.items()
            ),
        )

    def _topic(
        self,
        kind: type[ControlRequest],
        of: TopicPartition,
        said: PartitionState | StopState,
    ) -> TopicRequest:
        number = self.numbers[of.topic]
        if isinstance(said, StopState):
            return TopicRequest(number, leader_epoch=said.leader_epoch, delete=said.delete)
        leader, leader_epoch, isr, version, controller_epoch = said.state
        if kind is UpdateMetadataRequest:
            return TopicRequest(number, leader, leader_epoch)
        written = controller_epoch if self.older else 0
        return TopicRequest(
            number,
            leader,
            leader_epoch,
            isr,
            version,
            replicas=said.replicas,
            controller_epoch=written,
        )
