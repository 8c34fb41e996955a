"""Apache Kafka, three versions of it, each with one broker; where the jars are from is not here."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Mapping
from functools import partial
from threading import Event
from typing import Final, NamedTuple

from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.kept import Kept
from groupcheck.properties.brokers.recipe import (
    SETTINGS,
    UP_S,
    Address,
    NotUpError,
    Recipe,
    answering,
    free_port,
)

LATER: Final = ("group.initial.rebalance.delay.ms", "group.max.size")  # came later than 0.10.2

# One thread of each kind, so that requests are handled in the order they came in.
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
    """A release of Apache Kafka: what it is judged by, and the oldest Java that runs it."""

    profile: str
    kafka: str
    java: int
    lacks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """As its makers call it."""
        return f"Apache Kafka {self.kafka}"

    @property
    def has_zookeeper(self) -> bool:
        """Whether it keeps its metadata there."""
        return self.profile != "4.1"


RELEASES: Final = (
    Release("4.1", "4.1.2", 17),
    Release("2.7", "2.7.2", 8),
    Release("0.10.2", "0.10.2.2", 8, LATER),
)


def recipes() -> list[Recipe]:
    """How each release is brought up."""
    return [
        Recipe(
            f"kafka:{each.profile}",
            each.title,
            each.profile,
            f"Java {each.java} or later, and Maven (mvn) to download it once",
            missing=partial(java.missing, each.profile, each.java),
            prepare=partial(java.jars, each.profile, each.title),
            launch=partial(_launch, each),
            settings={k: v for k, v in SETTINGS.items() if k not in each.lacks},
            # Only from 0.11 on does a broker tell its settings.
            untold=SETTINGS if each.lacks else {},
        )
        for each in RELEASES
    ]


def _launch(
    release: Release, kept: Kept, settings: Mapping[str, int], interrupted: Event
) -> Address:
    """Start a broker, and what keeps its metadata; give its address once it coordinates groups."""
    port, other = free_port(), free_port()
    listener = f"PLAINTEXT://127.0.0.1:{port}"
    broker: dict[str, object] = {
        **BROKER,
        **({} if release.lacks else TRANSACTIONS),
        **settings,
        "listeners": listener,
        "advertised.listeners": listener,
        "log.dirs": kept.folder / "data",
    }
    if release.has_zookeeper:
        files = {"dataDir": kept.folder / "zookeeper", "clientPort": other, **ZOOKEEPER}
        path = kept.write("zookeeper.properties", _properties(files))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        kept.start("zookeeper", _command(release, main, str(path)))
        broker |= {"broker.id": 1, "zookeeper.connect": f"127.0.0.1:{other}"}
        broker |= dict.fromkeys(
            ("zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms"), 60_000
        )
    else:
        controller = f"127.0.0.1:{other}"
        broker |= {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"{listener},CONTROLLER://{controller}",
            # Some answers come before what they wrote is read by who asks next, if that waits.
            "group.coordinator.append.linger.ms": 0,
        }
    path = kept.write("server.properties", _properties(broker))
    if not release.has_zookeeper:
        _format(release, kept, str(path))
    kept.start("kafka", _command(release, "kafka.Kafka", str(path)))
    names = ("zookeeper", "kafka") if release.has_zookeeper else ("kafka",)
    return answering(kept, names, ("127.0.0.1", port), interrupted)


def _format(release: Release, kept: Kept, path: str) -> None:
    """Make the folder in which a broker without ZooKeeper keeps its metadata."""
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
    arguments = ("format", "--cluster-id", cluster, "--config", path)
    kept.start("format", _command(release, "kafka.tools.StorageTool", *arguments))
    try:
        status = kept.wait("format", time.monotonic() + UP_S)
    except TimeoutError:
        status = f"none after {UP_S:.0f} s"
    if status != "0":
        msg = f"its folder is not formatted (status {status})"
        raise NotUpError(msg, kept.log("format"))


def _command(release: Release, main: str, *arguments: str) -> list[str]:
    return java.command(release.profile, release.title, main, *arguments)


def _properties(values: Mapping[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())
