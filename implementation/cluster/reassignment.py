"""The reassignment of partitions (KafkaController.scala:652 to 850 at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from groupcheck.implementation.cluster.access import Access
from groupcheck.implementation.cluster.batch import IllegalStateError, RequestBatch
from groupcheck.implementation.cluster.context import (
    ControllerContext,
    ControllerError,
    MissingError,
    PartitionAndReplica,
    PartitionPhase,
    ReplicaPhase,
)
from groupcheck.implementation.cluster.deletion import TopicDeletion
from groupcheck.implementation.cluster.events import ControllerEvent, ReassignedStateChanged
from groupcheck.implementation.cluster.nodes import ReplicaAssignment, TopicPartition
from groupcheck.implementation.cluster.partition_machine import PartitionStateMachine, Strategy
from groupcheck.implementation.cluster.replica_machine import ReplicaStateMachine
from groupcheck.implementation.cluster.store import StoreError

Targets = Mapping[TopicPartition, tuple[int, ...] | None]
"""By partition, the replicas to which it is reassigned; None to cancel that."""


class StateChangeFailedError(ControllerError):
    """Kafka's StateChangeFailedException: a later controller has written the node."""


class Reassignment:
    """The partitions that a controller moves to other replicas.

    Args:
        batch: of the controller itself.
        send_metadata: sends UpdateMetadata of partitions to all live brokers.
        put: adds an event.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - these are the parts of a controller that take part
        self,
        context: ControllerContext,
        access: Access,
        machines: tuple[PartitionStateMachine, ReplicaStateMachine],
        deletion: TopicDeletion,
        batch: RequestBatch,
        send_metadata: Callable[[list[TopicPartition]], None],
        put: Callable[[ControllerEvent], None],
    ) -> None:
        self._context = context
        self.access = access
        self._partitions, self._replicas = machines
        self._deletion = deletion
        self._batch = batch
        self._send_metadata = send_metadata
        self._put = put

    def request(self, targets: Targets) -> None:
        """Begin, replace or cancel reassignments (KafkaController.scala:1769, 815).

        Raises:
            ControllerMovedError: another controller has been elected.
        """
        valid: dict[TopicPartition, ReplicaAssignment] = {}
        for each, target in targets.items():
            assignment = self._requested(each, target)
            if assignment is not None:
                valid[each] = assignment
        self.access.requested_reassignments()  # there are none, unless a tool has written them
        for each, assignment in valid.items():
            deleted = each.topic in self._context.to_be_deleted
            if deleted or not self._context.replicas_of(each):
                continue
            try:
                self._go_on(each, assignment)
            except (ControllerError, StoreError):
                continue

    def _requested(
        self, of: TopicPartition, target: tuple[int, ...] | None
    ) -> ReplicaAssignment | None:
        """What a request asks for, if it may (KafkaController.scala:1798, 1823)."""
        current = self._context.assignment(of)
        if target is None:
            return current.reassigned_to(current.origin) if current.changes else None
        asked = current.reassigned_to(target)
        return asked if all(map(self._context.online, asked.adding)) else None

    def resume(self, brokers: Iterable[int] | None = None) -> None:
        """Go on with all reassignments, or with those to some brokers (KafkaController.scala:552).

        Raises:
            ControllerMovedError: another controller has been elected.
        """
        among = None if brokers is None else set(brokers)
        for each in sorted(self._context.being_reassigned):
            assignment = self._context.assignment(each)
            if among is None or among.intersection(assignment.target):
                self._go_on(each, assignment)

    def complete_if_in_sync(self, of: TopicPartition) -> None:
        """Complete a reassignment whose last replica has caught up (KafkaController.scala:1844).

        Raises:
            ControllerMovedError: another controller has been elected.
        """
        if of in self._context.being_reassigned:
            assignment = self._context.assignment(of)
            if self._is_complete(of, assignment):
                self._go_on(of, assignment)

    def _go_on(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """KafkaController.scala:723."""
        self._deletion.mark_ineligible({of.topic})
        self._update(of, assignment)
        if self._is_complete(of, assignment):
            self._complete(of, assignment)
            return
        self._raise_leader_epoch(of, assignment)
        for broker in assignment.adding:
            self._replicas.change([PartitionAndReplica(broker, of)], ReplicaPhase.NEW)

    def _update(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """KafkaController.scala:775; the handler is that of 2.4.1, line 687."""
        current = self._context.assignment(of)
        if current != assignment:
            self._write(of, assignment)
            self._context.assign(of, assignment)
            self._stop(of, [each for each in current.replicas if each not in assignment.replicas])
        if self._context.older:
            self.access.handle_state(of, lambda: self._put(ReassignedStateChanged(of)))
        self._context.being_reassigned.add(of)

    def _is_complete(self, of: TopicPartition, assignment: ReplicaAssignment) -> bool:
        """KafkaController.scala:979."""
        if not assignment.changes:
            return True
        state = self.access.state(of)
        return state is not None and set(assignment.target).issubset(state.isr)

    def _complete(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Steps B1 to B8."""
        added = [PartitionAndReplica(each, of) for each in assignment.adding]
        self._replicas.change(added, ReplicaPhase.ONLINE)
        completed = ReplicaAssignment(assignment.target)
        self._context.assign(of, completed)
        self._move_leader(of, completed)
        self._stop(of, assignment.removing)
        self._write(of, completed)
        self.access.ignore_state(of)
        self.access.requested_reassignments()
        self._context.being_reassigned.discard(of)
        self._send_metadata([of])
        self._deletion.resume_for((of.topic,))

    def _move_leader(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """KafkaController.scala:991."""
        state = self._context.leadership.get(of)
        if state is None:
            message = f"None.get: {of}"
            raise MissingError(message)
        if state.leader in assignment.replicas and self._context.online(state.leader):
            self._raise_leader_epoch(of, assignment)
        else:
            self._partitions.change([of], PartitionPhase.ONLINE, Strategy.REASSIGN)

    def _stop(self, of: TopicPartition, brokers: Iterable[int]) -> None:
        """KafkaController.scala:1013."""
        replicas = [PartitionAndReplica(each, of) for each in brokers]
        self._replicas.change(replicas, ReplicaPhase.OFFLINE)
        self._replicas.change(replicas, ReplicaPhase.DELETION_STARTED)
        self._replicas.change(replicas, ReplicaPhase.DELETION_SUCCESSFUL)
        self._replicas.change(replicas, ReplicaPhase.NON_EXISTENT)

    def _write(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """KafkaController.scala:1025."""
        partitions = {**self._context.assignments.get(of.topic, {}), of.partition: assignment}
        self.access.set_assignments(of.topic, partitions, self._context.epoch_version)

    def _raise_leader_epoch(self, of: TopicPartition, assignment: ReplicaAssignment) -> None:
        """KafkaController.scala:1050, 1191."""
        context = self._context
        while True:
            state = self.access.state(of)
            if state is None:
                _fail(IllegalStateError(f"{of} has no state"))
            if state.controller_epoch > context.epoch:
                _fail(StateChangeFailedError(f"{of} is written by a later controller"))
            raised = state._replace(leader_epoch=state.leader_epoch + 1)
            result = self.access.update_states({of: raised}, context.epoch, context.epoch_version)
            for error in result.failed.values():
                raise error
            if result.finished:
                break
        written = result.finished[of]
        context.leadership[of] = written
        self._batch.begin()
        self._batch.leader_and_isr(assignment.origin, of, written, is_new=False)
        self._batch.leader_and_isr(assignment.adding, of, written, is_new=True)
        self._batch.send(context.epoch)


def _fail(error: ControllerError) -> NoReturn:
    raise error
