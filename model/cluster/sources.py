"""Lines of Kafka's source, as rules cite them, at the tag 2.7.2."""

from __future__ import annotations

from typing import Final

from groupcheck.model.engine.rules import Sources

VERSION: Final = "2.7"
TAG: Final = "2.7.2"

KC: Final = "KafkaController.scala"
EM: Final = "ControllerEventManager.scala"
TDM: Final = "TopicDeletionManager.scala"
RSM: Final = "ReplicaStateMachine.scala"
PSM: Final = "PartitionStateMachine.scala"
CCM: Final = "ControllerChannelManager.scala"
ZK: Final = "KafkaZkClient.scala"
ZC: Final = "ZooKeeperClient.scala"
KS: Final = "KafkaServer.scala"
KA: Final = "KafkaApis.scala"
RM: Final = "ReplicaManager.scala"
PA: Final = "Partition.scala"
GMM: Final = "GroupMetadataManager.scala"
GC: Final = "GroupCoordinator.scala"
AM: Final = "AdminManager.scala"

_FOLDERS: Final = {
    KC: "controller",
    EM: "controller",
    TDM: "controller",
    RSM: "controller",
    PSM: "controller",
    CCM: "controller",
    ZK: "zk",
    ZC: "zookeeper",
    PA: "cluster",
    GMM: "coordinator/group",
    GC: "coordinator/group",
}


def at(file: str, line: int, older: int | None = None) -> Sources:  # noqa: ARG001
    """The line at which Kafka states something; `older` is that line in 2.4.1."""
    return {VERSION: f"{file}:{line}"}


def link(source: str) -> str:
    """The address of a source `FILE:LINE` in Kafka's repository."""
    name, _, line = source.partition(":")
    folder = _FOLDERS.get(name, "server")
    root = f"https://github.com/apache/kafka/blob/{TAG}/core/src/main/scala/kafka"
    return f"{root}/{folder}/{name}#L{line}"
