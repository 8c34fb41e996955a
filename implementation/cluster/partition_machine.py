"""The phases of partitions, and the election of leaders.

PartitionStateMachine.scala and Election.scala at tag 2.7.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from groupcheck.implementation.cluster.access import Access
from groupcheck.implementation.cluster.batch import RequestBatch
from groupcheck.implementation.cluster.context import ControllerContext, PartitionPhase
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.requests import INITIAL_LEADER_EPOCH
from groupcheck.implementation.cluster.store import StoreError

UNCLEAN: Final = "unclean.leader.election.enable"

_NEW, _ONLINE, _OFFLINE, _NON_EXISTENT = PartitionPhase
# By phase, those before it (PartitionStateMachine.scala:562).
_BEFORE: Final = {
    _NEW: {_NON_EXISTENT},
    _ONLINE: {_NEW, _ONLINE, _OFFLINE},
    _OFFLINE: {_NEW, _ONLINE, _OFFLINE},
    _NON_EXISTENT: {_OFFLINE},
}


class Strategy(Enum):
    """How a leader is elected (PartitionStateMachine.scala:556)."""

    OFFLINE = "the first live replica in the ISR"
    PREFERRED = "the first replica, if it is live and in the ISR"
    REASSIGN = "the first target of a reassignment that is live and in the ISR"


class PartitionStateMachine:
    """The phases of the partitions of a controller.

    Args:
        unclean: `unclean.leader.election.enable` of the broker.
    """

    def __init__(
        self, context: ControllerContext, access: Access, batch: RequestBatch, *, unclean: bool
    ) -> None:
        self._context = context
        self.access = access
        self._batch = batch
        self._unclean = unclean

    def startup(self) -> None:
        """Set the phases of all partitions (PartitionStateMachine.scala:38, 83)."""
        context = self._context
        for each in context.all_partitions():
            state = context.leadership.get(each)
            if state is None:
                context.partition_phases[each] = _NEW
            else:
                online = context.online(state.leader)
                context.partition_phases[each] = _ONLINE if online else _OFFLINE
        self.trigger_online()

    def trigger_online(self) -> None:
        """Elect leaders of the partitions without one (PartitionStateMachine.scala:57)."""
        self.change(self._context.unfinished(), _ONLINE, Strategy.OFFLINE)

    def change(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionPhase,
        strategy: Strategy = Strategy.OFFLINE,
    ) -> None:
        """Change the phases of partitions, as far as they may, and send the requests.

        PartitionStateMachine.scala:147.

        Raises:
            ControllerMovedError: another controller has been elected.
        """
        changed = list(partitions)
        if changed:
            self._batch.send_after(lambda: self._change(changed, target, strategy))

    def _change(
        self, partitions: list[TopicPartition], target: PartitionPhase, strategy: Strategy
    ) -> None:
        phases = self._context.partition_phases
        for each in partitions:
            phases.setdefault(each, _NON_EXISTENT)
        valid = [each for each in partitions if phases[each] in _BEFORE[target]]
        if target is not _ONLINE:
            phases.update(dict.fromkeys(valid, target))
            return
        new = [each for each in valid if phases[each] is _NEW]
        others = [each for each in valid if phases[each] is not _NEW]
        phases.update(dict.fromkeys(self._initialise(new), _ONLINE))
        phases.update(dict.fromkeys(self._elect(others, strategy), _ONLINE))

    def _initialise(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Write the first states of partitions (PartitionStateMachine.scala:277)."""
        context = self._context
        states = {}
        for each in partitions:
            live = tuple(filter(context.online, context.replicas_of(each)))
            if live:
                states[each] = LeaderAndIsr(live[0], INITIAL_LEADER_EPOCH, live, 0, context.epoch)
        if not states:
            return []
        try:
            errors = self.access.create_states(states, context.epoch_version)
        except StoreError:
            return []
        created = [each for each, error in errors.items() if error is None]
        for each in created:
            context.leadership[each] = states[each]
            self._batch.leader_and_isr(states[each].isr, each, states[each], is_new=True)
        return created

    def _elect(self, partitions: list[TopicPartition], strategy: Strategy) -> list[TopicPartition]:
        """Elect leaders; again, where another has written (PartitionStateMachine.scala:331)."""
        elected: list[TopicPartition] = []
        while partitions:
            done, partitions = self._try_to_elect(partitions, strategy)
            elected += done
        return elected

    def _try_to_elect(
        self, partitions: list[TopicPartition], strategy: Strategy
    ) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Those with a new leader, and those to try again (PartitionStateMachine.scala:369)."""
        context = self._context
        states: dict[TopicPartition, LeaderAndIsr] = {}
        recipients: dict[TopicPartition, tuple[int, ...]] = {}
        for each in partitions:
            state = self._readable(each)
            chosen = None if state is None else self._chosen(each, state, strategy)
            if chosen is not None:
                states[each], recipients[each] = chosen
        result = self.access.update_states(states, context.epoch, context.epoch_version)
        for each, state in result.finished.items():
            context.leadership[each] = state
            self._batch.leader_and_isr(recipients[each], each, state, is_new=False)
        return list(result.finished), result.to_retry

    def _readable(self, of: TopicPartition) -> LeaderAndIsr | None:
        """The state of a partition, unless a later controller has written it."""
        try:
            state = self.access.state(of)
        except StoreError:
            return None
        later = state is not None and state.controller_epoch > self._context.epoch
        return None if later else state

    def _chosen(
        self, of: TopicPartition, state: LeaderAndIsr, strategy: Strategy
    ) -> tuple[LeaderAndIsr, tuple[int, ...]] | None:
        """The new state of a partition, and who hears of it (Election.scala:28, 64, 99)."""
        online = self._context.online
        if strategy is Strategy.REASSIGN:
            targets = self._context.assignment(of).target
            able = [each for each in targets if online(each) and each in state.isr]
            return (_with_leader(state, able[0], state.isr), targets) if able else None
        assigned = self._context.replicas_of(of)
        in_sync = [each for each in assigned if online(each) and each in state.isr]
        if strategy is Strategy.PREFERRED:
            if not in_sync or in_sync[0] != assigned[0]:
                return None
            return _with_leader(state, assigned[0], state.isr), assigned
        live = tuple(filter(online, assigned))
        if in_sync:
            return _with_leader(state, in_sync[0], tuple(filter(online, state.isr))), live
        if live and not any(map(online, state.isr)) and self._is_unclean(of.topic):
            return _with_leader(state, live[0], live[:1]), live
        return None

    def _is_unclean(self, topic: str) -> bool:
        """Whether a replica that is not in the ISR may lead (PartitionStateMachine.scala:470)."""
        try:
            config = self.access.topic_config(topic)
        except StoreError:
            return False
        return config.get(UNCLEAN, str(self._unclean).lower()) == "true"


def _with_leader(state: LeaderAndIsr, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
    """LeaderAndIsr.scala: `newLeaderAndIsr`."""
    return state._replace(leader=leader, leader_epoch=state.leader_epoch + 1, isr=isr)
