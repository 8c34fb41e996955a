"""The phases of replicas (ReplicaStateMachine.scala at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Final

from groupcheck.implementation.cluster.access import Access, Updates
from groupcheck.implementation.cluster.batch import RequestBatch
from groupcheck.implementation.cluster.context import (
    ControllerContext,
    PartitionAndReplica,
    ReplicaPhase,
)
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.store import StoreError
from groupcheck.model.brokers import NO_LEADER

_NEW, _ONLINE, _OFFLINE, _STARTED, _SUCCESSFUL, _INELIGIBLE, _NON_EXISTENT = ReplicaPhase
# By phase, those before it (ReplicaStateMachine.scala:453).
_BEFORE: Final = {
    _NEW: {_NON_EXISTENT},
    _ONLINE: {_NEW, _ONLINE, _OFFLINE, _INELIGIBLE},
    _OFFLINE: {_NEW, _ONLINE, _OFFLINE, _INELIGIBLE},
    _STARTED: {_OFFLINE},
    _SUCCESSFUL: {_STARTED},
    _INELIGIBLE: {_OFFLINE, _STARTED},
    _NON_EXISTENT: {_SUCCESSFUL},
}


class ReplicaStateMachine:
    """The phases of the replicas of a controller."""

    def __init__(self, context: ControllerContext, access: Access, batch: RequestBatch) -> None:
        self._context = context
        self.access = access
        self._batch = batch
        self._actions = {
            _NEW: self._become_new,
            _ONLINE: self._become_online,
            _STARTED: self._start_deletion,
            _NON_EXISTENT: self._become_non_existent,
        }

    @property
    def stuck(self) -> bool:
        """Whether requests of an earlier batch are left, so that no phase changes any more.

        A fenced write in the change to OfflineReplica leaves them, and no resignation clears them
        (ReplicaStateMachine.scala:222, 350; KafkaController.scala:449).
        """
        return self._batch.left_over

    def startup(self) -> None:
        """Set the phases of all replicas (ReplicaStateMachine.scala:36, 58)."""
        context = self._context
        replicas = context.replicas(context.all_partitions())
        for each in replicas:
            online = context.online(each.broker)
            context.replica_phases[each] = _ONLINE if online else _INELIGIBLE
        self.change([each for each in replicas if context.online(each.broker)], _ONLINE)
        self.change([each for each in replicas if not context.online(each.broker)], _OFFLINE)

    def change(self, replicas: Iterable[PartitionAndReplica], target: ReplicaPhase) -> None:
        """Change the phases of replicas, as far as they may, and send the requests.

        ReplicaStateMachine.scala:107.

        Raises:
            ControllerMovedError: another controller has been elected.
        """
        changed = sorted(replicas)
        if changed:
            self._batch.send_after(lambda: self._change(changed, target))

    def _change(self, replicas: list[PartitionAndReplica], target: ReplicaPhase) -> None:
        for broker, group in groupby(replicas, attrgetter("broker")):
            self._change_on(broker, list(group), target)

    def _change_on(
        self, broker: int, replicas: list[PartitionAndReplica], target: ReplicaPhase
    ) -> None:
        phases = self._context.replica_phases
        for each in replicas:
            phases.setdefault(each, _NON_EXISTENT)
        valid = [each for each in replicas if phases[each] in _BEFORE[target]]
        if target is _OFFLINE:
            self._become_offline(broker, valid)
            return
        action = self._actions.get(target)
        for each in valid:
            if action is None:
                phases[each] = target
            else:
                action(each)

    def _become_new(self, replica: PartitionAndReplica) -> None:
        """ReplicaStateMachine.scala:167."""
        state = self._context.leadership.get(replica.partition)
        if state is not None:
            if state.leader == replica.broker:
                return
            self._batch.leader_and_isr((replica.broker,), replica.partition, state, is_new=True)
        self._context.replica_phases[replica] = _NEW

    def _become_online(self, replica: PartitionAndReplica) -> None:
        """ReplicaStateMachine.scala:193."""
        context = self._context
        if context.replica_phases[replica] is _NEW:
            assigned = context.assignment(replica.partition)
            if replica.broker not in assigned.replicas:
                replicas = (*assigned.replicas, replica.broker)
                context.assign(replica.partition, assigned._replace(replicas=replicas))
        elif (state := context.leadership.get(replica.partition)) is not None:
            self._batch.leader_and_isr((replica.broker,), replica.partition, state, is_new=False)
        context.replica_phases[replica] = _ONLINE

    def _become_offline(self, broker: int, replicas: list[PartitionAndReplica]) -> None:
        """ReplicaStateMachine.scala:220."""
        context = self._context
        for each in replicas:
            self._batch.stop_replica(broker, each.partition, delete=False)
        known = [each.partition for each in replicas if each.partition in context.leadership]
        unknown = [each for each in replicas if each.partition not in context.leadership]
        for of, state in sorted(self._remove_from_isr(broker, known).items()):
            if of.topic not in context.to_be_deleted:
                others = [each for each in context.replicas_of(of) if each != broker]
                self._batch.leader_and_isr(others, of, state, is_new=False)
            context.replica_phases[PartitionAndReplica(broker, of)] = _OFFLINE
        for replica in unknown:
            self._batch.update_metadata(context.live, (replica.partition,))
            context.replica_phases[replica] = _OFFLINE

    def _start_deletion(self, replica: PartitionAndReplica) -> None:
        """ReplicaStateMachine.scala:251."""
        self._context.replica_phases[replica] = _STARTED
        self._batch.stop_replica(replica.broker, replica.partition, delete=True)

    def _become_non_existent(self, replica: PartitionAndReplica) -> None:
        """ReplicaStateMachine.scala:273."""
        assigned = self._context.assignment(replica.partition)
        self._context.assign(replica.partition, assigned.without(replica.broker))
        del self._context.replica_phases[replica]

    def _remove_from_isr(self, broker: int, partitions: list[TopicPartition]) -> Updates:
        """The new states of partitions; again, where someone else has written.

        ReplicaStateMachine.scala:295.
        """
        removed: Updates = {}
        while partitions:
            done, partitions = self._try_to_remove(broker, partitions)
            removed |= done
        return removed

    def _try_to_remove(
        self, broker: int, partitions: list[TopicPartition]
    ) -> tuple[Updates, list[TopicPartition]]:
        """ReplicaStateMachine.scala:330."""
        context = self._context
        without: Updates = {}
        adjusted: Updates = {}
        for each in partitions:
            state = self._read(each)
            if state is None:
                continue
            if broker not in state.isr:
                without[each] = state._replace(controller_epoch=context.epoch)
                continue
            leader = NO_LEADER if state.leader == broker else state.leader
            left = tuple(other for other in state.isr if other != broker) or state.isr
            adjusted[each] = state._replace(
                leader=leader, leader_epoch=state.leader_epoch + 1, isr=left
            )
        result = self.access.update_states(adjusted, context.epoch, context.epoch_version)
        done = without | result.finished
        context.leadership.update(done)
        return done, result.to_retry

    def _read(self, of: TopicPartition) -> LeaderAndIsr | None:
        """The state of a partition, unless a later controller has written it."""
        try:
            state = self.access.state(of)
        except StoreError:
            return None
        later = state is not None and state.controller_epoch > self._context.epoch
        return None if later else state
