"""What is seen of a real cluster: its metadata, answers of brokers, folders on disk.

Brokers have the ids 1, 2, 3, where 1 is the controller when a sequence begins: the observer maps
the ids of the real cluster to these. Topics have numbers, as in the specification.

The metadata are nodes of ZooKeeper, or, without it (KRaft), what a majority of the brokers agrees
on. Then an unfenced broker is what a registered one is with ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from groupcheck.model.brokers import NO_LEADER, NOBODY, Assignment, Nodes, Partition

BROKERS: Final = 3
MAJORITY: Final = BROKERS // 2 + 1
IDS: Final = tuple(range(1, BROKERS + 1))
OFFSETS: Final = "__consumer_offsets"
# Errors of Kafka that the views have.
NONE: Final = 0
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
NO_ANSWER: Final = -100  # no error of Kafka: the broker did not answer in time
NO_OFFSET: Final = -1  # OffsetFetch's: none is committed
# States of a group without members: with offsets, and one that the coordinator does not know.
EMPTY: Final = "Empty"
DEAD: Final = "Dead"


class TopicNode(NamedTuple):
    """The metadata of a topic.

    Args:
        created: the transaction that created `/brokers/topics/TOPIC`, or the id of the topic;
            another one if the topic was created again.
        replicas: of its partition, as assigned.
        partition: the state of its partition, or None.
        adding: the replicas that a reassignment adds.
        removing: those that it removes.
    """

    created: int
    replicas: tuple[int, ...]
    partition: Partition | None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class RawNodes(NamedTuple):
    """The metadata with the ids of the real cluster, the fields as those of `ClusterView`."""

    controller: int
    controller_node: int
    controller_epoch: int
    controller_version: int
    registered: dict[int, int]
    topics: tuple[TopicNode | None, ...]
    deletions: tuple[bool, ...]


class Answers(NamedTuple):
    """What a broker answers, and what is on its disk.

    Args:
        controller: in its Metadata response, or without ZooKeeper in its DescribeQuorum response;
            `NO_LEADER` if it knows none.
        leaders: by topic, and last that of the offsets topic: the leader in its Metadata response,
            or else the error, negated.
        coordinator: of the group, by its FindCoordinator response, or the error, negated.
        folders: the numbers of the topics that have a folder on its disk.
    """

    controller: int
    leaders: tuple[int, ...]
    coordinator: int
    folders: tuple[str, ...] = ()


class Group(NamedTuple):
    """What the coordinator answers about the group.

    Args:
        error: of its OffsetFetch response, or of its DescribeGroups response.
        offsets: by topic, the committed offset, or `NO_OFFSET`.
        state: in its DescribeGroups response.
    """

    error: int
    offsets: tuple[int, ...] = ()
    state: str = EMPTY


class ClusterView(NamedTuple):
    """A cluster at one time.

    Args:
        running: by broker, whether its process runs.
        paused: by broker, whether its process is paused.
        controller: the broker in `/controller`, or the leader of the quorum, or `NOBODY`.
        controller_node: the transaction that created `/controller`, or the leader, or 0.
        controller_epoch: in `/controller_epoch`, or of the leader, less that before the sequence,
            so that it is 1 when the sequence begins.
        controller_version: the version of that node, reduced in the same way; without ZooKeeper
            the same as the epoch.
        registered: by broker, the transaction that created its node in `/brokers/ids`, or 1 if it
            is unfenced; 0 if it is not.
        topics: by number, the nodes, or None.
        offsets_topic: the nodes of the offsets topic.
        deletions: by topic, whether `/admin/delete_topics/TOPIC` exists; never without ZooKeeper,
            where a topic ends at once.
        answers: by broker, or None for one that does not run, or whose answers were not asked for.
        group: what the coordinator answers, or None if there is none, or it was not asked.
        committed: by topic, the offsets that may be committed, by the answers to OffsetCommit.
        zookeeper: whether ZooKeeper has the metadata.
    """

    running: tuple[bool, ...]
    paused: tuple[bool, ...]
    controller: int
    controller_node: int
    controller_epoch: int
    controller_version: int
    registered: tuple[int, ...]
    topics: tuple[TopicNode | None, ...]
    offsets_topic: TopicNode | None
    deletions: tuple[bool, ...]
    answers: tuple[Answers | None, ...] = (None,) * BROKERS
    group: Group | None = None
    committed: tuple[tuple[int, ...], ...] = ()
    zookeeper: bool = True

    def is_live(self, broker: int) -> bool:
        """Whether the process of a broker runs and is not paused."""
        return self.running[broker - 1] and not self.paused[broker - 1]

    def is_registered(self, broker: int) -> bool:
        """Whether it has a node in `/brokers/ids`, or is unfenced."""
        return self.registered[broker - 1] != 0

    def works(self, broker: int) -> bool:
        """Whether it is live and registered."""
        return broker in IDS and self.is_live(broker) and self.is_registered(broker)

    @property
    def needs_controller(self) -> bool:
        """Whether so many brokers are live that one has to be the controller."""
        return sum(map(self.is_live, IDS)) >= (1 if self.zookeeper else MAJORITY)

    @property
    def has_controller(self) -> bool:
        """Whether the controller can do its work."""
        return self.works(self.controller)

    @property
    def asked(self) -> bool:
        """Whether brokers were asked; if not, this is a view of the nodes alone."""
        return any(each is not None for each in self.answers)

    @property
    def names(self) -> list[str]:
        """The words for each topic, and last for the offsets topic."""
        return [*(f"topic {number}" for number in range(len(self.topics))), OFFSETS]

    @property
    def every_topic(self) -> tuple[TopicNode | None, ...]:
        """The nodes of each topic, and last of the offsets topic."""
        return (*self.topics, self.offsets_topic)

    def is_deleted(self, topic: int) -> bool:
        """Whether the deletion of a topic is pending; the offsets topic is never deleted."""
        return topic < len(self.deletions) and self.deletions[topic]

    @property
    def coordinator(self) -> int:
        """The leader of the partition of the group, which is its coordinator; or `NOBODY`."""
        node = self.offsets_topic
        leader = node.partition.leader if node and node.partition else NO_LEADER
        return max(NOBODY, leader)


def nodes(view: ClusterView) -> Nodes:
    """The nodes as the specification has them; a registered broker has epoch 1."""
    return Nodes(
        view.controller,
        view.controller_epoch,
        tuple(int(epoch != 0) for epoch in view.registered),
        tuple(topic is not None for topic in view.topics),
        tuple(topic.partition if topic else None for topic in view.topics),
        view.deletions,
        tuple(
            Assignment(topic.replicas, topic.adding, topic.removing) if topic else Assignment()
            for topic in view.topics
        ),
    )


def changes(view: ClusterView, before: ClusterView | None = None) -> list[str]:
    """The lines that describe a view; only those that `before` does not have."""
    lines = _lines(view)
    known = set(_lines(before)) if before else set()
    return [line for line in lines if line not in known]


def _lines(view: ClusterView) -> list[str]:
    who = f"broker {view.controller}" if view.controller else "none"
    registered = [each for each in IDS if view.is_registered(each)]
    lines = [
        f"controller: {who}, epoch {view.controller_epoch}; registered: {_ids(registered)}",
    ]
    for number, (name, topic) in enumerate(zip(view.names, view.every_topic, strict=True)):
        lines.append(f"{name}: {_topic(topic)}{', to be deleted' * view.is_deleted(number)}")
    for broker, answers in zip(IDS, view.answers, strict=True):
        if answers is not None:
            lines.append(f"broker {broker} answers: {_answers(view, answers)}")
    if view.group is not None:
        named = zip(view.names, view.group.offsets, strict=False)
        offsets = [f"{name} {offset}" for name, offset in named if offset != NO_OFFSET]
        error = f"error {view.group.error}, " if view.group.error else ""
        lines.append(f"committed: {error}{', '.join(offsets) or 'nothing'}")
    return lines


def _topic(topic: TopicNode | None) -> str:
    if topic is None:
        return "no node"
    state = topic.partition
    if state is None:
        return f"replicas {_ids(topic.replicas)}, no leader yet"
    leader = "no leader" if state.leader == NO_LEADER else f"leader {state.leader}"
    return (
        f"replicas {_ids(topic.replicas)}, {leader}, epoch {state.leader_epoch}, "
        f"ISR {_ids(state.isr)}"
    )


def _answers(view: ClusterView, answers: Answers) -> str:
    named = zip(view.names, answers.leaders, strict=True)
    leaders = [f"{name} {_or_error(leader)}" for name, leader in named]
    return (
        f"controller {answers.controller}, coordinator {_or_error(answers.coordinator)}, leaders: "
        f"{', '.join(leaders)}; on disk: {' '.join(answers.folders) or 'nothing'}"
    )


def _or_error(number: int) -> str:
    if number == NO_ANSWER:
        return "no answer"
    return str(number) if number > 0 else f"error {-number}"


def _ids(brokers: Sequence[int]) -> str:
    return " ".join(map(str, brokers)) or "none"
