"""Requests of a controller: what is sent together, and the channels to brokers.

ControllerChannelManager.scala at tag 2.7.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeVar

from groupcheck.implementation.cluster.context import ControllerContext, ControllerError
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    PartitionState,
    StopReplicaRequest,
    StopState,
    UpdateMetadataRequest,
    during_delete,
)
from groupcheck.implementation.cluster.store import StoreError
from groupcheck.model.brokers import DURING_DELETE, NO_EPOCH

_State = TypeVar("_State")


class IllegalStateError(ControllerError):
    """Kafka's IllegalStateException: requests of an earlier batch were never sent."""


class Metadata(Enum):
    """Which UpdateMetadata a controller sends.

    Kafka sends all of them. A comparison with a specification that leaves some out needs the same.
    """

    ALL = "all"
    OF_PARTITIONS = "those about partitions"
    NONE = "none"


class Channels:
    """The requests to each broker, the oldest first.

    Args:
        on_sent: is called with a request that may have been sent when its connection ends.
    """

    def __init__(self, on_sent: Callable[[int, ControlRequest], None]) -> None:
        self._on_sent = on_sent
        self.queues: dict[int, deque[ControlRequest]] = {}

    def add(self, broker: int) -> None:
        """Connect to a broker (ControllerChannelManager.scala:96)."""
        self.queues.setdefault(broker, deque())

    def remove(self, broker: int) -> None:
        """End the connection to a broker (ControllerChannelManager.scala:106, 188)."""
        queue = self.queues.pop(broker)
        if queue:
            self._on_sent(broker, queue[0])

    def close(self) -> None:
        """End all connections (ControllerChannelManager.scala:77)."""
        for broker in list(self.queues):
            self.remove(broker)

    def send(self, broker: int, request: ControlRequest) -> None:
        """Send a request after the earlier ones, if the broker is connected."""
        if (queue := self.queues.get(broker)) is not None:
            queue.append(request)


class RequestBatch:
    """The requests that a change causes: one of each kind per broker.

    Args:
        controller: the broker that sends them.
    """

    def __init__(
        self, controller: int, context: ControllerContext, channels: Channels, metadata: Metadata
    ) -> None:
        self._controller = controller
        self._context = context
        self._channels = channels
        self._metadata = metadata
        self._leader_and_isr: dict[int, dict[TopicPartition, PartitionState]] = {}
        self._stop: dict[int, dict[TopicPartition, StopState]] = {}
        self._metadata_brokers: set[int] = set()
        self._metadata_partitions: dict[TopicPartition, PartitionState] = {}

    @property
    def left_over(self) -> bool:
        """Whether requests are in it (ControllerChannelManager.scala:350)."""
        return bool(self._leader_and_isr or self._stop or self._metadata_brokers)

    def begin(self) -> None:
        """Begin a batch.

        Raises:
            IllegalStateError: the batch before it has never been sent.
        """
        if self.left_over:
            message = "the batch is not empty"
            raise IllegalStateError(message)

    def clear(self) -> None:
        """Drop what is in it (ControllerChannelManager.scala:364)."""
        self._leader_and_isr.clear()
        self._stop.clear()
        self._metadata_brokers.clear()
        self._metadata_partitions.clear()

    def leader_and_isr(
        self, brokers: Iterable[int], of: TopicPartition, state: LeaderAndIsr, *, is_new: bool
    ) -> None:
        """Add LeaderAndIsr to brokers, and UpdateMetadata to all.

        ControllerChannelManager.scala:371.
        """
        replicas = self._context.replicas_of(of)
        for broker in brokers:
            if broker >= 0:
                partitions = self._leader_and_isr.setdefault(broker, {})
                new = is_new or (of in partitions and partitions[of].is_new)
                partitions[of] = PartitionState(state, replicas, new)
        self.update_metadata(self._context.live, (of,))

    def stop_replica(self, broker: int, of: TopicPartition, *, delete: bool) -> None:
        """Add StopReplica to a broker (ControllerChannelManager.scala:398)."""
        known = self._context.leadership.get(of)
        epoch = NO_EPOCH if known is None else known.leader_epoch
        if of.topic in self._context.to_be_deleted:
            epoch = DURING_DELETE
        if self._context.older:
            epoch = NO_EPOCH  # 2.4.1 has none in the request: ControllerChannelManager.scala:404
        partitions = self._stop.setdefault(broker, {})
        delete = delete or (of in partitions and partitions[of].delete)
        partitions[of] = StopState(epoch, delete)

    def update_metadata(self, brokers: Iterable[int], of: Iterable[TopicPartition]) -> None:
        """Add UpdateMetadata to brokers (ControllerChannelManager.scala:422)."""
        if self._metadata is Metadata.NONE:
            return
        self._metadata_brokers.update(brokers)
        for each in of:
            state = self._context.leadership.get(each)
            if state is None:
                continue
            if each.topic in self._context.to_be_deleted:
                state = during_delete(state)
            replicas = self._context.replicas_of(each)
            offline = tuple(broker for broker in replicas if not self._context.online(broker))
            self._metadata_partitions[each] = PartitionState(state, replicas, offline=offline)

    def send(self, epoch: int) -> None:
        """Send what is in it to the brokers that are live (ControllerChannelManager.scala:641)."""
        for broker, states in self._in_order(self._leader_and_isr):
            live = self._context.live[broker]
            self._channels.send(broker, LeaderAndIsrRequest(self._controller, epoch, live, states))
        partitions = dict(sorted(self._metadata_partitions.items()))
        if partitions or self._metadata is Metadata.ALL:
            for broker in sorted(self._metadata_brokers & self._context.live.keys()):
                live, all_live = self._context.live[broker], dict(self._context.endpoints)
                self._channels.send(
                    broker,
                    UpdateMetadataRequest(self._controller, epoch, live, partitions, all_live),
                )
        for broker, stops in self._in_order(self._stop):
            live = self._context.live[broker]
            self._channels.send(broker, StopReplicaRequest(self._controller, epoch, live, stops))
        self.clear()

    def send_after(self, change: Callable[[], None]) -> None:
        """Begin, make a change that adds requests, and send them; an error ends it where it is.

        Kafka logs the error (PartitionStateMachine.scala:166, ReplicaStateMachine.scala:119).

        Raises:
            ControllerMovedError: another controller has been elected.
        """
        try:
            self.begin()
            change()
            self.send(self._context.epoch)
        except (ControllerError, StoreError):
            return

    def _in_order(
        self, requests: dict[int, dict[TopicPartition, _State]]
    ) -> Iterable[tuple[int, dict[TopicPartition, _State]]]:
        for broker in sorted(requests.keys() & self._context.live.keys()):
            yield broker, dict(sorted(requests[broker].items()))
