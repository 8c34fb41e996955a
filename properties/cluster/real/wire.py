"""What the brokers of a real cluster are asked on the wire: metadata, topics, the group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import Final, NamedTuple

from groupcheck.model.brokers import Partition
from groupcheck.properties.brokers.definition import Address
from groupcheck.properties.cluster.real.views import (
    NO_ANSWER,
    NO_OFFSET,
    Group,
    TopicNode,
)
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.codec import MalformedAnswerError
from groupcheck.properties.ports.connection import BootstrapClient
from groupcheck.properties.ports.port import PortFailedError

CONNECT_S: Final = 1.0
ANSWER_S: Final = 3.0
PREFERRED: Final = 0  # ElectionType.PREFERRED
NO_GENERATION: Final = -1
# The versions that are used, of those that Kafka 2.7 has.
METADATA: Final = 4
METADATA_WITH_IDS: Final = 10  # of topics; Kafka 2.8 is the first that has it
DESCRIBE_QUORUM: Final = 1
CREATE_TOPICS: Final = 5
DELETE_TOPICS: Final = 5
QUORUM: Final = "__cluster_metadata"
UNKNOWN: Final = -1  # a high watermark
FIND_COORDINATOR: Final = 2
OFFSET_FETCH: Final = 5
DESCRIBE_GROUPS: Final = 0
OFFSET_COMMIT: Final = 2
ELECT_LEADERS: Final = 1
ALTER_PARTITION_REASSIGNMENTS: Final = 0
LIST_PARTITION_REASSIGNMENTS: Final = 0


class Metadata(NamedTuple):
    """A Metadata response: the controller, and by topic the leader or the error, negated."""

    controller: int
    leaders: tuple[int, ...]


class Described(NamedTuple):
    """The metadata that a broker without ZooKeeper has.

    Args:
        ports: of the unfenced brokers, by id.
        topics: those that exist, by name.
    """

    ports: dict[int, int]
    topics: dict[str, TopicNode]


class Moving(NamedTuple):
    """The replicas that a reassignment adds and removes."""

    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class Leader(NamedTuple):
    """The leader of a quorum, and its epoch."""

    node: int
    epoch: int


class Wire:
    """Connections to the brokers of a cluster; one for each address.

    Every call returns None, or `NO_ANSWER`, if the broker does not answer in time.

    Args:
        interrupted: when set, ends every wait.
        answer_s: how long each answer may take.
    """

    def __init__(self, interrupted: Event, answer_s: float = ANSWER_S) -> None:
        self._interrupted = interrupted
        self._answer_s = answer_s
        self._open: dict[Address, BootstrapClient] = {}

    def metadata(self, broker: Address, topics: Sequence[str]) -> Metadata | None:
        """Ask for the leaders of topics."""
        answer = self._metadata(broker, METADATA, topics)
        if answer is None:
            return None
        leaders = {topic.name: _leader(topic) for topic in answer.topics}
        return Metadata(answer.controller_id, tuple(leaders[topic] for topic in topics))

    def described(self, broker: Address, topics: Sequence[str]) -> Described | None:
        """Ask for what a broker knows of the other brokers, and of topics."""
        answer = self._metadata(broker, METADATA_WITH_IDS, topics)
        if answer is None:
            return None
        known = (topic for topic in answer.topics if not topic.error_code)
        return Described(
            {each.node_id: each.port for each in answer.brokers},
            {topic.name: _topic(topic) for topic in known},
        )

    def _metadata(
        self, broker: Address, version: int, topics: Sequence[str]
    ) -> codec.Message | None:
        named = codec.message_class("MetadataRequest").fields["topics"]
        wanted = [named(name=topic) for topic in topics]
        return self._ask(
            broker,
            lambda client: client.ask(
                "Metadata", version, topics=wanted, allow_auto_topic_creation=False
            ),
        )

    def leader(self, node: Address) -> Leader | None:
        """Ask for the leader of the quorum; None if the node has none that has committed.

        A broker asks the controller, and a controller answers if it is the leader.
        """
        fields = codec.message_class("DescribeQuorumRequest").fields["topics"]
        partition = fields.fields["partitions"](partition_index=0)
        wanted = [fields(topic_name=QUORUM, partitions=[partition])]
        answer = self._ask(
            node, lambda client: client.ask("DescribeQuorum", DESCRIBE_QUORUM, topics=wanted)
        )
        if answer is None or answer.error_code:
            return None
        found = answer.topics[0].partitions[0]
        if found.error_code or found.high_watermark == UNKNOWN:
            return None
        return Leader(found.leader_id, found.leader_epoch)

    def create_topic(self, node: Address, topic: str, replicas: Sequence[int]) -> int:
        """Create a topic with one partition; returns the error."""
        fields = codec.message_class("CreateTopicsRequest").fields["topics"]
        assignment = fields.fields["assignments"](partition_index=0, broker_ids=list(replicas))
        new = fields(
            name=topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[assignment],
            configs=[],
        )
        answer = self._ask(
            node,
            lambda client: client.ask(
                "CreateTopics", CREATE_TOPICS, topics=[new], timeout_ms=2_000, validate_only=False
            ),
        )
        return NO_ANSWER if answer is None else int(answer.topics[0].error_code)

    def delete_topic(self, node: Address, topic: str) -> int:
        """Delete a topic; returns the error."""
        answer = self._ask(
            node,
            lambda client: client.ask(
                "DeleteTopics", DELETE_TOPICS, topic_names=[topic], timeout_ms=2_000
            ),
        )
        return NO_ANSWER if answer is None else int(answer.responses[0].error_code)

    def coordinator(self, broker: Address, group: str) -> int:
        """Ask for the coordinator of a group; returns its id, or the error, negated."""
        answer = self._ask(
            broker, lambda client: client.ask("FindCoordinator", FIND_COORDINATOR, key=group)
        )
        if answer is None:
            return NO_ANSWER
        node: int = answer.node_id
        return -answer.error_code if answer.error_code else node

    def group(self, broker: Address, group: str, topics: Sequence[str]) -> Group:
        """Ask the coordinator for the committed offsets of a group, and for its state."""
        named = codec.message_class("OffsetFetchRequest").fields["topics"]
        wanted = [named(name=topic, partition_indexes=[0]) for topic in topics]
        answer = self._ask(
            broker,
            lambda client: client.ask("OffsetFetch", OFFSET_FETCH, group_id=group, topics=wanted),
        )
        if answer is None:
            return Group(NO_ANSWER)
        if answer.error_code:
            return Group(answer.error_code)
        partitions = {topic.name: topic.partitions[0] for topic in answer.topics}
        offsets = tuple(
            partitions[topic].committed_offset if topic in partitions else NO_OFFSET
            for topic in topics
        )
        error, state = self._described_group(broker, group)
        errors = [each.error_code for each in partitions.values() if each.error_code]
        return Group(next(iter(errors), error), offsets, state)

    def _described_group(self, broker: Address, group: str) -> tuple[int, str]:
        """The error and the state of a group in a DescribeGroups response."""
        answer = self._ask(
            broker, lambda client: client.ask("DescribeGroups", DESCRIBE_GROUPS, groups=[group])
        )
        if answer is None:
            return NO_ANSWER, ""
        (found,) = answer.groups
        return int(found.error_code), str(found.group_state)

    def commit(self, broker: Address, group: str, topic: str, offset: int) -> int:
        """Commit an offset, as a consumer without a group protocol; returns the error."""
        fields = codec.message_class("OffsetCommitRequest").fields["topics"]
        partition = fields.fields["partitions"](
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        answer = self._ask(
            broker,
            lambda client: client.ask(
                "OffsetCommit",
                OFFSET_COMMIT,
                group_id=group,
                generation_id_or_member_epoch=NO_GENERATION,
                member_id="",
                retention_time_ms=-1,
                topics=[fields(name=topic, partitions=[partition])],
            ),
        )
        if answer is None:
            return NO_ANSWER
        error: int = answer.topics[0].partitions[0].error_code
        return error

    def elect(self, broker: Address, topic: str, partition: int = 0) -> int:
        """Ask the controller to make the preferred replica of a partition its leader.

        Returns the error of the request, not that of the partition.
        """
        fields = codec.message_class("ElectLeadersRequest").fields["topic_partitions"]
        answer = self._ask(
            broker,
            lambda client: client.ask(
                "ElectLeaders",
                ELECT_LEADERS,
                election_type=PREFERRED,
                topic_partitions=[fields(topic=topic, partitions=[partition])],
                timeout_ms=2_000,
            ),
        )
        if answer is None:
            return NO_ANSWER
        error: int = answer.error_code
        return error

    def reassign(self, broker: Address, topic: str, replicas: Sequence[int] | None) -> int:
        """Ask the controller to move a topic to other replicas; None to cancel that."""
        topics = codec.message_class("AlterPartitionReassignmentsRequest").fields["topics"]
        partition = topics.fields["partitions"](
            partition_index=0, replicas=None if replicas is None else list(replicas)
        )
        answer = self._ask(
            broker,
            lambda client: client.ask(
                "AlterPartitionReassignments",
                ALTER_PARTITION_REASSIGNMENTS,
                timeout_ms=2_000,
                topics=[topics(name=topic, partitions=[partition])],
            ),
        )
        if answer is None:
            return NO_ANSWER
        error: int = answer.error_code or answer.responses[0].partitions[0].error_code
        return error

    def reassignments(self, node: Address, topics: Sequence[str]) -> dict[str, Moving] | None:
        """Ask the controller which of these topics are being reassigned."""
        named = codec.message_class("ListPartitionReassignmentsRequest").fields["topics"]
        wanted = [named(name=topic, partition_indexes=[0]) for topic in topics]
        answer = self._ask(
            node,
            lambda client: client.ask(
                "ListPartitionReassignments",
                LIST_PARTITION_REASSIGNMENTS,
                timeout_ms=2_000,
                topics=wanted,
            ),
        )
        if answer is None or answer.error_code:
            return None
        return {
            topic.name: Moving(tuple(found.adding_replicas), tuple(found.removing_replicas))
            for topic in answer.topics
            for found in topic.partitions
        }

    def forget(self, broker: Address) -> None:
        """Close the connection to a broker."""
        if (client := self._open.pop(broker, None)) is not None:
            client.close()

    def close(self) -> None:
        """Close all connections."""
        for broker in list(self._open):
            self.forget(broker)

    def _ask(
        self, broker: Address, ask: Callable[[BootstrapClient], codec.Message]
    ) -> codec.Message | None:
        try:
            if broker not in self._open:
                self._open[broker] = BootstrapClient(
                    *broker,
                    connect_s=CONNECT_S,
                    answer_s=self._answer_s,
                    interrupted=self._interrupted,
                )
                self._open[broker].versions({})
            return ask(self._open[broker])
        except (OSError, PortFailedError, MalformedAnswerError):
            self.forget(broker)
            return None


def _topic(topic: codec.Message) -> TopicNode:
    (found,) = topic.partitions
    # A leader that is fenced is no leader to clients.
    state = Partition(found.leader_id, found.leader_epoch, tuple(found.isr_nodes), 0, 0)
    return TopicNode(topic.topic_id.int, tuple(found.replica_nodes), state)


def _leader(topic: codec.Message) -> int:
    if topic.error_code:
        return -int(topic.error_code)
    partition = topic.partitions[0]
    return -int(partition.error_code) if partition.error_code else int(partition.leader_id)
