"""What the brokers of a real cluster are asked on the wire: metadata, the group, an election."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import Final, NamedTuple, TypeVar

from groupcheck.properties.brokers.definition import Address
from groupcheck.properties.cluster.real.views import NO_ANSWER, NO_OFFSET, NONE, Group
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
FIND_COORDINATOR: Final = 2
OFFSET_FETCH: Final = 5
OFFSET_COMMIT: Final = 2
ELECT_LEADERS: Final = 1
ALTER_PARTITION_REASSIGNMENTS: Final = 0

T = TypeVar("T")


class Metadata(NamedTuple):
    """A Metadata response: the controller, and by topic the leader or the error, negated."""

    controller: int
    leaders: tuple[int, ...]


class Wire:
    """Connections to the brokers of a cluster; one for each address.

    Every call returns None, or `NO_ANSWER`, if the broker does not answer in time.

    Args:
        interrupted: when set, ends every wait.
    """

    def __init__(self, interrupted: Event) -> None:
        self._interrupted = interrupted
        self._open: dict[Address, BootstrapClient] = {}

    def metadata(self, broker: Address, topics: Sequence[str]) -> Metadata | None:
        """Ask for the leaders of topics."""
        named = codec.message_class("MetadataRequest").fields["topics"]
        wanted = [named(name=topic) for topic in topics]
        answer = self._ask(
            broker,
            lambda client: client.ask(
                "Metadata", METADATA, topics=wanted, allow_auto_topic_creation=False
            ),
        )
        if answer is None:
            return None
        leaders = {topic.name: _leader(topic) for topic in answer.topics}
        return Metadata(answer.controller_id, tuple(leaders[topic] for topic in topics))

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
        """Ask the coordinator for the committed offsets of a group."""
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
        errors = [each.error_code for each in partitions.values() if each.error_code]
        offsets = tuple(
            partitions[topic].committed_offset if topic in partitions else NO_OFFSET
            for topic in topics
        )
        return Group(errors[0] if errors else NONE, offsets)

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

    def elect(self, broker: Address, topic: str) -> int:
        """Ask the controller to make the preferred replica of a topic its leader."""
        fields = codec.message_class("ElectLeadersRequest").fields["topic_partitions"]
        answer = self._ask(
            broker,
            lambda client: client.ask(
                "ElectLeaders",
                ELECT_LEADERS,
                election_type=PREFERRED,
                topic_partitions=[fields(topic=topic, partitions=[0])],
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
                    *broker, connect_s=CONNECT_S, answer_s=ANSWER_S, interrupted=self._interrupted
                )
                self._open[broker].versions({})
            return ask(self._open[broker])
        except (OSError, PortFailedError, MalformedAnswerError):
            self.forget(broker)
            return None


def _leader(topic: codec.Message) -> int:
    if topic.error_code:
        return -int(topic.error_code)
    partition = topic.partitions[0]
    return -int(partition.error_code) if partition.error_code else int(partition.leader_id)
