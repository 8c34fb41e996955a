"""The vocabulary of a cluster: what happens to brokers, nodes in ZooKeeper, and requests.

A specification, an implementation and the driver of a real cluster share these records, as those of
a coordinator share `vocabulary`. Brokers have the ids 1, 2, ... Topics have the numbers 0, 1, ...,
and one partition each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

NOBODY: Final = 0  # no broker
NO_LEADER: Final = -1
DURING_DELETE: Final = -2  # a leader, or a leader epoch, while the topic is being deleted
NO_EPOCH: Final = -1


class ClusterInput(NamedTuple):
    """Something that happens in a cluster.

    Args:
        name: one of those below.
        broker: that it happens to; `NOBODY` if it is about none.
        topic: that it is about, or -1.
        sender: of a delivered request, the controller that has sent it.
        request: a delivered or lost request of a connection that has ended.
    """

    name: str
    broker: int = NOBODY
    topic: int = -1
    sender: int = NOBODY
    request: Request | None = None

    def __str__(self) -> str:
        fields = [f"broker {self.broker}"] if self.broker else []
        fields += [f"topic {self.topic}"] if self.topic >= 0 else []
        fields += [f"controller {self.sender}"] if self.sender else []
        return f"{self.name}: {', '.join(fields)}" if fields else self.name


# What operators and faults do.
START: Final = "a broker starts"
KILL: Final = "a broker is killed"
EXPIRE: Final = "ZooKeeper ends the session of a broker"
MOVE: Final = "the node /controller is deleted"
CREATE: Final = "a topic is created"
DELETE: Final = "the deletion of a topic is requested"
ELECT: Final = "the preferred leader of a topic is requested"
REASSIGN: Final = "the reassignment of a topic is requested"
CANCEL: Final = "the end of a reassignment is requested"
SHRINK: Final = "a replica falls behind"
EXPAND: Final = "a replica catches up"
COMMIT: Final = "a group commits an offset of a topic"
# How the cluster goes on.
RENEW: Final = "a broker learns that its session has ended"
HANDLE: Final = "a broker handles its next controller event"
CLAIM: Final = "a broker claims /controller"
DELIVER: Final = "a broker handles the next request of a controller"
ARRIVE: Final = "a broker handles a request of a connection that has ended"
LOSE: Final = "a request of a connection that has ended is lost"
LOAD: Final = "a coordinator does its next task"
ANNOUNCE: Final = "a broker announces the ISRs that it has written"

ENVIRONMENT: Final = (
    *(START, KILL, EXPIRE, MOVE, CREATE, DELETE, ELECT, REASSIGN, CANCEL),
    *(SHRINK, EXPAND, COMMIT),
)


class Partition(NamedTuple):
    """The node `/brokers/topics/TOPIC/partitions/0/state`, or a copy of it.

    Args:
        leader: a broker, or `NO_LEADER`.
        leader_epoch: raised with every change but those that the leader asks for.
        isr: the in-sync replicas, in the order of the node.
        controller_epoch: of the controller that wrote it.
        version: of the node, raised with every write.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int


class Assignment(NamedTuple):
    """The data of the node `/brokers/topics/TOPIC`: the replicas of its partition.

    Args:
        replicas: in the order of the node; while they are reassigned, those to keep and to add
            first, then those to remove.
        adding: those of them that a reassignment adds.
        removing: those of them that it removes.
    """

    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class Nodes(NamedTuple):
    """The nodes of ZooKeeper.

    Args:
        controller: the broker in `/controller`, an ephemeral node, or `NOBODY`.
        controller_epoch: in `/controller_epoch`, and the version of that node.
        brokers: by broker, the epoch of its registration in `/brokers/ids`, an ephemeral node; 0 if
            it has none. It counts the registrations of the broker, where ZooKeeper has the id of
            the transaction.
        topics: by topic, whether `/brokers/topics/TOPIC` exists.
        partitions: by topic, the state of its partition, or None.
        deletions: by topic, whether `/admin/delete_topics/TOPIC` exists.
        assignments: by topic, the data of `/brokers/topics/TOPIC`; without replicas if there is no
            such node.
        announced: the topics in each node of `/isr_change_notification`, the oldest first; brokers
            of Kafka 2.7 create none.
    """

    controller: int
    controller_epoch: int
    brokers: tuple[int, ...]
    topics: tuple[bool, ...]
    partitions: tuple[Partition | None, ...]
    deletions: tuple[bool, ...]
    assignments: tuple[Assignment, ...]
    announced: tuple[tuple[int, ...], ...] = ()


LEADER_AND_ISR: Final = "LeaderAndIsr"
UPDATE_METADATA: Final = "UpdateMetadata"
STOP_REPLICA: Final = "StopReplica"


class TopicRequest(NamedTuple):
    """What a request says about a topic.

    Args:
        topic: the number of the topic.
        leader: a broker, `NO_LEADER`, or `DURING_DELETE`; not in StopReplica.
        leader_epoch: `DURING_DELETE` for a topic that is being deleted, `NO_EPOCH` if the
            controller does not know it.
        isr: in LeaderAndIsr.
        version: in LeaderAndIsr, of the node.
        delete: in StopReplica, whether to delete the replica.
        replicas: in LeaderAndIsr, the assignment, with replicas to add and to remove.
        controller_epoch: in LeaderAndIsr to a leader that writes ISRs, that of the node.
    """

    topic: int
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    isr: tuple[int, ...] = ()
    version: int = 0
    delete: bool = False
    replicas: tuple[int, ...] = ()
    controller_epoch: int = 0


class Request(NamedTuple):
    """A request of a controller to a broker.

    Args:
        api: LeaderAndIsr, UpdateMetadata or StopReplica.
        broker: that receives it.
        controller_epoch: of the controller.
        broker_epoch: of the broker, as the controller knows it.
        topics: what it says about topics, by number.
    """

    api: str
    broker: int
    controller_epoch: int
    broker_epoch: int
    topics: tuple[TopicRequest, ...] = ()
