"""Consumers of Apache Kafka in one Java process, and the topics of the broker that they use."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Interrupted
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self
from uuid import uuid4

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from groupcheck.properties.assignors import java as assignors
from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.catalogue import Broker, definitions
from support.client_processes import eventually

SOURCE: Final = Path(__file__).with_name("java_main") / "Consumers.java"
PATIENCE_S: Final = 45.0
STRATEGIES: Final = MappingProxyType(
    {
        "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    }
)


class Happened(NamedTuple):
    """An event of a consumer: `at_s` is the time, `what` the rest of the event."""

    at_s: float
    kind: str
    what: dict[str, Any]


@contextmanager
def running_broker(name: str) -> Iterator[str]:
    """The address of a broker, which is started by name."""
    definition = definitions()[name]
    definition.prepare(lambda _: None)
    broker = Broker(definition, definition.settings, Interrupted())
    try:
        yield "{}:{}".format(*broker.address())
    finally:
        broker.stop()


class Consumers:
    """Consumers of one group and one version of Apache Kafka.

    `events` has the events of each consumer by its name, in the order in which they happened.

    Args:
        address: of the broker.
        version: of the consumers.
        assignor: by its name.
        settings: of all consumers.
    """

    def __init__(self, address: str, version: str, assignor: str, **settings: object) -> None:
        self.events: defaultdict[str, list[Happened]] = defaultdict(list)
        self._settings = {
            "bootstrap.servers": address,
            "group.id": f"group-{uuid4()}",
            "partition.assignment.strategy": STRATEGIES[assignor],
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # Their metadata request must not create a topic that is deleted to be created again.
            "allow.auto.create.topics": False,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self._owned: dict[str, list[str]] = {}
        self._errors: list[str] = []
        classes = assignors.compiled([SOURCE], version, lambda _: None)
        self._process = subprocess.Popen(
            [str(java.java()), *java.SMALL, *java.QUIET, "-cp", classes, SOURCE.stem],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        readers = (self._listen, self._read_errors)
        self._threads = [threading.Thread(target=reader) for reader in readers]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        for thread in self._threads:
            thread.join()
        with self._process:  # closes the pipes
            pass

    def start(
        self, name: str, *topics: str, pattern: str = "", rack: str = "", fragile: bool = False
    ) -> None:
        """Start a consumer that subscribes to topics, or to a pattern.

        A fragile one ends when poll throws; others call it again.
        """
        settings = {**self._settings, "client.id": name, "client.rack": rack}
        subscription = {"pattern": pattern} if pattern else {"topics": topics}
        self._tell("start", name, settings=settings, fragile=fragile, **subscription)

    def hold(self, name: str) -> None:
        """Let a consumer call poll no more, as one that works on what it has polled."""
        seen = len(self.of(name, "held"))
        self._tell("hold", name)
        self.eventually(lambda: len(self.of(name, "held")) > seen)

    def go(self, name: str) -> None:
        """Let a consumer call poll again."""
        self._tell("go", name)

    def close(self, name: str) -> None:
        """Close a consumer, which leaves its group."""
        self._tell("close", name)
        self.eventually(lambda: bool(self.of(name, "closed")))

    def of(self, name: str, kind: str) -> list[Happened]:
        """The events of a kind that a consumer has had."""
        return [each for each in self.events[name] if each.kind == kind]

    def owns(self, name: str) -> list[str]:
        """The partitions that a consumer has."""
        return self._owned.get(name, [])

    def generation(self, name: str) -> int:
        """The newest generation that a consumer has seen; 0 before the first."""
        seen = self.of(name, "generation")
        return int(seen[-1].what["generation"]) if seen else 0

    def records(self, name: str) -> list[tuple[str, str]]:
        """The partitions and values of the records that a consumer has polled."""
        return [(each.what["partition"], each.what["value"]) for each in self.of(name, "record")]

    def eventually(self, what: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Wait until a condition holds, while the process of the consumers runs."""

        def holds() -> bool:
            found = what()
            assert found or self._process.poll() is None, self._errors
            return found

        eventually(holds, lambda: (self._owned, self.events, self._errors), patience_s)

    def _tell(self, command: str, name: str, **also: object) -> None:
        line = json.dumps({"command": command, "consumer": name, **also}) + "\n"
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            name, kind = event.pop("consumer"), event.pop("event")
            self._owned[name] = event.pop("owns", [])
            self.events[name].append(Happened(time.monotonic(), kind, event))

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-9:], line]


class Topics:
    """The topics of a broker."""

    def __init__(self, address: str) -> None:
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": address,
            "log_level": 2,  # it would complain when the broker ends
        }
        self._admin = AdminClient(settings)
        self._producer = Producer(settings)

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic, and wait until a broker has its metadata.

        The controller answers before that, so consumers could still see that there is no topic.
        """
        asked = self._admin.create_topics([NewTopic(topic, partitions, 1)])
        asked[topic].result(PATIENCE_S)
        eventually(lambda: self._partitions(topic) == partitions, lambda: topic, PATIENCE_S)

    def _partitions(self, topic: str) -> int:
        """As many partitions as a broker has of a topic; 0 if it has none of that name."""
        found = self._admin.list_topics(timeout=PATIENCE_S).topics
        return len(found[topic].partitions) if topic in found else 0

    def create_on(self, topic: str, *brokers: int) -> None:
        """Create a topic with partitions of one replica, each on a broker."""
        asked = self._admin.create_topics(
            [NewTopic(topic, len(brokers), replica_assignment=[[b] for b in brokers])]
        )
        asked[topic].result(PATIENCE_S)

    def create_again(self, topic: str, partitions: int) -> None:
        """Delete a topic, and create it at once with another number of partitions."""
        self._admin.delete_topics([topic])[topic].result(PATIENCE_S)
        self.create(topic, partitions)

    def produce(self, partition: str, value: str) -> None:
        """Write a record."""
        topic, _, number = partition.rpartition("-")
        self._producer.produce(topic, value, partition=int(number))
        assert self._producer.flush(PATIENCE_S) == 0
