"""The replicas of a broker (ReplicaManager.scala and Partition.scala at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.requests import PartitionState, StopState
from groupcheck.model.brokers import DURING_DELETE, NO_EPOCH

FENCED: Final = "FENCED_LEADER_EPOCH"


@dataclass(slots=True)
class HostedPartition:
    """A replica of a running broker.

    Attributes:
        leader: as the broker has accepted it, or None.
        fetches: whether the broker fetches from the leader.
        isr: that a leader knows.
        assigned: the replicas that a leader knows; others cannot join the ISR.
        proposed: the in-sync replicas that the leader has asked for, or None.
        controller_epoch: of the controller that has elected the leader.
    """

    leader: int | None = None
    leader_epoch: int = NO_EPOCH
    fetches: bool = False
    isr: tuple[int, ...] = ()
    version: int = 0
    proposed: LeaderAndIsr | None = None
    assigned: tuple[int, ...] = ()
    controller_epoch: int = 0

    def take(self, state: LeaderAndIsr, isr: tuple[int, ...]) -> None:
        """Take over what LeaderAndIsr says (Partition.scala:558, 642)."""
        self.leader_epoch = state.leader_epoch
        self.version = state.version
        self.controller_epoch = state.controller_epoch
        self.isr = isr
        self.proposed = None

    def expects(self, state: LeaderAndIsr) -> bool:
        """Whether an answer to AlterIsr is not older (Partition.scala:1448)."""
        return state.leader_epoch == self.leader_epoch and state.version >= self.version


class Replicas:
    """The replicas of a broker.

    Args:
        broker: its id.
        logs: the partitions that are on its disk, also before it has started.

    Attributes:
        hosted: by partition, the replica that it has heard of since its start.
        available: the brokers in its metadata; None for all.
    """

    def __init__(self, broker: int, logs: set[TopicPartition]) -> None:
        self._broker = broker
        self.logs = logs
        self.hosted: dict[TopicPartition, HostedPartition] = {}
        self.available: set[int] | None = None

    def leads(self, of: TopicPartition) -> bool:
        """Whether the broker leads a partition, as far as it knows."""
        hosted = self.hosted.get(of)
        return hosted is not None and hosted.leader == self._broker

    def become(
        self, states: dict[TopicPartition, PartitionState]
    ) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Become the leader or a follower of partitions (ReplicaManager.scala:1318).

        Returns:
            those that it has become the leader, and a follower of.
        """
        leaders: list[TopicPartition] = []
        followers: list[TopicPartition] = []
        for each, (state, replicas, _, _) in states.items():
            hosted = self.hosted.setdefault(each, HostedPartition())
            if state.leader_epoch <= hosted.leader_epoch or self._broker not in replicas:
                continue
            self.logs.add(each)
            if state.leader == self._broker:
                if hosted.leader != self._broker:
                    leaders.append(each)
                hosted.take(state, state.isr)
                hosted.leader, hosted.fetches = self._broker, False
                hosted.assigned = replicas
            elif self._is_available(state.leader):
                hosted.take(state, ())
                hosted.leader, hosted.fetches = state.leader, True
                hosted.assigned = ()
                followers.append(each)
        return leaders, followers

    def _is_available(self, broker: int) -> bool:
        """Whether a leader is in the metadata (ReplicaManager.scala:1614)."""
        return broker >= 0 and (self.available is None or broker in self.available)

    def stop(self, states: dict[TopicPartition, StopState]) -> dict[TopicPartition, str]:
        """Stop or delete replicas; by partition, the error (ReplicaManager.scala:376)."""
        errors = {each: self._fenced(each, stop.leader_epoch) for each, stop in states.items()}
        for each, error in errors.items():
            if error:
                continue
            if (hosted := self.hosted.get(each)) is not None:
                hosted.fetches = False
            if states[each].delete:
                self.hosted.pop(each, None)
                self.logs.discard(each)
        return errors

    def _fenced(self, of: TopicPartition, leader_epoch: int) -> str:
        hosted = self.hosted.get(of)
        if hosted is None or leader_epoch in (DURING_DELETE, NO_EPOCH):
            return ""
        return "" if leader_epoch > hosted.leader_epoch else FENCED

    def propose(self, of: TopicPartition, isr: Iterable[int]) -> LeaderAndIsr:
        """Ask the controller for other in-sync replicas (Partition.scala:1395)."""
        hosted = self.hosted[of]
        state = LeaderAndIsr(self._broker, hosted.leader_epoch, tuple(isr), hosted.version, 0)
        hosted.proposed = state
        return state
