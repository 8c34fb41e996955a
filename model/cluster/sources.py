"""Lines of Kafka's source, as rules cite them, in each version that the specification has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.model.engine.rules import Sources

VERSION: Final = "2.7"
OLDER: Final = "2.4"
TAGS: Final[Mapping[str, str]] = {OLDER: "2.4.1", VERSION: "2.7.2"}

KC: Final = "KafkaController.scala"
EM: Final = "ControllerEventManager.scala"
CC: Final = "ControllerContext.scala"
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
RU: Final = "ReplicationUtils.scala"
GMM: Final = "GroupMetadataManager.scala"
GC: Final = "GroupCoordinator.scala"
AM: Final = "AdminManager.scala"

_FOLDERS: Final = {
    KC: "controller",
    EM: "controller",
    TDM: "controller",
    CC: "controller",
    RSM: "controller",
    PSM: "controller",
    CCM: "controller",
    ZK: "zk",
    ZC: "zookeeper",
    PA: "cluster",
    RU: "utils",
    GMM: "coordinator/group",
    GC: "coordinator/group",
}


def at(file: str, line: int | None, older: int | None = None) -> Sources:
    """The lines at which 2.7 and 2.4 state something; None if a version does not have it."""
    lines = {OLDER: older, VERSION: line}
    return {version: f"{file}:{each}" for version, each in lines.items() if each is not None}


def link(version: str, source: str) -> str:
    """The address of a source `FILE:LINE` in Kafka's repository, at the tag of a version."""
    name, _, line = source.partition(":")
    folder = _FOLDERS.get(name, "server")
    root = f"https://github.com/apache/kafka/blob/{TAGS[version]}/core/src/main/scala/kafka"
    return f"{root}/{folder}/{name}#L{line}"
