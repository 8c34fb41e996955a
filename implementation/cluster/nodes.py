"""The nodes of the store: their paths and their data, as Kafka 2.7.2 has them (ZkData.scala)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

CONTROLLER: Final = "/controller"  # ZkData.scala:55
CONTROLLER_EPOCH: Final = "/controller_epoch"
BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
DELETE_TOPICS: Final = "/admin/delete_topics"
ISR_CHANGES: Final = "/isr_change_notification"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
TOPIC_CONFIGS: Final = "/config/topics"
# Those of PersistentZkPaths that are used here: each broker creates them (ZkData.scala:933).
TOP_LEVEL: Final = (
    *("/brokers", BROKER_IDS, TOPICS),
    *("/admin", DELETE_TOPICS),
    *("/config", TOPIC_CONFIGS),
    ISR_CHANGES,
)


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class LeaderAndIsr(NamedTuple):
    """Kafka's `LeaderIsrAndControllerEpoch`: the state of a partition and who has written it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    version: int
    controller_epoch: int


class ReplicaAssignment(NamedTuple):
    """The replicas of a partition (ControllerContext.scala:44).

    Args:
        replicas: all of them, in order.
        adding: those that a reassignment adds.
        removing: those that it removes.
    """

    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return tuple(each for each in self.replicas if each not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after it."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def changes(self) -> bool:
        """Kafka's `isBeingReassigned`."""
        return bool(self.adding or self.removing)

    def reassigned_to(self, target: Iterable[int]) -> ReplicaAssignment:
        """The assignment while the original replicas move to others."""
        wanted, origin = tuple(target), self.origin
        everything = tuple(dict.fromkeys(wanted + origin))
        return ReplicaAssignment(
            everything,
            tuple(each for each in everything if each not in origin),
            tuple(each for each in everything if each not in wanted),
        )

    def without(self, replica: int) -> ReplicaAssignment:
        """The assignment without a replica."""
        left = [tuple(each for each in part if each != replica) for part in self]
        return ReplicaAssignment(*left)


def broker_path(broker: int) -> str:
    """The node of a broker."""
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    """The node of a topic."""
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    """The parent of the partitions of a topic."""
    return f"{topic_path(topic)}/partitions"


def partition_path(of: TopicPartition) -> str:
    """The parent of the state of a partition."""
    return f"{partitions_path(of.topic)}/{of.partition}"


def state_path(of: TopicPartition) -> str:
    """The state of a partition."""
    return f"{partition_path(of)}/state"


def deletion_path(topic: str) -> str:
    """The request to delete a topic."""
    return f"{DELETE_TOPICS}/{topic}"


def topic_config_path(topic: str) -> str:
    """The configuration of a topic."""
    return f"{TOPIC_CONFIGS}/{topic}"


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def controller_data(broker: int, timestamp: int) -> bytes:
    """The data of `/controller` (ZkData.scala:56)."""
    return _json({"version": 1, "brokerid": broker, "timestamp": str(timestamp)})


def _whole(value: object) -> int:
    """A whole number; Kafka's `to[Int]` accepts nothing else."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(value)
    return value


def controller_of(data: bytes) -> int:
    """The broker in `/controller`."""
    return _whole(json.loads(data)["brokerid"])


def epoch_data(epoch: int) -> bytes:
    """The data of `/controller_epoch` (ZkData.scala:66)."""
    return str(epoch).encode()


def epoch_of(data: bytes) -> int:
    """The epoch in `/controller_epoch`."""
    return int(data)


def broker_data(host: str, port: int, timestamp: int) -> bytes:
    """The data of a broker with one PLAINTEXT listener, in version 5 (ZkData.scala:134)."""
    return _json(
        {
            "features": {},
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "endpoints": [f"PLAINTEXT://{host}:{port}"],
            "jmx_port": -1,
            "port": port,
            "host": host,
            "version": 5,
            "timestamp": str(timestamp),
        }
    )


def endpoint_of(data: bytes) -> tuple[str, int]:
    """The host and the port of a broker."""
    found = json.loads(data)
    return str(found["host"]), int(found["port"])


def topic_data(assignment: Mapping[int, Iterable[int]]) -> bytes:
    """The data of a new topic: by partition, its replicas."""
    return assignment_data(
        {partition: ReplicaAssignment(tuple(each)) for partition, each in assignment.items()}
    )


def assignment_data(assignments: Mapping[int, ReplicaAssignment]) -> bytes:
    """The data of a topic: by partition, its replicas (ZkData.scala:283)."""
    return _json(
        {
            "removing_replicas": {
                str(number): list(each.removing)
                for number, each in assignments.items()
                if each.removing
            },
            "partitions": {
                str(number): list(each.replicas) for number, each in assignments.items()
            },
            "adding_replicas": {
                str(number): list(each.adding)
                for number, each in assignments.items()
                if each.adding
            },
            "version": 2,
        }
    )


def assignment_of(data: bytes) -> dict[int, ReplicaAssignment]:
    """By partition of a topic, its replicas (ZkData.scala:303)."""
    found = json.loads(data)
    adding, removing = found.get("adding_replicas", {}), found.get("removing_replicas", {})
    return {
        int(number): ReplicaAssignment(
            tuple(map(_whole, replicas)),
            tuple(map(_whole, adding.get(number, ()))),
            tuple(map(_whole, removing.get(number, ()))),
        )
        for number, replicas in found["partitions"].items()
    }


def state_data(state: LeaderAndIsr) -> bytes:
    """The data of the state of a partition (ZkData.scala:342)."""
    return _json(
        {
            "controller_epoch": state.controller_epoch,
            "leader": state.leader,
            "version": 1,
            "leader_epoch": state.leader_epoch,
            "isr": list(state.isr),
        }
    )


def state_of(data: bytes, version: int) -> LeaderAndIsr:
    """The state of a partition (ZkData.scala:348)."""
    found = json.loads(data)
    return LeaderAndIsr(
        _whole(found["leader"]),
        _whole(found["leader_epoch"]),
        tuple(map(_whole, found["isr"])),
        version,
        _whole(found["controller_epoch"]),
    )


def isr_change_path(number: int) -> str:
    """A node that announces ISRs (ZkData.scala:469)."""
    return f"{ISR_CHANGES}/isr_change_{number:010}"


def isr_change_data(partitions: Iterable[TopicPartition]) -> bytes:
    """The data of such a node (ZkData.scala:471)."""
    return _json({"version": 1, "partitions": [each._asdict() for each in partitions]})


def isr_change_of(data: bytes) -> list[TopicPartition]:
    """The partitions in it (ZkData.scala:475)."""
    return [TopicPartition(**each) for each in json.loads(data)["partitions"]]


def topic_config_data(config: Mapping[str, str]) -> bytes:
    """The data of the configuration of a topic (ZkData.scala:367)."""
    return _json({"version": 1, "config": dict(config)})


def topic_config_of(data: bytes) -> dict[str, str]:
    """The configuration of a topic."""
    return dict(json.loads(data).get("config", {}))
