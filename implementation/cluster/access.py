"""What brokers and controllers do with the store (KafkaZkClient.scala at tag 2.7.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupcheck.implementation.cluster import nodes
from groupcheck.implementation.cluster.nodes import (
    LeaderAndIsr,
    ReplicaAssignment,
    TopicPartition,
)
from groupcheck.implementation.cluster.store import (
    BadVersionError,
    Check,
    Create,
    Delete,
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
    written,
)


class ControllerMovedError(Exception):
    """Another controller has been elected: the version of `/controller_epoch` is another one."""


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

        Raises:
            NodeExistsError: another process has the id.
        """
        path = nodes.broker_path(broker)
        try:
            stats = self.session.multi([Create(path, b"", ephemeral=True), SetData(path, data, 0)])
        except NodeExistsError:
            stat = self.session.exists(path)
            if stat is None or stat.owner != self.session.number:
                raise
            return stat.created
        return written(stats, 1).created

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
        try:
            data, stat = self.session.get(nodes.CONTROLLER_EPOCH)
        except NoNodeError:
            return None
        return nodes.epoch_of(data), stat.version

    def register_controller(self, broker: int, epoch: int, version: int) -> tuple[int, int]:
        """Claim `/controller`, if `/controller_epoch` has a version (KafkaZkClient.scala:107).

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
            raise ControllerMovedError from error
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
        try:
            data, _ = self.session.get(nodes.CONTROLLER, watch)
        except NoNodeError:
            return None
        return nodes.controller_of(data)

    def delete_controller(self, version: int) -> None:
        """Delete `/controller` (KafkaZkClient.scala:1054)."""
        self.delete(nodes.CONTROLLER, version)

    def brokers(self, watch: Watch | None = None) -> dict[int, tuple[int, tuple[str, int]]]:
        """By broker, its epoch, and its host and port (KafkaZkClient.scala:425)."""
        found = {}
        for broker in sorted(map(int, self.session.children(nodes.BROKER_IDS, watch))):
            try:
                data, stat = self.session.get(nodes.broker_path(broker))
            except NoNodeError:
                continue
            found[broker] = (stat.created, nodes.endpoint_of(data))
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
            try:
                data, _ = self.session.get(nodes.topic_path(topic))
            except NoNodeError:
                continue
            for partition, replicas in sorted(nodes.assignment_of(data).items()):
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
        """The state of a partition (KafkaZkClient.scala:184)."""
        try:
            data, stat = self.session.get(nodes.state_path(of))
        except NoNodeError:
            return None
        return nodes.state_of(data, stat.version)

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
        try:
            data, _ = self.session.get(nodes.topic_config_path(topic))
        except NoNodeError:
            return {}
        return nodes.topic_config_of(data)
