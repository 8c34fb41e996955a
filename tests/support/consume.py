"""A consumer in a process of its own: `consume.py LIBRARY ADDRESS GROUP TOPIC SETTINGS`.

It prints its assigned partitions as JSON Lines whenever they change, and executes the commands on
standard input: `commit N` commits an offset for each assigned partition, `committed` prints the
committed offsets, `leave` leaves the group. Signals stop, continue or kill it.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sys
import threading
import time
from typing import Any

POLL_S = 0.05


class Confluent:
    def __init__(self, address: str, group: str, topic: str, settings: dict[str, Any]) -> None:
        import confluent_kafka  # noqa: PLC0415 - one library for one process

        self._library = confluent_kafka
        self._topic = topic
        own = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False}
        own["partition.assignment.strategy"] = "range"
        said = {name.replace("_", "."): value for name, value in settings.items()}
        self._consumer = confluent_kafka.Consumer(
            {**own, "auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 500}
            | said
        )
        self._consumer.subscribe([topic])

    def poll(self) -> None:
        self._consumer.poll(POLL_S)

    def assigned(self) -> list[int]:
        return [p.partition for p in self._consumer.assignment()]

    def commit(self, offset: int) -> None:
        partitions = self._partitions(offset)
        done = self._consumer.commit(offsets=partitions, asynchronous=False)
        assert all(p.error is None for p in done), done

    def committed(self) -> dict[int, int]:
        return {p.partition: p.offset for p in self._consumer.committed(self._partitions(0), 5)}

    def close(self) -> None:
        self._consumer.close()

    def _partitions(self, offset: int) -> list[Any]:
        return [self._library.TopicPartition(self._topic, p, offset) for p in self.assigned()]


class KafkaPython:
    def __init__(self, address: str, group: str, topic: str, settings: dict[str, Any]) -> None:
        import kafka  # noqa: PLC0415
        from kafka.structs import OffsetAndMetadata  # noqa: PLC0415

        self._of: Any = lambda offset: OffsetAndMetadata(offset, "", -1)
        # A join that ends between two polls is done again. A poll also ends with the first record.
        self._poll_ms = settings.pop("poll_ms", int(POLL_S * 1000))
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=address,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            metadata_max_age_ms=1_000,
            **settings,
        )
        self._consumer.subscribe([topic])
        # Otherwise it may become the leader before it has the topic's partitions.
        self._consumer.partitions_for_topic(topic)

    def poll(self) -> None:
        self._consumer.poll(self._poll_ms)

    def assigned(self) -> list[int]:
        return [p.partition for p in self._consumer.assignment()]

    def commit(self, offset: int) -> None:
        self._consumer.commit({p: self._of(offset) for p in self._consumer.assignment()})

    def committed(self) -> dict[int, int]:
        return {p.partition: self._consumer.committed(p) for p in self._consumer.assignment()}

    def close(self) -> None:
        self._consumer.close()


class Aiokafka:
    def __init__(self, address: str, group: str, topic: str, settings: dict[str, Any]) -> None:
        from aiokafka import AIOKafkaConsumer  # noqa: PLC0415
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415

        self._loop = asyncio.new_event_loop()

        async def start() -> Any:
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=address,
                group_id=group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                partition_assignment_strategy=(RangePartitionAssignor,),
                **settings,
            )
            await consumer.start()
            return consumer

        self._consumer = self._loop.run_until_complete(start())

    def poll(self) -> None:
        self._loop.run_until_complete(self._consumer.getmany(timeout_ms=int(POLL_S * 1000)))

    def assigned(self) -> list[int]:
        return [p.partition for p in self._consumer.assignment()]

    def commit(self, offset: int) -> None:
        offsets = dict.fromkeys(self._consumer.assignment(), offset)
        self._loop.run_until_complete(self._consumer.commit(offsets))

    def committed(self) -> dict[int, int]:
        async def each() -> dict[int, int]:
            partitions = self._consumer.assignment()
            return {p.partition: await self._consumer.committed(p) for p in partitions}

        return self._loop.run_until_complete(each())

    def close(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())


LIBRARIES: dict[str, Any] = {
    "confluent-kafka": Confluent,
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
}


def write(**what: Any) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 - its output


def main(library: str, address: str, group: str, topic: str, settings: str) -> None:
    """Consume until the command to leave."""
    commands: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            commands.put(line.strip())
        commands.put("leave")  # the process that started this one has ended

    threading.Thread(target=listen, daemon=True).start()
    consumer = LIBRARIES[library](address, group, topic, json.loads(settings))
    known: list[int] | None = None
    while True:
        consumer.poll()
        assigned = sorted(consumer.assigned())
        if assigned != known:
            known = assigned
            write(assigned=assigned, at=time.monotonic())
        if not commands.empty():
            command, _, argument = commands.get().partition(" ")
            if command == "leave":
                consumer.close()
                return
            if command == "commit":
                consumer.commit(int(argument))
                write(done="commit")
            if command == "committed":
                write(committed=consumer.committed())


if __name__ == "__main__":
    main(*sys.argv[1:])
