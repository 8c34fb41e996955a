"""What brokers and controllers do with the store (KafkaZkClient.scala at tag 2.7.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, TypeVar

from groupcheck.implementation.cluster import nodes
from groupcheck.implementation.cluster.nodes import (
    LeaderAndIsr,
    ReplicaAssignment,
    TopicPartition,
)
from groupcheck.implementation.cluster.store import (
    CHANGED,
    BadVersionError,
    Check,
    Create,
    Delete,
    MalformedError,
    NodeExistsError,
    NoNodeError,
    Operation,
    Session,
    SessionExpiredError,
    SetData,
    Stat,
    StoreError,
    Watch,
    create,
    delete,
    set_data,
    written,
)


class ControllerMovedError(Exception):
    """Another controller has been elected: the version of `/controller_epoch` is another one."""


_Value = TypeVar("_Value")
_NOT_DECODED: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)

Updates = dict[TopicPartition, LeaderAndIsr]


class UpdateResult:
    """The results of writes of partition states (KafkaZkClient.scala:1860)."""

    def __init__(self) -> None:
        self.finished: Updates = {}
        self.failed: dict[TopicPartition, StoreError] = {}
        self.to_retry: list[TopicPartition] = []  # someone else has written the node


class Access:
    """Reads and writes of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._registered: int | None = None  # the session that has registered the broker
        self._state_handlers: dict[str, Callable[[], None]] = {}  # by path

    def _read(
        self, path: str, decode: Callable[[bytes, Stat], _Value], watch: Watch | None = None
    ) -> _Value | None:
        """A decoded node; None if it is missing or no JSON, as in Kafka (Json.scala:54).

        Raises:
            MalformedError: it is JSON, but not what is expected.
        """
        try:
            data, stat = self.session.get(path, watch)
        except NoNodeError:
            return None
        try:
            return decode(data, stat)
        except (json.JSONDecodeError, UnicodeDecodeError):
            return None
        except _NOT_DECODED as error:
            raise MalformedError(path) from error

    def create_top_level(self) -> None:
        """Create the parents of all nodes (KafkaZkClient.scala:1551)."""
        for path in nodes.TOP_LEVEL:
            self._create_if_missing(path)

    def _create_if_missing(self, path: str, data: bytes = b"") -> None:
        try:
            create(self.session, path, data)
        except NodeExistsError:
            return

    def register_broker(self, broker: int, data: bytes) -> int:
        """Register a broker; return its epoch (KafkaZkClient.scala:93, 1763).

        The node may be there because the answer to its creation was lost, or because the session
        before this one is about to end.

        Raises:
            NodeExistsError: another process has the id.
        """
        epoch = None
        while epoch is None:
            epoch = self._try_to_register(nodes.broker_path(broker), data)
        self._registered = self.session.number
        return epoch

    def _try_to_register(self, path: str, data: bytes) -> int | None:
        """The epoch of a broker, or None to try again (KafkaZkClient.scala:1817)."""
        try:
            stats = self.session.multi([Create(path, b"", ephemeral=True), SetData(path, data, 0)])
            return written(stats, 1).created
        except NodeExistsError:
            stat = self.session.exists(path)
            if stat is None:
                return None
            if stat.owner == self.session.number:
                return stat.created
            if stat.owner != self._registered:
                raise
        try:
            delete(self.session, path)
        except NoNodeError:
            return None
        return None

    def controller_epoch(self) -> tuple[int, int]:
        """The epoch and its version; the node is created if it is missing.

        KafkaZkClient.scala:110, 158.
        """
        found = self.read_controller_epoch()
        if found is None:
            self._create_if_missing(nodes.CONTROLLER_EPOCH, nodes.epoch_data(0))
            found = self.read_controller_epoch()
        return found or (0, 0)

    def read_controller_epoch(self) -> tuple[int, int] | None:
        """The epoch and its version (KafkaZkClient.scala:1063)."""
        return self._read(
            nodes.CONTROLLER_EPOCH, lambda data, stat: (nodes.epoch_of(data), stat.version)
        )

    def register_controller(
        self, broker: int, epoch: int, version: int, watch: Watch | None = None
    ) -> tuple[int, int]:
        """Claim `/controller`, if `/controller_epoch` has a version (KafkaZkClient.scala:107).

        If the answer to the write was lost, it is repeated and fails, so the nodes are read.

        Returns:
            the epoch of the controller, and its version.

        Raises:
            ControllerMovedError: another broker was faster.
        """
        try:
            stats = self.session.multi(
                [
                    Create(nodes.CONTROLLER, nodes.controller_data(broker, 0), ephemeral=True),
                    SetData(nodes.CONTROLLER_EPOCH, nodes.epoch_data(epoch + 1), version),
                ]
            )
        except (NodeExistsError, BadVersionError) as error:
            found = self.read_controller_epoch() if self.controller(watch) == broker else None
            if found is None or found[0] != epoch + 1:
                raise ControllerMovedError from error
            return found
        return epoch + 1, written(stats, 1).version

    def fenced(self, operation: Operation, version: int) -> Stat | None:
        """Do an operation of a controller, if `/controller_epoch` has a version.

        KafkaZkClient.scala:1888.

        Raises:
            ControllerMovedError: it has another one.
            StoreError: the operation fails.
        """
        try:
            return self.session.multi([Check(nodes.CONTROLLER_EPOCH, version), operation])[1]
        except BadVersionError as error:
            if error.index == 0:
                raise ControllerMovedError from error
            raise

    def controller(self, watch: Watch | None = None) -> int | None:
        """The broker in `/controller` (KafkaZkClient.scala:1040)."""
        return self._read(nodes.CONTROLLER, lambda data, _: nodes.controller_of(data), watch)

    def delete_controller(self, version: int) -> None:
        """Delete `/controller` (KafkaZkClient.scala:1054)."""
        self.delete(nodes.CONTROLLER, version)

    def brokers(self, watch: Watch | None = None) -> dict[int, tuple[int, tuple[str, int]]]:
        """By broker, its epoch, and its host and port (KafkaZkClient.scala:425)."""
        found = {}
        try:
            ids = sorted(map(int, self.session.children(nodes.BROKER_IDS, watch)))
        except ValueError as error:
            raise MalformedError(nodes.BROKER_IDS) from error
        for broker in ids:
            try:
                data, stat = self.session.get(nodes.broker_path(broker))
                found[broker] = (stat.created, nodes.endpoint_of(data))
            except NoNodeError:
                continue
            except _NOT_DECODED as error:
                raise MalformedError(nodes.broker_path(broker)) from error
        return found

    def topics(self, watch: Watch | None = None) -> list[str]:
        """The topics (KafkaZkClient.scala:465)."""
        return self.session.children(nodes.TOPICS, watch)

    def deletions(self, watch: Watch | None = None) -> list[str]:
        """The topics whose deletion is requested (KafkaZkClient.scala:791)."""
        return self.session.children(nodes.DELETE_TOPICS, watch)

    def assignments(self, topics: Iterable[str]) -> dict[TopicPartition, ReplicaAssignment]:
        """The replicas of the partitions of topics (KafkaZkClient.scala:595)."""
        found = {}
        for topic in topics:
            assigned = self._read(
                nodes.topic_path(topic), lambda data, _: nodes.assignment_of(data)
            )
            for partition, replicas in sorted((assigned or {}).items()):
                found[TopicPartition(topic, partition)] = replicas
        return found

    def set_assignments(
        self, topic: str, assignments: Mapping[int, ReplicaAssignment], version: int
    ) -> None:
        """Write the replicas of the partitions of a topic (KafkaZkClient.scala:491).

        Raises:
            ControllerMovedError: see `fenced`.
            NoNodeError: the topic does not exist.
        """
        data = nodes.assignment_data(assignments)
        self.fenced(SetData(nodes.topic_path(topic), data), version)

    def requested_reassignments(self) -> bool:
        """Whether a tool has written reassignments to the store (KafkaZkClient.scala:884)."""
        return self.session.exists(nodes.REASSIGN_PARTITIONS) is not None

    def state(self, of: TopicPartition) -> LeaderAndIsr | None:
        """The state of a partition (KafkaZkClient.scala:184).

        With a handler, the read sets the watch (ZooKeeperClient.scala:277, 2.4.1).
        """
        path = nodes.state_path(of)
        watch = self._state_changed if path in self._state_handlers else None
        return self._read(path, lambda data, stat: nodes.state_of(data, stat.version), watch)

    def handle_state(self, of: TopicPartition, handler: Callable[[], None]) -> None:
        """Register the handler of changes of the state of a partition.

        It is called at the next change after a read (KafkaZkClient.scala:1396, 2.4.1).
        """
        self._state_handlers[nodes.state_path(of)] = handler

    def ignore_state(self, of: TopicPartition) -> None:
        """Unregister the handler, if there is one; the watch stays.

        KafkaZkClient.scala:1404, 2.4.1.
        """
        self._state_handlers.pop(nodes.state_path(of), None)

    def _state_changed(self, kind: str, path: str) -> None:
        """ZooKeeperClient.scala:448, 2.4.1."""
        handler = self._state_handlers.get(path)
        if kind == CHANGED and handler is not None:
            handler()

    def isr_changes(self, watch: Watch | None = None) -> dict[str, list[TopicPartition]]:
        """By path, the partitions whose ISR was announced (KafkaZkClient.scala:955, 2.4.1)."""
        names = self.session.children(nodes.ISR_CHANGES, watch)
        paths = [f"{nodes.ISR_CHANGES}/{name}" for name in names]
        return {path: nodes.isr_change_of(self.session.get(path)[0]) for path in paths}

    def announce_isrs(self, partitions: Iterable[TopicPartition]) -> None:
        """Create a node after those that are there (KafkaZkClient.scala:1190, 2.4.1).

        Kafka lets ZooKeeper choose the number, which nothing depends on but the order.

        Raises:
            NodeExistsError: another broker was faster.
        """
        numbers = [
            int(each.rpartition("_")[2]) for each in self.session.children(nodes.ISR_CHANGES)
        ]
        path = nodes.isr_change_path(max(numbers, default=-1) + 1)
        create(self.session, path, nodes.isr_change_data(partitions))

    def write_isr(self, of: TopicPartition, state: LeaderAndIsr) -> int | None:
        """Write a state as its leader; return the version of the node, or None if it is another.

        ReplicationUtils.scala:28, 2.4.1. The answer arrives, so a node of another version does not
        have this state, but it is read.
        """
        try:
            data = nodes.state_data(state)
            stat = set_data(self.session, nodes.state_path(of), data, state.version)
        except BadVersionError:
            with suppress(StoreError):
                self.state(of)
            return None
        except NoNodeError:
            return None
        return stat.version

    def create_states(
        self, states: Updates, version: int
    ) -> dict[TopicPartition, StoreError | None]:
        """Create the states of partitions, with their parents (KafkaZkClient.scala:212).

        Returns:
            by partition, its error.

        Raises:
            ControllerMovedError: see `fenced`.
        """
        topics = dict.fromkeys(each.topic for each in states)
        parents = [nodes.partitions_path(topic) for topic in topics]
        for path in (*parents, *map(nodes.partition_path, states)):
            self._tried(Create(path), version)  # it may be there, or its own parent may not be
        return {
            of: self._tried(Create(nodes.state_path(of), nodes.state_data(state)), version)
            for of, state in states.items()
        }

    def _tried(self, operation: Operation, version: int) -> StoreError | None:
        """The error of an operation; SessionExpiredError is raised (KafkaZkClient.scala:1941)."""
        try:
            self.fenced(operation, version)
        except SessionExpiredError:
            raise
        except StoreError as error:
            return error
        return None

    def update_states(self, states: Updates, epoch: int, version: int) -> UpdateResult:
        """Write states, if their nodes have the versions in them (KafkaZkClient.scala:252).

        Raises:
            ControllerMovedError: see `fenced`.
        """
        result = UpdateResult()
        for of, state in states.items():
            new = state._replace(controller_epoch=epoch)
            data = nodes.state_data(new)
            try:
                stat = self.fenced(SetData(nodes.state_path(of), data, state.version), version)
            except BadVersionError:
                result.to_retry.append(of)
            except StoreError as error:
                result.failed[of] = error
            else:
                result.finished[of] = new._replace(version=written([stat], 0).version)
        return result

    def delete(self, path: str, version: int) -> None:
        """Delete a node of any version, if it is there (KafkaZkClient.scala:1612).

        Raises:
            ControllerMovedError: see `fenced`.
        """
        try:
            self.fenced(Delete(path), version)
        except NoNodeError:
            return

    def delete_recursively(self, path: str, version: int) -> None:
        """Delete a node with its children, if it is there (KafkaZkClient.scala:1605).

        Raises:
            ControllerMovedError: see `fenced`.
        """
        try:
            children = self.session.children(path)
        except NoNodeError:
            return
        for child in children:
            self.delete_recursively(f"{path}/{child}", version)
        self.delete(path, version)

    def topic_config(self, topic: str) -> dict[str, str]:
        """The configuration of a topic (KafkaZkClient.scala:295)."""
        path = nodes.topic_config_path(topic)
        return self._read(path, lambda data, _: nodes.topic_config_of(data)) or {}
