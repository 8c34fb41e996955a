"""A broker of a cluster as a server: it loads and unloads groups as leaders move."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from groupcheck.implementation.cluster.broker import Broker
from groupcheck.implementation.cluster.coordinator import OFFSETS_TOPIC
from groupcheck.implementation.cluster.nodes import TopicPartition
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.log.records import Batch, Completed, Log
from groupcheck.implementation.server.groups import Embedded, WatchedLog
from groupcheck.implementation.server.node_view import NodeMetadata, NodeTopics
from groupcheck.implementation.server.ranges import DELETION
from groupcheck.implementation.server.running_cluster import RunningCluster
from groupcheck.implementation.server.server import Options, Server
from groupcheck.model.brokers import START, ClusterInput
from groupcheck.model.vocabulary import ErrorCode, Response

TRANSACTIONS: Final = frozenset({"EndTxn", "TxnOffsetCommit"})  # these need one broker


class LeaderLog:
    """The log of the groups, as one broker uses it: only a leader in the store can append.

    Args:
        log: that all brokers share.
        leads: whether the broker is the leader of a partition in the store.

    """

    def __init__(self, log: Log, leads: Callable[[int], bool]) -> None:
        self._log = log
        self._leads = leads

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """See `Log`."""
        if self._leads(partition):
            self._log.append(partition, batch, completed)
        else:
            completed(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def read(self, partition: int) -> Iterable[Batch]:
        """See `Log`."""
        return self._log.read(partition)


class NodeCoordinator(Coordinator):
    """The groups of a broker of a cluster."""

    __slots__ = ()

    def delete_partitions(self, partitions: Iterable[tuple[str, int]]) -> list[Response]:
        """Remove the offsets of partitions that are deleted, in all groups.

        GroupCoordinator.scala:834 at tag 2.7.2; GroupCoordinatorService.java, onPartitionsDeleted.
        """
        deleted = list(partitions)
        for group in tuple(self._shared.groups.by_id.values()):
            self._removal.delete_offsets(group, deleted, lambda _error: None)
        return self.take()


class Node(Server):
    """A broker of a cluster.

    Args:
        number: its id.
        running: the cluster.
        options: with its own port.
        say: writes a line for the operator.

    """

    def __init__(
        self, number: int, running: RunningCluster, options: Options, say: Callable[[str], None]
    ) -> None:
        super().__init__(options, say)
        self._number = number
        self._running = running
        self._known: set[TopicPartition] = set()
        self._member: Broker
        self._coordinator: NodeCoordinator

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        running, options = self._running, self._options
        running.apply(ClusterInput(START, self._number))
        self._member = running.cluster.running(self._number)
        log = WatchedLog(LeaderLog(running.log, self._leads))
        self._coordinator = NodeCoordinator(
            options.settings.config,
            profile=PROFILES[options.profile],
            log=log,
            start_ms=time.time_ns() // 1_000_000,
            served=(),
        )
        apis = self._coordinator.apis - TRANSACTIONS | DELETION.keys()
        embedded = Embedded(self._coordinator, apis, log)
        topics = NodeTopics(self.limits, running, self._member)
        self._serve(embedded, topics, loop, NodeMetadata(running, self._member))
        running.followers[self._number] = self._follow

    def _leads(self, partition: int) -> bool:
        state = self._running.cluster.admin.state(TopicPartition(OFFSETS_TOPIC, partition))
        return state is not None and state.leader == self._number

    def _follow(self) -> None:
        """After a step of the broker: load and unload groups, and remove offsets."""
        groups = self._groups
        if groups is None:
            return
        coordinator, owner = self._coordinator, self._member.coordinator
        deleted = self._known - self._member.partitions.keys()
        self._known = set(self._member.partitions)
        if deleted:
            groups.change("delete", partial(coordinator.delete_partitions, sorted(deleted)))
        for partition in range(self._running.offsets_partitions):
            wanted = Serving.SERVED if partition in owner.owned else Serving.UNLOADED
            if partition in owner.loading:
                wanted = Serving.LOADING
            if coordinator.serving(partition) is not wanted:
                changes = {
                    Serving.SERVED: coordinator.load,
                    Serving.LOADING: coordinator.loading,
                    Serving.UNLOADED: coordinator.unload,
                }
                groups.change(wanted.value, partial(changes[wanted], partition))
