"""Apache Kafka, one broker of each minor version; `java` downloads the jars."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

from groupcheck.model.classic.config import EXPIRY_SETTINGS
from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.definition import (
    SETTINGS,
    START_S,
    Address,
    BrokerDefinition,
    NotStartedError,
    free_port,
    wait_for_coordinator,
)
from groupcheck.properties.brokers.supervised import Supervised

NOT_IN_0_10: Final = ("group.initial.rebalance.delay.ms", "group.max.size")

# One thread of each kind, so that requests are handled in the order of their arrival.
BROKER: Final = {
    "num.network.threads": 1,
    "num.io.threads": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 3,
    "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
}
TRANSACTIONS: Final = {
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
}
ZOOKEEPER: Final = {
    "clientPortAddress": "127.0.0.1",
    "maxClientCnxns": 0,
    "admin.enableServer": "false",
    "tickTime": 2_000,
}


class Release(NamedTuple):
    """A release of Apache Kafka: the newest patch of a minor version.

    `profile` is the version to check it against, `java` the oldest Java for it, `scala` the
    version of Scala that it is built for, `lacks` the settings that it does not have, `protocol`
    its inter.broker.protocol.version, if it is not its own.
    """

    minor: str
    kafka: str
    profile: str
    java: int
    has_zookeeper: bool
    scala: str = "2.13"
    lacks: tuple[str, ...] = ()
    protocol: str = ""

    @property
    def title(self) -> str:
        """Its full name."""
        return f"Apache Kafka {self.kafka}"


# Without ZooKeeper from 3.3 on, the first version that recommends that (KIP-833). With ZooKeeper,
# the only thread of 3.0 for requests would wait for itself when it needs producer ids (KIP-730).
RELEASES: Final = (
    Release("4.4", "4.4.0", "4.1", 17, has_zookeeper=False),
    Release("4.3", "4.3.1", "4.1", 17, has_zookeeper=False),
    Release("4.2", "4.2.2", "4.1", 17, has_zookeeper=False),
    Release("4.1", "4.1.2", "4.1", 17, has_zookeeper=False),
    Release("4.0", "4.0.2", "4.1", 17, has_zookeeper=False),
    Release("3.9", "3.9.2", "3.9", 8, has_zookeeper=False),
    Release("3.8", "3.8.1", "3.9", 8, has_zookeeper=False),
    Release("3.7", "3.7.2", "3.7", 8, has_zookeeper=False),
    Release("3.6", "3.6.2", "3.6", 8, has_zookeeper=False),
    Release("3.5", "3.5.2", "3.6", 8, has_zookeeper=False),
    Release("3.4", "3.4.1", "3.6", 8, has_zookeeper=False),
    Release("3.3", "3.3.2", "3.6", 8, has_zookeeper=False),
    Release("3.2", "3.2.3", "3.2", 8, has_zookeeper=True, protocol="2.8"),
    Release("3.1", "3.1.2", "3.2", 8, has_zookeeper=True, protocol="2.8"),
    Release("3.0", "3.0.2", "3.2", 8, has_zookeeper=True, protocol="2.8"),
    Release("2.8", "2.8.2", "2.8", 8, has_zookeeper=True),
    Release("2.7", "2.7.2", "2.7", 8, has_zookeeper=True),
    Release("2.6", "2.6.3", "2.7", 8, has_zookeeper=True),
    Release("2.5", "2.5.1", "2.5", 8, has_zookeeper=True),
    Release("2.4", "2.4.1", "2.4", 8, has_zookeeper=True),
    Release("0.10.2", "0.10.2.2", "0.10.2", 8, has_zookeeper=True, scala="2.12", lacks=NOT_IN_0_10),
)


def definitions() -> list[BrokerDefinition]:
    """Return the definition of each release."""
    return [
        BrokerDefinition(
            f"kafka:{each.minor}",
            each.title,
            each.profile,
            f"Java {each.java} or later, and Maven (mvn) to download it once",
            missing=partial(java.missing, each.kafka, each.java),
            prepare=partial(java.jars, each.kafka, each.scala),
            launch=partial(_launch, each),
            settings={k: v for k, v in SETTINGS.items() if k not in each.lacks},
            optional=EXPIRY_SETTINGS,
            # Brokers report their settings from 0.11 on.
            unreported=SETTINGS if each.lacks else {},
        )
        for each in RELEASES
    ]


def _launch(
    release: Release, programs: Supervised, settings: Mapping[str, int], interrupted: Event
) -> Address:
    """Start ZooKeeper, if needed, and a broker; return its address once it coordinates groups."""
    port, other = free_port(), free_port()
    listener = f"PLAINTEXT://127.0.0.1:{port}"
    broker: dict[str, object] = {
        **BROKER,
        **({} if release.lacks else TRANSACTIONS),
        **settings,
        "listeners": listener,
        "advertised.listeners": listener,
        "log.dirs": programs.folder / "data",
    }
    if release.protocol:
        broker["inter.broker.protocol.version"] = release.protocol
    if release.has_zookeeper:
        start_zookeeper(release, programs, other)
        broker |= {"broker.id": 1, "zookeeper.connect": f"127.0.0.1:{other}"}
        broker |= dict.fromkeys(
            ("zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms"), 60_000
        )
    else:
        broker |= without_zookeeper(1, listener, {1: other})
    path = programs.write("server.properties", properties(broker))
    if not release.has_zookeeper:
        format_folder(release, programs, str(path), new_cluster_id())
    programs.start("kafka", command(release, "kafka.Kafka", str(path)))
    names = ("zookeeper", "kafka") if release.has_zookeeper else ("kafka",)
    return wait_for_coordinator(programs, names, ("127.0.0.1", port), interrupted)


def start_zookeeper(release: Release, programs: Supervised, port: int, **more: object) -> None:
    """Start ZooKeeper on a port, with `more` settings than the usual ones."""
    values = {**ZOOKEEPER, "dataDir": programs.folder / "zookeeper", "clientPort": port, **more}
    path = programs.write("zookeeper.properties", properties(values))
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    programs.start("zookeeper", command(release, main, str(path)))


def without_zookeeper(
    node: int, listener: str, controllers: Mapping[int, int]
) -> dict[str, object]:
    """The settings of a broker that is a controller, too; the ports of all controllers by node."""
    voters = {each: f"127.0.0.1:{port}" for each, port in controllers.items()}
    return {
        "process.roles": "broker,controller",
        "node.id": node,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{each}@{voters[each]}" for each in voters),
        "listeners": f"{listener},CONTROLLER://{voters[node]}",
        # With a linger, the next request may not see the records of an answered one.
        "group.coordinator.append.linger.ms": 0,
    }


def new_cluster_id() -> str:
    """A random id of a cluster, as Kafka writes it."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")


def format_folder(
    release: Release, programs: Supervised, path: str, cluster: str, bound_s: float = START_S
) -> None:
    """Format the folder in which a broker without ZooKeeper stores its metadata.

    Args:
        release: of Kafka.
        programs: of which the one that formats it becomes the last.
        path: of the settings of the broker.
        cluster: its id.
        bound_s: how long it may take.

    Raises:
        NotStartedError: it fails, or takes longer.
    """
    name = f"format-{Path(path).stem}"
    arguments = ("format", "--cluster-id", cluster, "--config", path)
    programs.start(name, command(release, "kafka.tools.StorageTool", *arguments))
    try:
        status = programs.wait(name, time.monotonic() + bound_s)
    except TimeoutError:
        status = f"none after {bound_s:.0f} s"
    if status != "0":
        msg = f"its folder is not formatted (status {status})"
        raise NotStartedError(msg, programs.log(name))


def command(release: Release, main: str, *arguments: str) -> list[str]:
    """Return the command that runs a class of a release."""
    return java.command(release.kafka, release.scala, main, *arguments)


def properties(values: Mapping[str, object]) -> str:
    """Return the text of a properties file."""
    return "".join(f"{name}={value}\n" for name, value in values.items())
