"""A real cluster for tests: its topics, the offsets topic with a long log, and what it answers."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from threading import Event
from typing import Any

from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.definition import Address
from groupcheck.properties.cluster.real.processes import Processes, release_of
from groupcheck.properties.cluster.real.views import IDS, NO_OFFSET, NONE, OFFSETS
from groupcheck.properties.cluster.real.wire import Wire
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import BootstrapClient
from support import client_processes

with codec.importing_kafka_python():
    from kafka.record.memory_records import MemoryRecordsBuilder

CLUSTER = release_of("kafka-cluster:2.7")
POLL_S = 0.02
ANSWER_S = 10
LOG = "00000000000000000000.log"
GZIP = 1
RECORDS = 50  # in a batch of the long log

eventually = partial(client_processes.eventually, patience_s=120)


def during(time_s: float, holds: Callable[[], bool]) -> None:
    """Check that something holds all the time."""
    deadline = time.monotonic() + time_s
    while time.monotonic() < deadline:
        assert holds()
        time.sleep(POLL_S)


class Cluster:
    """ZooKeeper and three brokers with the ids 1, 2, 3.

    `__consumer_offsets` has the given partitions, by number their replicas, and the replicas begin
    with the given logs, by partition.
    """

    def __init__(self, offsets: Mapping[int, Sequence[int]], logs: Mapping[int, bytes]) -> None:
        java.jars(CLUSTER.kafka, CLUSTER.scala, lambda _: None)
        self.processes = Processes(CLUSTER, Event())
        try:
            self._begin(offsets, logs)
        except BaseException:
            self.stop()
            raise

    def _begin(self, offsets: Mapping[int, Sequence[int]], logs: Mapping[int, bytes]) -> None:
        self.client: Any = self.processes.zookeeper._client
        for partition, log in logs.items():
            for broker in offsets[partition]:
                folder = self.processes.data(broker) / f"{OFFSETS}-{partition}"
                folder.mkdir(parents=True)
                (folder / LOG).write_bytes(log)
        # A segment as large as the whole log: nothing is compacted meanwhile.
        config = {"cleanup.policy": "compact", "segment.bytes": str(1 << 30)}
        self._write(f"/config/topics/{OFFSETS}", {"version": 1, "config": config})
        self._write(f"/brokers/topics/{OFFSETS}", _assignment(offsets))
        self.processes.start(*IDS)
        eventually(lambda: all(self.state(OFFSETS, partition) for partition in offsets))

    def stop(self) -> None:
        """End all processes."""
        self.processes.stop()

    def create(self, topic: str, *replicas: int) -> None:
        """Create a topic with one partition, and wait until it has a leader."""
        self.processes.zookeeper.create_topic(topic, replicas)
        eventually(lambda: self.state(topic).get("leader", -1) > 0)

    def request_deletion(self, topic: str) -> None:
        """Request the deletion of a topic."""
        self.processes.zookeeper.delete_topic(topic)

    def exists(self, path: str) -> bool:
        """Whether a node exists."""
        return self.client.exists(path) is not None

    def state(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """The state of a partition in ZooKeeper: its leader, its ISR; empty without one."""
        path = f"/brokers/topics/{topic}/partitions/{partition}/state"
        if not self.exists(path):
            return {}
        state: dict[str, Any] = json.loads(self.client.get(path)[0])
        return state

    @property
    def controller(self) -> int:
        """The broker in `/controller`; 0 without that node."""
        return self.processes.zookeeper.read(()).controller

    @property
    def registered(self) -> set[int]:
        """The brokers that are registered."""
        return set(self.processes.zookeeper.read(()).registered)

    def move_controller(self, to: int) -> None:
        """Delete `/controller` until a broker has it; the others are paused meanwhile."""
        if self.controller == to:
            return
        others = [broker for broker in self.processes.running if broker != to]
        for broker in others:
            self.processes.pause(broker)
        self.processes.zookeeper.delete_controller()
        eventually(lambda: self.controller == to)
        for broker in others:
            self.processes.resume(broker)
        self.wait_for_controller()

    def recover(self) -> None:
        """Let all brokers run, and wait for a controller."""
        for broker in IDS:
            process = self.processes.running.get(broker)
            if process is None:
                self.processes.zookeeper.end_session(broker)
                self.processes.start(broker)
            elif process.paused:
                self.processes.resume(broker)
        self.wait_for_controller()

    def kill(self, broker: int) -> None:
        """Kill a broker, and end its session."""
        self.processes.kill(broker)
        self.end_session(broker)

    def end_session(self, broker: int) -> None:
        """End the session of a broker."""
        assert self.processes.zookeeper.end_session(broker)

    def restart(self, broker: int) -> None:
        """Kill a broker, end its session, and start it again."""
        self.kill(broker)
        self.processes.start(broker)

    def log(self, broker: int) -> str:
        """What a broker has logged since its last start."""
        name = self.processes.running[broker].name
        path = self.processes.programs.folder / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace")

    def elect_preferred(self, topic: str, partition: int) -> int:
        """Ask the controller to make the first replica of a partition its leader.

        Returns the error of the request, not that of the partition.
        """
        with self._wire() as wire:
            return wire.elect(self._address(self.controller), topic, partition)

    def reassign(self, topic: str, *replicas: int) -> None:
        """Request that a topic moves to brokers, or that this ends if there are none."""
        with self._wire() as wire:
            assert wire.reassign(self._address(self.controller), topic, replicas or None) == NONE

    def has_log(self, broker: int, topic: str) -> bool:
        """Whether a broker has the log of partition 0 of a topic."""
        return (self.processes.data(broker) / f"{topic}-0").exists()

    def wait_for_controller(self) -> None:
        """Wait until there is a controller, and until it has handled its own election."""
        eventually(lambda: self.controller in IDS and not self.elect_preferred(OFFSETS, 0))

    def commit(self, coordinator: int, group: str, topic: str, offset: int) -> int:
        """Commit an offset of partition 0, as a consumer without a group; returns the error."""
        with self._wire() as wire:
            return wire.commit(self._address(coordinator), group, topic, offset)

    def committed(self, coordinator: int, group: str, topic: str) -> tuple[int, int]:
        """The error and the offset of an OffsetFetch of partition 0."""
        with self._wire() as wire:
            found = wire.group(self._address(coordinator), group, [topic])
        return found.error, next(iter(found.offsets), NO_OFFSET)

    def delete_offset(self, coordinator: int, group: str, topic: str) -> int:
        """Delete the offset of partition 0, as `kafka-consumer-groups --delete-offsets` does."""
        fields = codec.message_class("OffsetDeleteRequest").fields["topics"]
        partition = fields.fields["partitions"](partition_index=0)
        wanted = [fields(name=topic, partitions=[partition])]
        with BootstrapClient(
            *self._address(coordinator),
            connect_s=5,
            answer_s=ANSWER_S,
            interrupted=self.processes.interrupted,
        ) as client:
            client.versions({})
            answer = client.ask("OffsetDelete", 0, group_id=group, topics=wanted)
        error: int = answer.error_code or answer.topics[0].partitions[0].error_code
        return error

    def _address(self, broker: int) -> Address:
        return self.processes.running[broker].address

    def _wire(self) -> closing[Wire]:
        return closing(Wire(self.processes.interrupted, ANSWER_S))

    def _write(self, path: str, value: object) -> None:
        self.client.create(path, json.dumps(value).encode(), makepath=True)


def _assignment(replicas: Mapping[int, Sequence[int]]) -> dict[str, object]:
    partitions = {str(partition): list(each) for partition, each in replicas.items()}
    return {
        "version": 2,
        "partitions": partitions,
        "adding_replicas": {},
        "removing_replicas": {},
    }


def partition_of(group: str, partitions: int) -> int:
    """The partition of the offsets topic that has a group."""
    code = 0
    for character in group:
        code = (31 * code + ord(character)) % (1 << 32)
    return (code & 0x7FFFFFFF) % partitions


def group_of(partition: int, partitions: int) -> str:
    """A group that a partition of the offsets topic has, of so many."""
    names = (f"group-{number}" for number in range(1_000))
    return next(name for name in names if partition_of(name, partitions) == partition)


def long_log(group: str, batches: int) -> bytes:
    """A log with many commits of one group, as a broker appends them: 50 a batch, with gzip.

    With `offsets.topic.compression.codec=1` brokers compress what they append. It makes the log
    small, and its load long.
    """
    name, topic = group.encode(), b"topic"
    key = struct.pack(f">hh{len(name)}sh{len(topic)}si", 1, len(name), name, 5, topic, 0)
    now = int(time.time() * 1_000)
    builder = MemoryRecordsBuilder(magic=2, compression_type=GZIP, batch_size=1 << 20)
    for offset in range(RECORDS):
        value = struct.pack(">hqihq", 3, offset, -1, 0, now)
        builder.append(timestamp=now, key=key, value=value)
    builder.close()
    batch = bytes(builder.buffer())
    # The checksum does not cover the base offset, which is the first field.
    return b"".join(struct.pack(">q", number * RECORDS) + batch[8:] for number in range(batches))
