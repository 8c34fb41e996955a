"""The controller of a cluster (KafkaController.scala at tag 2.7.2).

It does what Kafka does without reassignments and preferred elections through the store, offline
log directories and features.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from groupcheck.implementation.cluster import events, nodes
from groupcheck.implementation.cluster.access import Access, ControllerMovedError
from groupcheck.implementation.cluster.batch import Channels, Metadata, RequestBatch
from groupcheck.implementation.cluster.context import (
    ControllerError,
    MissingError,
    PartitionAndReplica,
    PartitionPhase,
    ReplicaPhase,
)
from groupcheck.implementation.cluster.deletion import TopicDeletion
from groupcheck.implementation.cluster.election import Elected
from groupcheck.implementation.cluster.events import (
    AlterIsrReceived,
    AlterIsrResults,
    ControllerEvent,
    PartitionReassignment,
    ReassignedStateChanged,
    ReplicaLeaderElection,
    StopReplicaResponseReceived,
)
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.partition_machine import PartitionStateMachine, Strategy
from groupcheck.implementation.cluster.reassignment import Reassignment
from groupcheck.implementation.cluster.replica_machine import ReplicaStateMachine
from groupcheck.implementation.cluster.requests import StopReplicaRequest, StopReplicaResponse
from groupcheck.implementation.cluster.store import StoreError

_Registered = dict[int, tuple[int, tuple[str, int]]]


class Controller(Elected):
    """The controller events of a broker, and the cluster while it is the controller.

    Args:
        broker: its id.
        access: to the store, with the session of the broker.
        register: registers the broker again, in a new session.
        channels: to the brokers.
        metadata: which UpdateMetadata it sends.
        unclean: `unclean.leader.election.enable`.
        older: whether it does what Kafka 2.4 does.
    """

    def __init__(  # noqa: PLR0913 - these are the parts of a broker that a controller uses
        self,
        broker: int,
        access: Access,
        register: Callable[[], None],
        channels: Channels,
        *,
        metadata: Metadata = Metadata.ALL,
        unclean: bool = False,
        older: bool = False,
    ) -> None:
        super().__init__(broker, access, register, channels, older=older)

        # The controller and its two state machines have a batch each (KafkaController.scala:101).
        def batch() -> RequestBatch:
            return RequestBatch(broker, self.context, channels, metadata)

        self._batch = batch()
        self.replica_machine = ReplicaStateMachine(self.context, access, batch())
        self.partition_machine = PartitionStateMachine(
            self.context, access, batch(), unclean=unclean
        )
        machines = (self.partition_machine, self.replica_machine)
        self._deletion = TopicDeletion(self.context, access, machines, self._send_metadata_to_all)
        self._reassignment = Reassignment(
            self.context,
            access,
            machines,
            self._deletion,
            self._batch,
            self._send_metadata_to_all,
            self.put,
        )
        self._simple: dict[str, Callable[[], None]] = {
            events.STARTUP: self._process_startup,
            events.REELECT: self._process_reelect,
            events.CONTROLLER_CHANGE: self._maybe_resign,
            events.EXPIRE: self._process_expire,
            events.REGISTER: self._process_register,
            events.BROKER_CHANGE: self._if_active(self._process_broker_change),
            events.TOPIC_CHANGE: self._if_active(self._process_topic_change),
            events.TOPIC_DELETION: self._if_active(self._process_topic_deletion),
            events.ISR_CHANGE: self._if_active(self._process_isr_change),
        }

    def _if_active(self, action: Callable[[], None]) -> Callable[[], None]:
        return lambda: action() if self.active else None

    def _process(self, event: ControllerEvent) -> None:
        if isinstance(event, AlterIsrReceived):
            self._process_alter_isr(event)
        elif isinstance(event, ReplicaLeaderElection):
            self._process_election(event)
        elif isinstance(event, PartitionReassignment):
            if self.active:
                self._reassignment.request(event.targets)
        elif isinstance(event, ReassignedStateChanged):
            if self.active:
                self._reassignment.complete_if_in_sync(event.partition)
        elif isinstance(event, StopReplicaResponseReceived):
            self._process_stopped(event)
        else:
            self._simple[event.name]()

    # Failover.

    def _fail_over(self) -> None:
        """Read the cluster and take it over (KafkaController.scala:229).

        Raises:
            ControllerMovedError: another controller has been elected meanwhile.
        """
        context = self.context
        self._handles_children = True
        if context.older:
            self._delete_isr_changes(self.access.isr_changes(self._children_changed))
        self._read_context()
        deletions = self.access.deletions(self._children_changed)
        ineligible = [each for each in context.all_topics if self._has_dead_replica(each)]
        ineligible += [each.topic for each in context.being_reassigned]
        self._deletion.init(deletions, ineligible)
        self._send_metadata(context.live, ())
        self.replica_machine.startup()
        self.partition_machine.startup()
        self._reassignment.resume()
        self._deletion.resume()

    def _read_context(self) -> None:
        """KafkaController.scala:895."""
        context = self.context
        context.set_live(self.access.brokers(self._children_changed))
        context.all_topics = set(self.access.topics(self._children_changed))
        for each, assignment in self.access.assignments(sorted(context.all_topics)).items():
            context.assign(each, assignment)
            if assignment.changes:
                context.being_reassigned.add(each)
        context.leadership.clear()
        self._read_leadership(context.all_partitions())
        for broker in context.live:
            self.channels.add(broker)

    def _read_leadership(self, partitions: Iterable[TopicPartition]) -> None:
        """KafkaController.scala:972."""
        for each in partitions:
            state = self.access.state(each)
            if state is not None:
                self.context.leadership[each] = state

    def _has_dead_replica(self, topic: str) -> bool:
        replicas = self.context.replicas_of_topic(topic)
        return not all(self.context.online(each.broker) for each in replicas)

    # Brokers.

    def _process_broker_change(self) -> None:
        """Compare the registered brokers with those that are live (KafkaController.scala:1554)."""
        context = self.context
        registered = self.access.brokers(self._children_changed)
        live = dict(context.live)
        new = {broker: registered[broker] for broker in registered if broker not in live}
        bounced = {
            broker: found
            for broker, found in registered.items()
            if broker in live and found[0] > live[broker]
        }
        dead = [broker for broker in live if broker not in registered]
        for broker in new:
            self.channels.add(broker)
        for broker in bounced:
            self.channels.remove(broker)
            self.channels.add(broker)
        for broker in dead:
            self.channels.remove(broker)
        if new:
            self._start(new)
        if bounced:
            self._fail(list(bounced))
            self._start(bounced)
        if dead:
            self._fail(dead)

    def _start(self, brokers: _Registered) -> None:
        """Brokers are live now (KafkaController.scala:517)."""
        context = self.context
        context.add_live(brokers)
        self._send_metadata([each for each in context.live if each not in brokers], ())
        # 2.4.1 has topics that are to be deleted, too: KafkaController.scala:418.
        known = sorted(context.leadership) if context.older else context.with_leaders()
        self._send_metadata(brokers, known)
        replicas = context.replicas_on(brokers)
        self.replica_machine.change(replicas, ReplicaPhase.ONLINE)
        self.partition_machine.trigger_online()
        self._reassignment.resume(brokers)
        self._deletion.resume_for({each.topic for each in replicas} & context.to_be_deleted)

    def _fail(self, brokers: Collection[int]) -> None:
        """Brokers are not live any more (KafkaController.scala:580, 609)."""
        context = self.context
        context.remove_live(brokers)
        replicas = context.replicas_on(brokers)
        deleted = [each for each in replicas if each.topic in context.to_be_deleted]
        others = [each for each in replicas if each.topic not in context.to_be_deleted]
        without_leader = context.with_offline_leader()
        self.partition_machine.change(without_leader, PartitionPhase.OFFLINE)
        self.partition_machine.trigger_online()
        self.replica_machine.change(others, ReplicaPhase.OFFLINE)
        self._deletion.fail(deleted)
        if not without_leader:
            self._send_metadata(context.live, ())

    # Topics.

    def _process_topic_change(self) -> None:
        """Compare the topics with those that are known (KafkaController.scala:1627)."""
        context = self.context
        topics = set(self.access.topics(self._children_changed))
        new = sorted(topics - context.all_topics)
        gone = sorted(context.all_topics - topics)
        context.all_topics = set(topics)
        assignments = self.access.assignments(new)
        for topic in gone:
            context.remove_topic(topic)
        for each, assignment in assignments.items():
            context.assign(each, assignment)
        if assignments:
            self._create(list(assignments))

    def _create(self, partitions: list[TopicPartition]) -> None:
        """KafkaController.scala:643."""
        replicas = self.context.replicas(partitions)
        self.partition_machine.change(partitions, PartitionPhase.NEW)
        self.replica_machine.change(replicas, ReplicaPhase.NEW)
        self.partition_machine.change(partitions, PartitionPhase.ONLINE)
        self.replica_machine.change(replicas, ReplicaPhase.ONLINE)

    def _process_topic_deletion(self) -> None:
        """KafkaController.scala:1702."""
        topics = self.access.deletions(self._children_changed)
        for topic in topics:
            if topic not in self.context.all_topics:
                self.access.delete(nodes.deletion_path(topic), self.context.epoch_version)
        known = [topic for topic in topics if topic in self.context.all_topics]
        if known:
            # No topic of these is queued yet, unless it was before: Kafka marks it too early.
            reassigned = {each.topic for each in self.context.being_reassigned}
            self._deletion.mark_ineligible(reassigned.intersection(known))
            self._deletion.enqueue(known)

    def _process_stopped(self, event: StopReplicaResponseReceived) -> None:
        """KafkaController.scala:1393."""
        if not self.active:
            return
        failed = {each for each, error in event.partitions.items() if error or event.error}
        self._deletion.fail(PartitionAndReplica(event.broker, each) for each in failed)
        deleted = [each for each in event.partitions if each not in failed]
        if deleted:
            self._deletion.complete(PartitionAndReplica(event.broker, each) for each in deleted)

    def stopped(
        self, broker: int, request: StopReplicaRequest, response: StopReplicaResponse
    ) -> None:
        """Take an answer to StopReplica (ControllerChannelManager.scala:558)."""
        errors = {
            each: error
            for each, error in response.partitions.items()
            if each.topic in self.context.deletion_started and request.partitions[each].delete
        }
        if errors:
            self.put(StopReplicaResponseReceived(broker, response.error, errors))

    # Leaders.

    def _process_election(self, event: ReplicaLeaderElection) -> None:
        """Elect preferred leaders (KafkaController.scala:2127).

        Raises:
            MissingError: a partition has never had a leader.
        """
        if not self.active:
            return
        context = self.context
        known = set(context.all_partitions())
        electable = []
        for each in event.partitions:
            if each not in known or each.topic in context.to_be_deleted:
                continue
            state = context.leadership.get(each)
            if state is None:
                message = f"None.get: {each}"
                raise MissingError(message)
            if state.leader != context.replicas_of(each)[0]:
                electable.append(each)
        self.partition_machine.change(electable, PartitionPhase.ONLINE, Strategy.PREFERRED)

    def _process_alter_isr(self, event: AlterIsrReceived) -> None:
        """Answer, and complete reassignments (KafkaController.scala:2238)."""
        error, results = self._alter_isr(event)
        event.answer(error, results)
        for each, result in results.items():
            if isinstance(result, LeaderAndIsr):
                self._reassignment.complete_if_in_sync(each)

    def _alter_isr(self, event: AlterIsrReceived) -> tuple[str, AlterIsrResults]:
        """The error, or the results, of AlterIsr (KafkaController.scala:2251)."""
        if not self.active:
            return events.NOT_CONTROLLER, {}
        if self.context.live.get(event.broker) != event.broker_epoch:
            return events.STALE_BROKER_EPOCH, {}
        try:
            return events.NONE, self._altered(event.states)
        except (ControllerError, ControllerMovedError, StoreError):
            return events.UNKNOWN_SERVER_ERROR, {}

    def _altered(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> AlterIsrResults:
        context = self.context
        results: dict[TopicPartition, LeaderAndIsr | str] = {}
        written = {}
        for each, state in states.items():
            current = context.leadership.get(each)
            if current is None:
                results[each] = events.UNKNOWN_TOPIC_OR_PARTITION
            elif state.leader_epoch < current.leader_epoch:
                results[each] = events.FENCED_LEADER_EPOCH
            elif state[:3] == current[:3]:  # equalsIgnoreZk
                results[each] = current
            else:
                written[each] = state
        result = self.access.update_states(written, context.epoch, context.epoch_version)
        results.update(result.finished)
        results.update(dict.fromkeys(result.failed, events.UNKNOWN_SERVER_ERROR))
        results.update(dict.fromkeys(result.to_retry, events.INVALID_UPDATE_VERSION))
        self._read_leadership(result.finished)
        self._send_metadata_to_all(states)
        return results

    def _process_isr_change(self) -> None:
        """Read the ISRs that leaders have written (KafkaController.scala:1711, 2.4.1)."""
        changes = self.access.isr_changes(self._children_changed)
        try:
            partitions = sorted({each for of in changes.values() for each in of})
            if partitions:
                self._read_leadership(partitions)
                self._send_metadata_to_all(partitions)
        finally:
            self._delete_isr_changes(changes)

    def _delete_isr_changes(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.access.delete(path, self.context.epoch_version)

    # Metadata.

    def _send_metadata_to_all(self, partitions: Iterable[TopicPartition]) -> None:
        self._send_metadata(self.context.live, partitions)

    def _send_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """KafkaController.scala:1173."""
        self._batch.begin()
        self._batch.update_metadata(brokers, partitions)
        self._batch.send(self.context.epoch)
