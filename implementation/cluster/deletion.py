"""The deletion of topics (TopicDeletionManager.scala at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from groupcheck.implementation.cluster import nodes
from groupcheck.implementation.cluster.access import Access
from groupcheck.implementation.cluster.context import (
    ControllerContext,
    PartitionAndReplica,
    PartitionPhase,
    ReplicaPhase,
)
from groupcheck.implementation.cluster.nodes import TopicPartition
from groupcheck.implementation.cluster.partition_machine import PartitionStateMachine
from groupcheck.implementation.cluster.replica_machine import ReplicaStateMachine


class TopicDeletion:
    """The topics that a controller deletes.

    Args:
        send_metadata: sends UpdateMetadata of partitions to all live brokers.
    """

    def __init__(
        self,
        context: ControllerContext,
        access: Access,
        machines: tuple[PartitionStateMachine, ReplicaStateMachine],
        send_metadata: Callable[[list[TopicPartition]], None],
    ) -> None:
        self._context = context
        self.access = access
        self._partitions, self._replicas = machines
        self._send_metadata = send_metadata

    def init(self, topics: Collection[str], ineligible: Collection[str]) -> None:
        """Take over deletions that are in progress (TopicDeletionManager.scala:95)."""
        self._context.to_be_deleted.update(topics)
        self._context.ineligible.update(self._context.to_be_deleted & set(ineligible))

    def enqueue(self, topics: Collection[str]) -> None:
        """Delete topics (TopicDeletionManager.scala:121)."""
        self._context.to_be_deleted.update(topics)
        self.resume()

    def resume_for(self, topics: Iterable[str]) -> None:
        """Go on with topics that may be eligible now (TopicDeletionManager.scala:134)."""
        resumed = self._context.to_be_deleted & set(topics)
        if resumed:
            self._context.ineligible -= resumed
            self.resume()

    def fail(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Replicas cannot be deleted (TopicDeletionManager.scala:151)."""
        failed = [each for each in replicas if each.topic in self._context.to_be_deleted]
        if failed:
            self._replicas.change(failed, ReplicaPhase.DELETION_INELIGIBLE)
            self.mark_ineligible({each.topic for each in failed})
            self.resume()

    def complete(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Replicas have been deleted (TopicDeletionManager.scala:206)."""
        deleted = [each for each in replicas if each.topic in self._context.to_be_deleted]
        self._replicas.change(deleted, ReplicaPhase.DELETION_SUCCESSFUL)
        self.resume()

    def mark_ineligible(self, topics: Collection[str]) -> None:
        """Halt deletions that are queued (TopicDeletionManager.scala:170)."""
        self._context.ineligible.update(self._context.to_be_deleted & set(topics))

    def resume(self) -> None:
        """Finish, retry or begin what can be (TopicDeletionManager.scala:318).

        Raises:
            ControllerMovedError: another controller has been elected.
            MissingError: a replica has no phase.
        """
        topics = sorted(self._context.to_be_deleted)
        # 2.4.1 goes on with each topic before it looks at the next. TopicDeletionManager.scala:334
        for each in [[topic] for topic in topics] if self._context.older else [topics]:
            self._resume(each)

    def _resume(self, topics: list[str]) -> None:
        retried: list[str] = []
        begun: list[str] = []
        for topic in topics:
            self._look_at(topic, retried, begun)
        ineligible = ReplicaPhase.DELETION_INELIGIBLE
        failed = [
            each for topic in retried for each in self._context.replicas_in(topic, ineligible)
        ]
        self._replicas.change(failed, ReplicaPhase.OFFLINE)
        if begun:
            self._begin(begun)

    def _look_at(self, topic: str, retried: list[str], begun: list[str]) -> None:
        context = self._context
        started = ReplicaPhase.DELETION_STARTED
        if context.all_in(topic, ReplicaPhase.DELETION_SUCCESSFUL):
            self._finish(topic)
        elif not context.any_in(topic, started) and context.any_in(
            topic, ReplicaPhase.DELETION_INELIGIBLE
        ):
            retried.append(topic)
        queued = topic in context.to_be_deleted
        if queued and not context.any_in(topic, started) and topic not in context.ineligible:
            begun.append(topic)

    def _finish(self, topic: str) -> None:
        """Delete the nodes of a topic (TopicDeletionManager.scala:239)."""
        context = self._context
        deleted = context.replicas_in(topic, ReplicaPhase.DELETION_SUCCESSFUL)
        self._replicas.change(deleted, ReplicaPhase.NON_EXISTENT)
        if context.older:
            context.not_to_be_deleted(topic)
        version = context.epoch_version
        self.access.delete_recursively(nodes.topic_path(topic), version)
        self.access.delete(nodes.topic_config_path(topic), version)
        self.access.delete(nodes.deletion_path(topic), version)
        context.remove_topic(topic)

    def _begin(self, topics: list[str]) -> None:
        """Tell all brokers, and stop and delete replicas (TopicDeletionManager.scala:257)."""
        context = self._context
        unseen = [topic for topic in topics if topic not in context.deletion_started]
        if unseen:
            partitions = context.partitions_of(unseen)
            self._partitions.change(partitions, PartitionPhase.OFFLINE)
            self._partitions.change(partitions, PartitionPhase.NON_EXISTENT)
            context.deletion_started.update(unseen)
        self._send_metadata(context.partitions_of(topics))
        self._delete_replicas(topics)

    def _delete_replicas(self, topics: list[str]) -> None:
        """TopicDeletionManager.scala:285."""
        context = self._context
        dead: list[PartitionAndReplica] = []
        retried: list[PartitionAndReplica] = []
        for topic in topics:
            successful = context.replicas_in(topic, ReplicaPhase.DELETION_SUCCESSFUL)
            for each in context.replicas_of_topic(topic):
                if not context.online(each.broker):
                    dead.append(each)
                elif each not in successful:
                    retried.append(each)
        self._replicas.change(dead, ReplicaPhase.DELETION_INELIGIBLE)
        self._replicas.change(retried, ReplicaPhase.OFFLINE)
        self._replicas.change(retried, ReplicaPhase.DELETION_STARTED)
        self.mark_ineligible({each.topic for each in dead})
